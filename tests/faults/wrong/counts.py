"""Adapters with spikes that are rounded wrongly. Every class says how."""

import torch

from snnbench.adapters.base.time_loop import TimeLoop
from snnbench.adapters.torch_loop import TorchLoop


class Changed(TorchLoop):
    """The right neuron, I-LIF, in parts that classes below change."""

    @staticmethod
    def rounded(ratio):
        return torch.round(ratio)

    @staticmethod
    def clipped(ratio, most):
        return ratio.clamp(0, most)

    @staticmethod
    def passes(ratio, most):
        """Where the gradient passes."""
        return (ratio >= 0) & (ratio <= most)

    handed_out = subtracted = staticmethod(lambda counts, most: counts)
    per_potential = staticmethod(lambda threshold: 1 / threshold)

    def neuron(self, spec, features):
        adapter, most = self, spec.max_spikes

        class Fire(torch.autograd.Function):
            @staticmethod
            def forward(ctx, v):
                ratio = v / spec.threshold
                ctx.save_for_backward(ratio)
                return adapter.clipped(adapter.rounded(ratio), most)

            @staticmethod
            def backward(ctx, gradient):
                (ratio,) = ctx.saved_tensors
                return (
                    gradient * adapter.passes(ratio, most) * adapter.per_potential(spec.threshold)
                )

        class Loop(TimeLoop):
            def step(self, current, v):
                v = current if v is None else spec.decay * v + current
                s = Fire.apply(v)
                p = v - spec.threshold * adapter.subtracted(s, most)
                return adapter.handed_out(s, most), p

        return Loop()


class RoundsDown(Changed):
    """Rounds down, as neurons with several thresholds do."""

    name = "wrong-rounds-down"
    rounded = staticmethod(torch.floor)


class NoWindow(Changed):
    """Lets the gradient pass at every potential, as a straight-through estimator without a clip."""

    name = "wrong-no-window"
    passes = staticmethod(lambda ratio, most: torch.ones_like(ratio))


class OpenAbove(Changed):
    """Lets the gradient pass above the highest count, as ReLU does."""

    name = "wrong-open-above"
    passes = staticmethod(lambda ratio, most: ratio >= 0)


class NarrowWindow(Changed):
    """Lets the gradient pass up to one spike."""

    name = "wrong-narrow-window"
    passes = staticmethod(lambda ratio, most: (ratio >= 0) & (ratio <= 1))


class Divided(Changed):
    """Hands out counts divided by the highest, as the spike-driven transformer V3 does."""

    name = "wrong-divided"
    handed_out = staticmethod(lambda counts, most: counts / most)


class SubtractsOne(Changed):
    """Subtracts the threshold once, whatever the count."""

    name = "wrong-subtracts-one"
    subtracted = staticmethod(lambda counts, most: counts.clamp(max=1))


class Unbounded(Changed):
    """Has no highest count."""

    name = "wrong-unbounded"
    clipped = staticmethod(lambda ratio, most: ratio.clamp(0))


class NotByThreshold(Changed):
    """Does not divide the gradient by the threshold."""

    name = "wrong-not-by-threshold"
    per_potential = staticmethod(lambda threshold: 1.0)
