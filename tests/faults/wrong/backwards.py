"""Adapters with right spikes and a wrong backward through time. Every class says what is wrong
with it."""

import torch
from bases import Around, OfLoop, Recurrence, with_gradient

from snnbench.adapters.base.spikes import reset
from snnbench.kernels.surrogates import derivative


def kept(place, gradient):
    """A gradient that is zero elsewhere."""
    only = torch.zeros_like(gradient)
    only[place] = gradient[place]
    return only


class OnCurrents(Around):
    """A right neuron; the gradient by its currents goes through `change`."""

    @classmethod
    def around(cls, right, currents):
        return right(with_gradient(cls.change, currents))


class OnSpikes(Around):
    """A right neuron; the gradient of its spikes goes through `change` before it is used."""

    @classmethod
    def around(cls, right, currents):
        return with_gradient(cls.change, right(currents))


class FirstStepLost(OnCurrents):
    """Loses the gradient of the first step."""

    name = "wrong-first-step-lost"

    @staticmethod
    def change(gradient):
        return kept(slice(1, None), gradient)


class LastStepLost(OnCurrents):
    """Loses the gradient by the last step's current."""

    name = "wrong-last-step-lost"

    @staticmethod
    def change(gradient):
        return kept(slice(None, -1), gradient)


class LastUpstreamLost(OnSpikes):
    """Begins its backward one step before the last."""

    name = "wrong-last-upstream-lost"

    @staticmethod
    def change(gradient):
        return kept(slice(None, -1), gradient)


class FirstUpstreamLost(OnSpikes):
    """Does not use the upstream gradient of the first step."""

    name = "wrong-first-upstream-lost"

    @staticmethod
    def change(gradient):
        return kept(slice(1, None), gradient)


class HalfTheBatch(OnCurrents):
    """Computes the gradient of the first batch item, and multiplies it by the number of items."""

    name = "wrong-half-the-batch"

    @staticmethod
    def change(gradient):
        return gradient.shape[1] * kept((slice(None), slice(1)), gradient)


class UpstreamOfOnes(OnSpikes):
    """Takes the upstream gradient for ones."""

    name = "wrong-upstream-of-ones"

    @staticmethod
    def change(gradient):
        return torch.ones_like(gradient)


class UpstreamConstantInTime(OnSpikes):
    """Takes the upstream gradient of the last step for that of all."""

    name = "wrong-upstream-constant-in-time"

    @staticmethod
    def change(gradient):
        return gradient[-1:].expand_as(gradient)


class UpstreamOneStepLate(OnSpikes):
    """Uses the upstream gradient of the step before."""

    name = "wrong-upstream-one-step-late"

    @staticmethod
    def change(gradient):
        return torch.cat([0 * gradient[:1], gradient[:-1]])


class Regularised(OnSpikes):
    """Adds the gradient of a loss of its own, on the number of spikes."""

    name = "wrong-regularised"

    @staticmethod
    def change(gradient):
        return gradient + 0.01


class UpstreamSparse(OnSpikes):
    """Takes small upstream gradients for zero."""

    name = "wrong-upstream-sparse"

    @staticmethod
    def change(gradient):
        return torch.where(gradient.abs() < 0.05, 0, gradient)


class UpstreamClamped(OnSpikes):
    """Clamps upstream gradients, against their explosion."""

    name = "wrong-upstream-clamped"

    @staticmethod
    def change(gradient):
        return gradient.clamp(-0.03, 0.03)


class UpstreamClampedFar(OnSpikes):
    """Clamps upstream gradients to a hundred, which none reaches by chance."""

    name = "wrong-upstream-clamped-far"

    @staticmethod
    def change(gradient):
        return gradient.clamp(-100, 100)


class OtherSurrogateLoop(Recurrence):
    """Fires as it should; `slope(v)` is the surrogate's derivative."""

    def slope(self, v):
        return derivative(self.spec, torch)(v - self.spec.threshold)

    def fired(self, v, spikes):
        s = (v >= self.spec.threshold).to(v.dtype)
        return s.detach() + (v - v.detach()) * self.slope(v.detach())


class CutOff(OtherSurrogateLoop):
    def slope(self, v):
        return torch.where((v - self.spec.threshold).abs() <= 2, super().slope(v), 0)


class SurrogateCutOff(OfLoop):
    """Takes its surrogate for zero further than 2 from the threshold."""

    name = "wrong-surrogate-cut-off"
    kind = CutOff


class HeldFarAway(OtherSurrogateLoop):
    def slope(self, v):
        return super().slope(v.clamp(self.spec.threshold - 1.5, self.spec.threshold + 1.5))


class SurrogateHeld(OfLoop):
    """Does not let its surrogate fall further than 1.5 from the threshold."""

    name = "wrong-surrogate-held"
    kind = HeldFarAway


class AtZero(OtherSurrogateLoop):
    def slope(self, v):
        return super().slope(v + self.spec.threshold)


class SurrogateWithoutThreshold(OfLoop):
    """Takes its surrogate at the potential instead of at its distance from the threshold."""

    name = "wrong-surrogate-without-threshold"
    kind = AtZero


class AfterReset(OtherSurrogateLoop):
    def slope(self, v):
        s = (v >= self.spec.threshold).to(v.dtype)
        return super().slope(reset(self.spec, v, s, torch.Tensor.detach))


class SurrogateAfterReset(OfLoop):
    """Takes its surrogate at the potential after the reset."""

    name = "wrong-surrogate-after-reset"
    kind = AfterReset


class AtSpikes(OtherSurrogateLoop):
    def slope(self, v):
        return super().slope(v) * (v >= self.spec.threshold)


class SurrogateAtSpikes(OfLoop):
    """Uses its surrogate where a spike was fired, and nothing elsewhere."""

    name = "wrong-surrogate-at-spikes"
    kind = AtSpikes


class Smaller(OtherSurrogateLoop):
    def slope(self, v):
        return 0.3 * super().slope(v)


class SurrogateScaled(OfLoop):
    """Multiplies its surrogate by 0.3."""

    name = "wrong-surrogate-scaled"
    kind = Smaller


class Negated(Recurrence):
    def __init__(self, spec):
        super().__init__(spec)
        right = self.spike
        self.spike = lambda v: right(with_gradient(torch.neg, v))


class SurrogateNegated(OfLoop):
    """Has its surrogate's sign the wrong way round."""

    name = "wrong-surrogate-negated"
    kind = Negated


class TwiceThroughReset(Recurrence):
    def reset(self, v, spikes):
        return v - self.spec.threshold * with_gradient(lambda gradient: 2 * gradient, spikes[-1])


class ResetGradientDoubled(OfLoop):
    """Counts the gradient through the reset twice."""

    name = "wrong-reset-gradient-doubled"
    kind = TwiceThroughReset


class NoDecayBack(Recurrence):
    def charged(self, after, current, t):
        return (
            self.spec.decay * with_gradient(lambda gradient: gradient / self.spec.decay, after)
            + current
        )


class BackwardWithoutDecay(OfLoop):
    """Does not decay the gradient on its way back through time."""

    name = "wrong-backward-without-decay"
    kind = NoDecayBack
