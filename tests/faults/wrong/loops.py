"""Adapters with a time loop that follows another rule. Every class says what is wrong with it."""

import torch
from bases import Around, OfLoop, Recurrence

from snnbench.adapters.base.spikes import reset


class DecayedInput(Recurrence):
    def charged(self, after, current, t):
        return self.spec.decay * (after + current)


class InputDecays(OfLoop):
    """Lets the current decay with the potential, as in v = decay·(v + x)."""

    name = "wrong-input-decays"
    kind = DecayedInput


class DecayComplement(Recurrence):
    def charged(self, after, current, t):
        return (1 - self.spec.decay) * after + current


class TakesDecayForLeak(OfLoop):
    """Takes the decay for what is lost in a step."""

    name = "wrong-takes-decay-for-leak"
    kind = DecayComplement


class Averaging(Recurrence):
    def charged(self, after, current, t):
        return self.spec.decay * after + (1 - self.spec.decay) * current


class InputTimesDt(OfLoop):
    """Multiplies the current by dt/τ, as in v = decay·v + (1 − decay)·x."""

    name = "wrong-input-times-dt"
    kind = Averaging


class LateReset(Recurrence):
    def reset(self, v, spikes):
        before = spikes[-2] if len(spikes) > 1 else torch.zeros_like(v)
        return reset(self.spec, v, before, torch.Tensor.detach)


class ResetsOneStepLate(OfLoop):
    """Resets on the spikes of the step before."""

    name = "wrong-resets-one-step-late"
    kind = LateReset


class LostInput(Recurrence):
    fired_before = None

    def charged(self, after, current, t):
        v = super().charged(after, current, t)
        return v if t == 0 else v * (self.fired_before == 0).to(v.dtype)

    def reset(self, v, spikes):
        self.fired_before = spikes[-1]
        return v


class LosesInput(OfLoop):
    """Resets to zero in the step after a spike, as snnTorch's `Leaky` did until 0.7.0."""

    name = "wrong-loses-input"
    kind = LostInput


class Resting(Recurrence):
    pause = 1

    def fired(self, v, spikes):
        free = 1.0 if not spikes else (sum(spikes[-self.pause :]) == 0).to(v.dtype)
        return self.spike(v) * free


class RestingLonger(Resting):
    pause = 7


class Refractory(OfLoop):
    """Does not fire in the step after a spike."""

    name = "wrong-refractory"
    kind = Resting


class RefractoryOfSeven(OfLoop):
    """Does not fire in the seven steps after a spike."""

    name = "wrong-refractory-of-seven"
    kind = RestingLonger


class Clamped(Recurrence):
    def charged(self, after, current, t):
        return super().charged(after, current, t).clamp(min=0)


class PotentialClamped(OfLoop):
    """Lets no potential be negative."""

    name = "wrong-potential-clamped"
    kind = Clamped


class ClampedAfterReset(Recurrence):
    def reset(self, v, spikes):
        return super().reset(v, spikes).clamp(min=-self.spec.threshold)


class ResetClamped(OfLoop):
    """Lets no potential be below −threshold after the reset."""

    name = "wrong-reset-clamped"
    kind = ClampedAfterReset


class WholeSteps(Recurrence):
    def charged(self, after, current, t):
        v = super().charged(after, current, t)
        return v + (torch.round(64 * v) / 64 - v).detach()


class IntegerState(OfLoop):
    """Keeps its potential as a whole number of 64ths."""

    name = "wrong-integer-state"
    kind = WholeSteps


class LessSubtracted(Recurrence):
    def reset(self, v, spikes):
        return v - 0.9 * self.spec.threshold * spikes[-1]


class ResetTooSmall(OfLoop):
    """Subtracts nine tenths of the threshold after a spike."""

    name = "wrong-reset-too-small"
    kind = LessSubtracted


class Lenient(Recurrence):
    def fired(self, v, spikes):
        return self.spike(v + 0.05 * self.spec.threshold)


class ComparesBelow(OfLoop):
    """Compares with a threshold that is 5 % lower than the one that it subtracts."""

    name = "wrong-compares-below"
    kind = Lenient


class FirstCurrentTwice(Recurrence):
    def charged(self, after, current, t):
        return super().charged(current if t == 0 else after, current, t)


class StartsAtFirstCurrent(OfLoop):
    """Starts from the first step's current instead of from zero."""

    name = "wrong-starts-at-first-current"
    kind = FirstCurrentTwice


class NoiseAtStart(Recurrence):
    def charged(self, after, current, t):
        return super().charged(0.3 * torch.randn_like(after) if t == 0 else after, current, t)


class RandomStart(OfLoop):
    """Starts from a random potential."""

    name = "wrong-random-start"
    kind = NoiseAtStart


class SkipsFirstStep(Around):
    """Begins its loop at the second step."""

    name = "wrong-skips-first-step"

    @staticmethod
    def around(right, currents):
        return torch.cat([torch.zeros_like(currents[:1]), right(currents[1:])])


class LeavesOutLastStep(Around):
    """Ends its loop one step early."""

    name = "wrong-leaves-out-last-step"

    @staticmethod
    def around(right, currents):
        return torch.cat([right(currents[:-1]), torch.zeros_like(currents[:1])])


class TailOfBlocks(Around):
    """Computes whole blocks of eight steps, and nothing of the last one that is not full."""

    name = "wrong-tail-of-blocks"

    @staticmethod
    def around(right, currents):
        full = len(currents) // 8 * 8
        return torch.cat([right(currents[:full]), torch.zeros_like(currents[full:])])


class TimeIndexOverflows(Around):
    """Counts time in five bits: the 33rd step reads the first one's current again."""

    name = "wrong-time-index-overflows"

    @staticmethod
    def around(right, currents):
        return right(currents[torch.arange(len(currents)) % 32])


class EverySecondStep(Around):
    """Computes every second step and hands its spikes out twice."""

    name = "wrong-every-second-step"

    @staticmethod
    def around(right, currents):
        return right(currents[::2]).repeat_interleave(2, 0)[: len(currents)]


class FourItems(Around):
    """Computes four batch items; to more it gives nothing."""

    name = "wrong-four-items"

    @staticmethod
    def around(right, currents):
        return torch.cat([right(currents[:, :4]), torch.zeros_like(currents[:, 4:])], 1)


class ItemsInAnotherOrder(Around):
    """Gives every batch item the spikes of the one before it."""

    name = "wrong-items-in-another-order"

    @staticmethod
    def around(right, currents):
        return right(currents).roll(1, 1)


class NeuronsRepeated(Around):
    """Computes 128 neurons; those beyond are copies of the first."""

    name = "wrong-neurons-repeated"

    @staticmethod
    def around(right, currents):
        return right(currents[..., torch.arange(currents.shape[-1]) % 128])
