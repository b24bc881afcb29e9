"""Adapters with a threshold that adapts wrongly. Every class says how."""

from dataclasses import replace

import torch

from snnbench.adapters.base.spikes import reset, torch_spike
from snnbench.adapters.base.time_loop import TimeLoop
from snnbench.adapters.torch_loop import TorchLoop


class Fixed(TorchLoop):
    """Leaves the threshold as it is."""

    name = "wrong-fixed-threshold"

    def neuron(self, spec, features):
        return super().neuron(replace(spec, adaptation=None, adaptation_decay=None), features)


class JumpOff(TorchLoop):
    """Adds less to the threshold."""

    name = "wrong-adaptation"

    def neuron(self, spec, features):
        return super().neuron(replace(spec, adaptation=0.8 * spec.adaptation), features)


class DecayOff(TorchLoop):
    """Lets the threshold come back faster."""

    name = "wrong-adaptation-decay"

    def neuron(self, spec, features):
        return super().neuron(replace(spec, adaptation_decay=0.9 * spec.adaptation_decay), features)


class ScaledByLeak(TorchLoop):
    """Adds (1 − decay) of what it should, as a low-pass filter of the spikes does."""

    name = "wrong-low-pass"

    def neuron(self, spec, features):
        return super().neuron(
            replace(spec, adaptation=(1 - spec.adaptation_decay) * spec.adaptation), features
        )


class Changed(TorchLoop):
    """The right neuron; its threshold has risen by `seen(a)` for the spike and `subtracted(a)`
    for the reset."""

    seen = subtracted = staticmethod(lambda a: a)
    added = staticmethod(lambda s: s)

    def neuron(self, spec, features):
        spike, adapter = torch_spike(spec).apply, self

        class Loop(TimeLoop):
            def step(self, current, state):
                v, a = state or (torch.zeros_like(current), torch.zeros_like(current))
                v = spec.decay * v + current
                s = spike(v - adapter.seen(a))
                p = reset(spec, v, s, torch.Tensor.detach, adapter.subtracted(a))
                return s, (p, spec.adaptation_decay * a + spec.adaptation * adapter.added(s))

        return Loop()


class SubtractsAtRest(Changed):
    """Subtracts the threshold as it is without spikes, as Bellec et al. 2020 do."""

    name = "wrong-subtracts-at-rest"
    subtracted = staticmethod(torch.zeros_like)


class Detached(Changed):
    """Lets no gradient pass from a spike to the threshold."""

    name = "wrong-detached-adaptation"
    added = staticmethod(torch.Tensor.detach)


class SpikeSeesConstant(Changed):
    """Takes the threshold for a constant where it fires, as the spike functions of Sinabs do."""

    name = "wrong-constant-threshold"
    seen = staticmethod(torch.Tensor.detach)


class OneStepLate(TorchLoop):
    """Lets the threshold rise one step late."""

    name = "wrong-adapts-late"

    def neuron(self, spec, features):
        spike = torch_spike(spec).apply

        class Loop(TimeLoop):
            def step(self, current, state):
                v, a, coming = state or (torch.zeros_like(current),) * 3
                v = spec.decay * v + current
                s = spike(v - a)
                p = reset(spec, v, s, torch.Tensor.detach, a)
                return s, (p, coming, spec.adaptation_decay * coming + spec.adaptation * s)

        return Loop()
