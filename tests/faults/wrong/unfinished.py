"""Adapters with results that are not there, or no longer, when a call has been waited for. Every
class says how."""

import threading
from dataclasses import dataclass, replace
from functools import partial

import torch
from timed import Driven

from snnbench.adapters.base.torch_program import TorchProgram, TorchResult


@dataclass
class Promise:
    """A result that is computed when it is read."""

    make: object

    @property
    def __dict__(self):
        return vars(self.make())

    @property
    def __class__(self):
        return TorchResult


class WhenAsked(TorchProgram):
    def inference(self, x):
        return Promise(lambda: super(WhenAsked, self).inference(x))


class ComputesWhenAsked(Driven):
    """Hands out a promise, and infers when its spikes are asked for."""

    name = "wrong-computes-when-asked"
    driver = WhenAsked


@dataclass(kw_only=True)
class Getter(TorchResult):
    """Hands out other spikes than it holds."""

    make: object = None

    def __getattribute__(self, name):
        own = super().__getattribute__
        return (
            getattr(own("make")(), name)
            if name in ("borders", "output") and own("make")
            else own(name)
        )


class AsAttributes(TorchProgram):
    def inference(self, x):
        zeros = torch.zeros_like(x)
        make = partial(super().inference, x.clone())
        return Getter(x=x, borders={"neuron1": zeros}, output=zeros, make=make)


class ComputesInAttributes(Driven):
    """Copies the input of an inference, and computes when its result is read."""

    name = "wrong-computes-in-attributes"
    driver = AsAttributes


class PutOff(TorchProgram):
    """Keeps copies of input and weights, and computes with them in the next method that is
    called."""

    late = None

    def inference(self, x):
        zeros = torch.zeros_like(x)
        self.late = x.clone(), [leaf.detach().clone() for leaf in self.leaves], zeros
        return TorchResult(x=x, borders={"neuron1": zeros}, output=zeros)

    def release(self):
        super().release()
        if self.late:
            (x, leaves, target), self.late = self.late, None
            with torch.no_grad():
                now = [leaf.clone() for leaf in self.leaves]
                for leaf, then in zip(self.leaves, leaves, strict=True):
                    leaf.copy_(then)
                target.copy_(super().inference(x).output)
                for leaf, then in zip(self.leaves, now, strict=True):
                    leaf.copy_(then)


class PutsOff(Driven):
    """Copies input and weights in an inference, and computes in the next call."""

    name = "wrong-puts-off"
    driver = PutOff


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
    late = None

    def step(self, x, upstream):
        self.release()
        self.late = self.forward(x), upstream.clone()
        return replace(self.late[0], updated=self.parameters, input_gradient=torch.zeros_like(x))

    def release(self):
        if self.late:
            (result, upstream), self.late = self.late, None
            super().backward(result, upstream)
            self.trainer.update()
        super().release()


class StepsWhenAsked(Driven):
    """Computes gradients and update of a step when it is called again."""

    name = "wrong-steps-when-asked"
    driver = Deferred


class Joined(TorchProgram):
    """Writes arrays of a step 20 ms after it was waited for, in a thread that the next call's
    preparation waits for."""

    writer = None

    def step(self, x, upstream):
        result = super().step(x, upstream)
        arrays = self.late(result)
        ready = [array.detach().clone() for array in arrays]
        for array in arrays:
            array.detach().zero_()
        self.writer = threading.Timer(0.02, self.write, (arrays, ready))
        self.writer.start()
        return result

    def write(self, arrays, ready):
        for array, values in zip(arrays, ready, strict=True):
            array.detach().copy_(values)

    def release(self):
        if self.writer:
            self.writer.join()
        super().release()


class LateUpdate(Joined):
    def late(self, result):
        return [array for named in result.updated.values() for array in named.values()]


class UpdatesInThread(Driven):
    """Hands out parameters that a thread updates while the next call is prepared."""

    name = "wrong-updates-in-thread"
    driver = LateUpdate


class LateInputGradient(Joined):
    def late(self, result):
        return [result.input_gradient]


class InputGradientInThread(Driven):
    """Hands out a gradient of the input that a thread writes while the next call is prepared."""

    name = "wrong-input-gradient-in-thread"
    driver = LateInputGradient


class LateSpikes(Joined):
    def late(self, result):
        return [result.output]


class SpikesInThread(Driven):
    """Hands out spikes of a step that a thread writes while the next call is prepared."""

    name = "wrong-spikes-in-thread"
    driver = LateSpikes


class Prefetching(TorchProgram):
    """Right: copies its weights in a thread during the call, which waits for it."""

    def step(self, x, upstream):
        thread = threading.Thread(target=self.warm)
        thread.start()
        result = super().step(x, upstream)
        thread.join()
        return result

    def warm(self):
        self.packed = [leaf.detach().clone() for leaf in self.leaves]


class WarmsItsCache(Driven):
    """Is right: a thread of every step fills a cache, and the step waits for it."""

    name = "right-warms-its-cache"
    driver = Prefetching


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
