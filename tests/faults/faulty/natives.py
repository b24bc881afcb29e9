"""Native neurons with one fault each, which no oracle can find. `Right` has none; every other class says what is wrong."""

import torch

from snnbench.adapters import TimeLoop, TorchAdapter, torch_spike
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
        return Around(Loop(), self.around)

    @staticmethod
    def around(right, currents):
        return right(currents)


class Around(torch.nn.Module):
    """A neuron with something done to its currents or spikes; `remembered` survives a call."""

    def __init__(self, right, around):
        super().__init__()
        self.right, self.around, self.remembered = right, around, None

    def forward(self, currents):
        return self.around(self.right if not hasattr(self.around, "keeps") else self, currents)


def keeps(around):
    """Gives `around` the module that survives calls instead of the neuron in it."""
    around.keeps = True
    return around


class CarriedOver(Right):
    """Goes on from the state in which the previous call ended."""

    name = "carried-over"
    share = 1.0

    def native(self, features):
        """Loop."""
        share = self.share

        @keeps
        def around(module, currents):
            start = None if module.remembered is None else share * module.remembered
            spikes, state = module.right.scan(currents, start)
            module.remembered = state.detach()
            return spikes

        return Around(Loop(), around)


class CarriedALittle(CarriedOver):
    """Keeps one hundredth of the state, too little to move many spikes."""

    name = "carried-a-little"
    share = 0.01


class GraphKept(Right):
    """Starts from rest, but drags the graph of the previous call along."""

    name = "graph-kept"

    def native(self, features):
        """Loop."""

        @keeps
        def around(module, currents):
            spikes, state = module.right.scan(currents, None if module.remembered is None else 0 * module.remembered)
            module.remembered = state
            return spikes

        return Around(Loop(), around)


class FirstAnswerAgain(Right):
    """Answers every call as it did the first."""

    name = "first-answer-again"

    def native(self, features):
        """Loop."""

        @keeps
        def around(module, currents):
            if module.remembered is None or module.remembered.shape != currents.shape:
                module.remembered = module.right(currents).detach()
            return module.remembered + 0 * currents

        return Around(Loop(), around)


class LooksAhead(Right):
    """Gets every current one step early."""

    name = "looks-ahead"

    @staticmethod
    def around(right, currents):
        return right(torch.cat([currents[1:], torch.zeros_like(currents[:1])]))


class LooksAheadALittle(Right):
    """Adds a millionth of the next step's current, which moves no spike."""

    name = "looks-ahead-a-little"

    @staticmethod
    def around(right, currents):
        return right(currents + 1e-6 * torch.cat([currents[1:], torch.zeros_like(currents[:1])]))


class ItemsMix(Right):
    """Adds a tenth of the mean current of the batch."""

    name = "items-mix"

    @staticmethod
    def around(right, currents):
        return right(currents + 0.1 * currents.mean(1, keepdim=True))


class ItemsMixALittle(Right):
    """Adds a millionth of it."""

    name = "items-mix-a-little"

    @staticmethod
    def around(right, currents):
        return right(currents + 1e-6 * currents.mean(1, keepdim=True))


class BatchScanned(Right):
    """Takes the batch axis for time."""

    name = "batch-scanned"

    @staticmethod
    def around(right, currents):
        return right(currents.transpose(0, 1)).transpose(0, 1)


class Pointwise(Right):
    """Has no memory: a single step fed a whole sequence."""

    name = "pointwise"

    @staticmethod
    def around(right, currents):
        return right(currents.unsqueeze(0)).squeeze(0)


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
