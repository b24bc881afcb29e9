"""Adapters with an adaptation current that is wrong. Every class says how."""

from dataclasses import replace

import torch

from snnbench.adapters.base.spikes import reset, torch_spike
from snnbench.adapters.base.time_loop import TimeLoop
from snnbench.adapters.torch_loop import TorchLoop


class Respecified(TorchLoop):
    """The right neuron of other fields."""

    def changed(self, spec):
        raise NotImplementedError

    def neuron(self, spec, features):
        return super().neuron(replace(spec, **self.changed(spec)), features)


class Missing(Respecified):
    """Does not adapt."""

    name = "wrong-without-adaptation"

    def changed(self, spec):
        return dict.fromkeys(("adaptation", "adaptation_decay", "adaptation_coupling"))


class OfThreshold(Respecified):
    """Raises its threshold on spikes, as ALIF does."""

    name = "wrong-threshold-for-current"

    def changed(self, spec):
        return {"adaptation_coupling": None}


class OfSpikesAlone(Respecified):
    """Adapts to its spikes alone."""

    name = "wrong-uncoupled"

    def changed(self, spec):
        return {"adaptation_coupling": 0.0}


class CouplingOff(Respecified):
    """Adapts to half of the potential."""

    name = "wrong-coupling"

    def changed(self, spec):
        return {"adaptation_coupling": spec.adaptation_coupling / 2}


class JumpOff(Respecified):
    """Adapts less to a spike."""

    name = "wrong-jump"

    def changed(self, spec):
        return {"adaptation": 0.8 * spec.adaptation}


class DecayOff(Respecified):
    """Adapts for a shorter time."""

    name = "wrong-adaptation-current-decay"

    def changed(self, spec):
        return {"adaptation_decay": 0.9 * spec.adaptation_decay}


class Changed(TorchLoop):
    """The right neuron; its adaptation is of `added(s)` and `followed(v, p)`."""

    added = staticmethod(lambda s: s)
    followed = staticmethod(lambda v, p: v)
    late = False

    def neuron(self, spec, features):
        spike, adapter = torch_spike(spec).apply, self

        class Loop(TimeLoop):
            def step(self, current, state):
                p, a, coming = state or (torch.zeros_like(current),) * 3
                v = spec.decay * p + current - a
                s = spike(v)
                p = reset(spec, v, s, torch.Tensor.detach)
                last = coming if adapter.late else a
                following = (
                    spec.adaptation_decay * last
                    + spec.adaptation * adapter.added(s)
                    + spec.adaptation_coupling * adapter.followed(v, p)
                )
                return s, (p, coming if adapter.late else following, following)

        return Loop()


class Detached(Changed):
    """Lets no gradient pass to its adaptation."""

    name = "wrong-detached-current"
    added = staticmethod(torch.Tensor.detach)
    followed = staticmethod(lambda v, p: v.detach())


class AfterReset(Changed):
    """Follows the potential after the reset."""

    name = "wrong-after-reset"
    followed = staticmethod(lambda v, p: p)


class OneStepLate(Changed):
    """Adapts one step late."""

    name = "wrong-late-current"
    late = True
