"""Adapters with something wrong in the readout: an integrator, a vote, or what follows over time.
Every class says what is wrong with it."""

import torch
from layers import Changed


class Readout(Changed):
    """The right network, with an integrator of `decay` and `gain` of its options, or another."""

    kind = "integrator"
    gain = None

    def change(self, layer, x):
        return self.integrated(layer.decay, layer.gain if self.gain is None else self.gain, x)

    def integrated(self, decay, gain, x):
        v, values = torch.zeros_like(x[0]), []
        for current in x:
            v = decay * self.after(v) + gain * current
            values.append(v)
        return self.handed_out(torch.stack(values))

    def after(self, v):
        return v

    def handed_out(self, v):
        return v


class NoLeak(Readout):
    """Sums its input."""

    name = "wrong-no-leak"

    def integrated(self, decay, gain, x):
        return gain * x.cumsum(0)


class OneStepLate(Readout):
    """Hands out the potential before the input of the step."""

    name = "wrong-one-step-late"

    def handed_out(self, v):
        return torch.cat([torch.zeros_like(v[:1]), v[:-1]])


class OtherGain(Readout):
    """Multiplies its input by 1 - decay, unless that is asked for."""

    name = "wrong-other-gain"

    def integrated(self, decay, gain, x):
        return super().integrated(decay, 1 - decay if gain == 1 else 1.0, x)


class InputDecays(Readout):
    """Adds the input before the decay."""

    name = "wrong-input-decays"

    def integrated(self, decay, gain, x):
        return decay * super().integrated(decay, gain, x)


class ResetsToZero(Readout):
    """Is reset to 0 where it reaches 1, as a neuron is."""

    name = "wrong-resets-to-zero"

    def after(self, v):
        return v * (v < 1)


class ResetsSoftly(Readout):
    """Loses 1 where it reaches 1."""

    name = "wrong-resets-softly"

    def after(self, v):
        return v - (v >= 1).to(v.dtype)


class Spikes(Readout):
    """Hands out spikes."""

    name = "wrong-spikes-for-potentials"

    def handed_out(self, v):
        return (v >= 1).to(v.dtype) + 0 * v


class Cut(Readout):
    """Lets no gradient pass from step to step."""

    name = "wrong-cut"

    def after(self, v):
        return v.detach()


class StateKept(Readout):
    """Starts where the call before ended."""

    name = "wrong-state-kept"
    last = None

    def integrated(self, decay, gain, x):
        v = super().integrated(decay, gain, x)
        if self.last is not None and self.last.shape == x.shape[1:]:
            powers = decay ** torch.arange(1, 1 + len(x), dtype=x.dtype)
            v = v + powers[:, None, None] * self.last
        self.last = v[-1].detach()
        return v


class Last(Changed):
    """Takes the last step for the maximum, or the sum."""

    name = "wrong-last"
    kind = "max_time"

    def change(self, layer, x):
        return x[-1:]


class LastForSoftmax(Last):
    """Takes softmax of the last step."""

    name = "wrong-last-for-softmax"
    kind = "softmax_sum"

    def change(self, layer, x):
        return layer(x[:-1])


class LastOfEqual(Last):
    """Gives the last of equal maxima the gradient."""

    name = "wrong-last-of-equal"

    def change(self, layer, x):
        return layer(x.flip(0))


class PartsOfEqual(Last):
    """Gives equal maxima equal parts of the gradient, as `amax` does."""

    name = "wrong-parts-of-equal"

    def change(self, layer, x):
        return x.amax(0, keepdim=True)


class MeanForSum(LastForSoftmax):
    """Takes the mean of softmax over time."""

    name = "wrong-mean-for-sum"

    def change(self, layer, x):
        return layer(x) / len(x)


class NoSoftmax(LastForSoftmax):
    """Leaves softmax out."""

    name = "wrong-no-softmax"

    def change(self, layer, x):
        return x.sum(0, keepdim=True)


class SoftmaxDetached(LastForSoftmax):
    """Lets no gradient pass the sum that softmax divides by."""

    name = "wrong-softmax-detached"

    def change(self, layer, x):
        powers = (x - x.amax(-1, keepdim=True).detach()).exp()
        return (powers / powers.sum(-1, keepdim=True).detach()).sum(0, keepdim=True)


class MeanForLast(Changed):
    """Takes the mean over time for the last step."""

    name = "wrong-mean-for-last"
    kind = "last_time"

    def change(self, layer, x):
        return x.mean(0, keepdim=True)


class GroupsApart(Changed):
    """Takes outputs 0, 4, 8 … for the first vote."""

    name = "wrong-groups-apart"
    kind = "vote"

    def change(self, layer, x):
        groups = layer(x).shape[-1]
        return x.unflatten(-1, (-1, groups)).mean(-2)


class SumOfGroup(GroupsApart):
    """Takes the sum of a group."""

    name = "wrong-sum-of-group"

    def change(self, layer, x):
        return x.shape[-1] // layer(x).shape[-1] * layer(x)
