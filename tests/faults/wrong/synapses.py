"""Adapters with a wrong synaptic current. Every class says how."""

from dataclasses import replace

import torch

from snnbench.adapters.base.time_loop import TimeLoop
from snnbench.adapters.torch_loop import TorchLoop


class Behind(torch.nn.Module):
    """A neuron on what `filtered` makes of its currents."""

    def __init__(self, neuron, filtered):
        super().__init__()
        self.neuron, self.filtered = neuron, filtered

    def forward(self, currents):
        return self.neuron(self.filtered(currents))


class Filtered(TorchLoop):
    """The right neuron without a synapse, on `filtered(currents, decay)`."""

    def neuron(self, spec, features):
        plain = super().neuron(replace(spec, current_decay=None), features)
        return Behind(plain, lambda currents: self.filtered(currents, spec.current_decay))


def synaptic(currents, decay):
    """The right one, by its impulse response."""
    steps = torch.arange(len(currents))
    age = (steps[:, None] - steps).clamp(min=0)
    response = torch.tril(torch.full(age.shape, decay) ** age)
    return torch.tensordot(response, currents, dims=1)


class NoSynapse(Filtered):
    """Leaves the synaptic current out."""

    name = "wrong-no-synapse"

    @staticmethod
    def filtered(currents, decay):
        return currents


class DecayOff(Filtered):
    """Has another decay of the synaptic current."""

    name = "wrong-current-decay"

    @staticmethod
    def filtered(currents, decay):
        return synaptic(currents, 0.8 * decay)


class Swapped(TorchLoop):
    """Takes one decay for the other."""

    name = "wrong-decays-swapped"

    def neuron(self, spec, features):
        return super().neuron(
            replace(spec, decay=spec.current_decay, current_decay=spec.decay), features
        )


class DecaysFirst(Filtered):
    """Lets a current decay before it is used, as Sinabs and Rockpool do, and scales nothing."""

    name = "wrong-decays-first"

    @staticmethod
    def filtered(currents, decay):
        return decay * synaptic(currents, decay)


class OneStepLate(Filtered):
    """Uses the synaptic current of the step before."""

    name = "wrong-current-late"

    @staticmethod
    def filtered(currents, decay):
        i = synaptic(currents, decay)
        return torch.cat([torch.zeros_like(i[:1]), i[:-1]])


class ClearedBySpikes(TorchLoop):
    """Clears the synaptic current at every spike, as snnTorch's own reset to zero does."""

    name = "wrong-clears-current"

    def neuron(self, spec, features):
        right = super().neuron(spec, features)

        class Clears(TimeLoop):
            def step(self, current, state):
                s, (i, v) = right.step(current, state)
                return s, (i * (1 - s.detach()), v)

        return Clears()


class Detached(Filtered):
    """Lets no gradient go back through the synaptic current."""

    name = "wrong-detached-synapse"

    @staticmethod
    def filtered(currents, decay):
        return currents + (synaptic(currents, decay) - currents).detach()
