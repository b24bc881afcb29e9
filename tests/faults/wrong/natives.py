"""Native neurons with one fault each, which no oracle can show. Every class but `Right` says
what is wrong with it."""

import torch
from around import batch_scanned, items_mix, looks_ahead, next_step, pointwise
from state import FromState, Remembers, carried

from snnbench.adapters import TimeLoop, TorchAdapter, torch_spike
from snnbench.adapters.base.time_loop import Uncut
from snnbench.kernels.spec import NeuronSpec

SPEC = NeuronSpec(decay=0.8, surrogate="atan")


class Loop(TimeLoop):
    def __init__(self):
        super().__init__()
        self.spike = torch_spike(SPEC).apply

    def step(self, current, v):
        v = current if v is None else SPEC.decay * v + current
        s = self.spike(v)
        return s, v - s


class Right(TorchAdapter):
    """Loop(decay=0.8): soft, with gradient, surrogate atan(2)."""

    name = "right-native"

    def native(self, features):
        """Loop(decay=0.8): soft, with gradient, surrogate atan(2).

        Source: this file.
        """
        return Uncut(Loop(), self.around)

    @staticmethod
    def around(right, currents):
        return right(currents)


class CarriedOver(Right):
    """Goes on from the state in which the previous call ended."""

    name = "carried-over"
    start = staticmethod(carried(1.0))

    def native(self, features):
        """Loop."""
        return FromState(SPEC, super().native(features), self.start)


class CarriedALittle(CarriedOver):
    """Keeps one hundredth of the state, too little to move many spikes."""

    name = "carried-a-little"
    start = staticmethod(carried(0.01))


class GraphKept(Right):
    """Starts from rest, but drags the graph of the previous call along."""

    name = "graph-kept"

    def native(self, features):
        """Loop."""
        return KeepsGraph()


class KeepsGraph(Loop):
    last = None

    def forward(self, currents):
        spikes, self.last = self.scan(currents, None if self.last is None else 0 * self.last)
        return spikes


class FirstAnswerAgain(Right):
    """Answers every call as it did the first."""

    name = "first-answer-again"

    def native(self, features):
        """Loop."""
        return Remembers(super().native(features))


class LooksAhead(Right):
    """Gets every current one step early."""

    name = "looks-ahead"

    @staticmethod
    def around(right, currents):
        return right(next_step(currents))


class LooksAheadALittle(Right):
    """Adds a millionth of the next step's current, which moves no spike."""

    name = "looks-ahead-a-little"
    around = staticmethod(looks_ahead(1e-6))


class ItemsMix(Right):
    """Adds a tenth of the mean current of the batch."""

    name = "items-mix"
    around = staticmethod(items_mix(0.1))


class ItemsMixALittle(Right):
    """Adds a millionth of it."""

    name = "items-mix-a-little"
    around = staticmethod(items_mix(1e-6))


class BatchScanned(Right):
    """Takes the batch axis for time."""

    name = "batch-scanned"
    around = staticmethod(batch_scanned)


class Pointwise(Right):
    """Has no memory: a single step fed a whole sequence."""

    name = "pointwise"
    around = staticmethod(pointwise)


class Silent(Right):
    """Never fires."""

    name = "silent-native"

    @staticmethod
    def around(right, currents):
        return 0 * right(currents)


class Potentials(Right):
    """Hands out something that is no spikes."""

    name = "potentials"

    @staticmethod
    def around(right, currents):
        return right(currents) + 0.25


class NoGradient(Right):
    """Computes where nothing learns."""

    name = "no-gradient"

    @staticmethod
    def around(right, currents):
        with torch.no_grad():
            return right(currents)


class ZeroGradient(Right):
    """Its spikes have a gradient, and it is zero."""

    name = "zero-gradient"

    @staticmethod
    def around(right, currents):
        return right(currents).detach() + 0 * currents
