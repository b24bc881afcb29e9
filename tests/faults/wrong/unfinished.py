"""Adapters whose results are not there when a call has been waited for, or no longer. Every class says how."""

import threading
from dataclasses import dataclass

import torch
from timed import Driven

from snnbench.adapters.base.torch_program import TorchProgram


@dataclass
class Promise:
    """A result that is computed when somebody asks for it."""

    make: object

    @property
    def made(self):
        if not hasattr(self, "result"):
            self.result = self.make()
        return self.result


class WhenAsked(TorchProgram):
    def inference(self, x):
        return Promise(lambda: super(WhenAsked, self).inference(x))

    def spikes(self, result):
        return super().spikes(result.made if isinstance(result, Promise) else result)

    def output(self, result):
        return super().output(result.made if isinstance(result, Promise) else result)


class ComputesWhenAsked(Driven):
    """Hands out a promise, and infers when its spikes are asked for."""

    name = "wrong-computes-when-asked"
    driver = WhenAsked


class InThread(TorchProgram):
    threads = ()

    def inference(self, x):
        result = super().inference(x)
        spikes, result.output = result.output.clone(), torch.zeros_like(result.output)
        result.borders = dict.fromkeys(result.borders, result.output)
        thread = threading.Timer(0.1, result.output.copy_, [spikes])
        thread.daemon = True
        thread.start()
        return result


class GoesOnInThread(Driven):
    """Writes the spikes of an inference 100 ms after it was waited for."""

    name = "wrong-goes-on-in-thread"
    driver = InThread


class Deferred(TorchProgram):
    def step(self, x, upstream):
        result = self.forward(x)
        result.upstream = upstream
        result.stepped = True
        return result

    def gradients(self, result):
        if hasattr(result, "upstream"):
            self.release()
            super().backward(self.forward(result.x), result.upstream)
            self.update()
        return super().gradients(result)


class StepsWhenAsked(Driven):
    """Computes gradients and update of a step when they are asked for."""

    name = "wrong-steps-when-asked"
    driver = Deferred


class Ahead(TorchProgram):
    upstream = None

    def forward(self, x):
        result = super().forward(x)
        if self.upstream is not None:
            super().backward(result, self.upstream)
        return result

    def backward(self, result, upstream):
        known, self.upstream = self.upstream, upstream
        return result if known is upstream else super().backward(result, upstream)


class BackwardInForward(Driven):
    """Computes the gradients in the forward, before the clock of a backward runs."""

    name = "wrong-backward-in-forward"
    driver = Ahead


class OneBuffer(TorchProgram):
    buffer = None

    def inference(self, x):
        result = super().inference(x)
        if self.buffer is None or self.buffer.shape != result.output.shape:
            self.buffer = torch.empty_like(result.output)
        result.output = self.buffer.copy_(result.output)
        result.borders = dict.fromkeys(result.borders, result.output)
        return result


class WritesOverEarlierResults(Driven):
    """Writes the spikes of every inference where those of the one before are."""

    name = "wrong-writes-over-earlier-results"
    driver = OneBuffer
