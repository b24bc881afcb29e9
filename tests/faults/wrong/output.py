"""Adapters with an output that is wrong in some place, or not there yet. Every class says what
is wrong with it."""

import threading

import torch
from bases import OfLayer

from snnbench.adapters import torch_spike
from snnbench.adapters.base.time_loop import Uncut
from snnbench.adapters.base.torch_network import LinearNeuron
from snnbench.adapters.torch_loop import TorchLoop


class Silent(TorchLoop):
    """Never fires."""

    name = "wrong-silent"

    def neuron(self, spec, features):
        return Uncut(
            super().neuron(spec, features), lambda right, currents: self.around(right(currents))
        )

    @staticmethod
    def around(spikes):
        return torch.zeros_like(spikes)


class AlwaysFires(Silent):
    """Fires at every step."""

    name = "wrong-always-fires"

    @staticmethod
    def around(spikes):
        return torch.ones_like(spikes)


class Unchanged(LinearNeuron):
    def forward(self, x):
        return x * 1


class ReturnsInput(OfLayer):
    """Hands its input back."""

    name = "wrong-returns-input"
    kind = Unchanged


class SwapsTwoNeurons(Silent):
    """Swaps the neurons 4 and 7."""

    name = "wrong-swaps-two-neurons"

    @staticmethod
    def around(spikes):
        order = list(range(spikes.shape[-1]))
        order[4], order[7] = 7, 4
        return spikes[..., order]


class TileTail(Silent):
    """Does not compute the neurons after the last full tile of 64."""

    name = "wrong-tile-tail"

    @staticmethod
    def around(spikes):
        full = spikes.shape[-1] // 64 * 64
        return torch.cat([spikes[..., :full], torch.zeros_like(spikes[..., full:])], -1)


class RightBelow128(Silent):
    """Is right below 128 neurons; of more it computes 112."""

    name = "wrong-right-below-128"

    @staticmethod
    def around(spikes):
        computed = 112 if spikes.shape[-1] >= 128 else spikes.shape[-1]
        return torch.cat([spikes[..., :computed], torch.zeros_like(spikes[..., computed:])], -1)


class NotANumber(Silent):
    """Hands out NaN where the first spike should be."""

    name = "wrong-not-a-number"

    @staticmethod
    def around(spikes):
        return torch.where(
            torch.arange(spikes.numel()).reshape(spikes.shape) == 0, torch.nan, spikes
        )


class MultiSpike(TorchLoop):
    """Fires as many spikes a step as thresholds fit into the potential."""

    name = "wrong-multi-spike"
    most_shown = 1000

    def neuron(self, spec, features):
        return Counts(spec, self.most_shown)


class MultiSpikeClipped(MultiSpike):
    """Fires and resets by several spikes a step but hands out at most one."""

    name = "wrong-multi-spike-clipped"
    most_shown = 1


class Counts(torch.nn.Module):
    def __init__(self, spec, most_shown):
        super().__init__()
        self.spec, self.most_shown, self.spike = spec, most_shown, torch_spike(spec).apply

    def forward(self, currents):
        after, shown = torch.zeros_like(currents[0]), []
        for current in currents.unbind(0):
            v = self.spec.decay * after + current
            more = torch.floor(v.detach() / self.spec.threshold).clamp(min=1)
            counts = self.spike(v) * more
            shown.append(counts.clamp(max=self.most_shown))
            s = counts.detach() if self.spec.detach_reset else counts
            after = {"soft": v - self.spec.threshold * s, "hard": v * (s == 0), "none": v}[
                self.spec.reset
            ]
        return torch.stack(shown)


class Asynchronous(Silent):
    """Returns 50 ms before a thread has written the spikes, and `wait` does not wait for it."""

    name = "wrong-asynchronous"

    @staticmethod
    def around(spikes):
        computed = spikes.detach().clone()
        spikes.data.zero_()
        writer = threading.Timer(0.05, spikes.data.copy_, [computed])
        writer.daemon = True
        writer.start()
        return spikes
