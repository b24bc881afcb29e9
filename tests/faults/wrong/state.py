"""Adapters that do not start every call from rest. Every class says what is wrong with it."""

import torch

from snnbench.adapters.torch_loop import TorchLoop


class FromState(torch.nn.Module):
    """The right neuron, started from `start(potential after the previous call or None)` instead
    of from rest."""

    def __init__(self, spec, right, start):
        super().__init__()
        self.spec, self.right, self.start = spec, right, start
        self.after = None

    def forward(self, currents):
        start = self.start(self.after)
        spikes = self.right(torch.cat([currents[:1] + self.spec.decay * start, currents[1:]]))
        self.after = self.last(currents.detach(), spikes.detach(), start)
        return spikes

    def last(self, currents, spikes, after):
        for current, s in zip(currents, spikes, strict=True):
            v = self.spec.decay * after + current
            after = {"soft": v - self.spec.threshold * s, "hard": v * (1 - s), "none": v}[
                self.spec.reset
            ]
        return after


def carried(share):
    """The start of a call: this share of the potential after the previous one."""
    return lambda after: 0.0 if after is None else share * after


class CarriedOver(TorchLoop):
    """Goes on from the state in which the previous call ended."""

    name = "wrong-carried-over"
    start = staticmethod(carried(1.0))

    def neuron(self, spec, features):
        return FromState(spec, super().neuron(spec, features), self.start)


class CarriedALittle(CarriedOver):
    """Keeps one hundredth of the state in which the previous call ended."""

    name = "wrong-carried-a-little"
    start = staticmethod(carried(0.01))


class StartsAbove(CarriedOver):
    """Starts every call from a potential of 0.01."""

    name = "wrong-starts-above"
    start = staticmethod(lambda after: 0.01)


class FirstAnswerAgain(TorchLoop):
    """Remembers the answer to the first call and returns it ever after."""

    name = "wrong-first-answer-again"

    def neuron(self, spec, features):
        return Remembers(super().neuron(spec, features))


class Remembers(torch.nn.Module):
    def __init__(self, right):
        super().__init__()
        self.right, self.answer = right, None

    def forward(self, currents):
        spikes = self.right(currents)
        if self.answer is None:
            self.answer = spikes.detach().clone()
        return self.answer + (spikes - spikes.detach())
