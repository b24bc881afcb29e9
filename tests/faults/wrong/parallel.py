"""Adapters with a wrong mix of time steps in front of their neurons. Every class says what is wrong
with it."""

import torch
from layers import Changed

from snnbench.adapters.spikingjelly import SpikingJelly


class CountsLater(Changed):
    """Counts later steps too, where they should have no weight."""

    name = "wrong-counts-later"
    kind = "mix_time"

    def change(self, layer, x):
        return torch.addmm(layer.bias, layer.weight, x.flatten(1)).view_as(x)


class CountsEarlier(CountsLater):
    """Counts the earlier steps alone, as a neuron that must not look ahead."""

    name = "wrong-counts-earlier"

    def change(self, layer, x):
        return torch.addmm(layer.bias, layer.weight.tril(), x.flatten(1)).view_as(x)


class Transposed(CountsLater):
    """Multiplies by the transposed weight."""

    name = "wrong-transposed-mix"

    def change(self, layer, x):
        return torch.addmm(layer.bias, layer.weight.T, x.flatten(1)).view_as(x)


class Reversed(CountsLater):
    """Takes the first weight for the present step, not the last."""

    name = "wrong-reversed-mix"
    ahead = staticmethod(lambda order: 0)

    def change(self, layer, x):
        ahead = self.ahead(layer.order)
        padded = torch.nn.functional.pad(x.flatten(1).T, (layer.order - 1 - ahead, ahead))
        mixed = torch.nn.functional.conv1d(padded[:, None], self.taps(layer)[None, None])
        return (mixed[:, 0].T + layer.bias).view_as(x)

    def taps(self, layer):
        return layer.weight.flip(0)


class Centred(Reversed):
    """Pads the convolution over time on both sides, as one over pixels."""

    name = "wrong-centred-mix"
    ahead = staticmethod(lambda order: order // 2)

    def taps(self, layer):
        return layer.weight


class MaskNotSet(SpikingJelly):
    """MaskedPSN as it is made: its mask begins at λ = 0, where later steps count in full."""

    name = "wrong-mask-not-set"

    def modules(self, case, network):
        made = super().modules(case, network)
        for module in made.values():
            if hasattr(module, "psn"):
                module.psn.lambda_ = 0.0
        return made
