"""Adapters that multiply by other weights, or something else than the input. Every class says
what is wrong with it."""

import torch
from bases import Multiplied, OfLayer, straight


def rounded(weight, levels, axis=None):
    """To whole multiples of the largest weight, of all or along an axis, over `levels`."""
    largest = weight.abs().max() if axis is None else weight.abs().amax(axis, keepdim=True)
    return torch.round(weight / largest * levels) / levels * largest


class Changed(Multiplied):
    def weight(self):
        return straight(self.linear.weight, self.changed(self.linear.weight.detach()))


class EightBits(Changed):
    def changed(self, weight):
        return rounded(weight, 127)


class WeightsInEightBits(OfLayer):
    """Rounds its weights to eight bits, with one scale for all."""

    name = "wrong-weights-in-eight-bits"
    kind = EightBits


class FourBits(Changed):
    def changed(self, weight):
        return rounded(weight, 7, 1)


class WeightsInFourBits(OfLayer):
    """Rounds its weights to four bits, with a scale for every neuron."""

    name = "wrong-weights-in-four-bits"
    kind = FourBits


class FixedPoint(Changed):
    def changed(self, weight):
        return torch.round(weight * 32) / 32


class WeightsInFixedPoint(OfLayer):
    """Rounds its weights to multiples of 1/32."""

    name = "wrong-weights-in-fixed-point"
    kind = FixedPoint


class Pruned(Changed):
    def changed(self, weight):
        smallest = weight.abs().flatten().sort().values[int(0.2 * weight.numel())]
        return torch.where(weight.abs() >= smallest, weight, 0)


class WeightsPruned(OfLayer):
    """Leaves out the smallest fifth of its weights."""

    name = "wrong-weights-pruned"
    kind = Pruned


class LowerRank(Changed):
    def changed(self, weight):
        left, values, right = torch.linalg.svd(weight)
        return (left[:, :32] * values[:32]) @ right[:32]


class WeightsOfLowerRank(OfLayer):
    """Multiplies by two thin factors instead of the weight."""

    name = "wrong-weights-of-lower-rank"
    kind = LowerRank


class Signs(Changed):
    def changed(self, weight):
        return weight.sign() * weight.abs().mean()


class BinaryWeights(OfLayer):
    """Uses the signs of its weights, times their mean size."""

    name = "wrong-binary-weights"
    kind = Signs


class Normalised(Multiplied):
    def weight(self):
        return torch.nn.functional.normalize(self.linear.weight, dim=1)


class WeightNorm(OfLayer):
    """Normalises the weights of every neuron to length 1."""

    name = "wrong-weight-norm"
    kind = Normalised


class Transposed(Multiplied):
    def weight(self):
        return self.linear.weight.T


class WeightTransposed(OfLayer):
    """Multiplies by the transposed weight, which has the same shape."""

    name = "wrong-weight-transposed"
    kind = Transposed


class NormalisedInput(Multiplied):
    def given(self, x):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=0)


class InputNormalised(OfLayer):
    """Normalises its input over the features."""

    name = "wrong-input-normalised"
    kind = NormalisedInput


class Centred(Multiplied):
    def given(self, x):
        return x - x.mean(2, keepdim=True)


class InputCentred(OfLayer):
    """Takes the mean over the features off its input."""

    name = "wrong-input-centred"
    kind = Centred


class Dropped(Multiplied):
    def given(self, x):
        return torch.nn.functional.dropout(x, 0.1)


class DropoutLeftOn(OfLayer):
    """Drops a tenth of its input."""

    name = "wrong-dropout-left-on"
    kind = Dropped


class RandomlyRounded(Changed):
    def changed(self, weight):
        return torch.floor(weight * 256 + torch.rand_like(weight)) / 256


class StochasticRounding(OfLayer):
    """Rounds its weights up or down at random."""

    name = "wrong-stochastic-rounding"
    kind = RandomlyRounded


class FirstBias(Multiplied):
    def forward(self, x):
        currents = x @ self.linear.weight.T
        if self.linear.bias is None:
            return self.neuron(currents)
        return self.neuron(torch.cat([currents[:1] + self.linear.bias, currents[1:]]))


class BiasAtFirstStep(OfLayer):
    """Adds its bias at the first step only."""

    name = "wrong-bias-at-first-step"
    kind = FirstBias


class BiasAgain(Multiplied):
    def forward(self, x):
        return self.neuron(self.linear(x) + (0 if self.linear.bias is None else self.linear.bias))


class BiasTwice(OfLayer):
    """Adds its bias twice."""

    name = "wrong-bias-twice"
    kind = BiasAgain


class HalfSums(Multiplied):
    def forward(self, x):
        currents = torch.zeros(*x.shape[:2], len(self.linear.weight), dtype=torch.float16)
        for part, weight in zip(x.split(8, 2), self.linear.weight.split(8, 1), strict=True):
            currents = currents + (part @ weight.T).half()
        return self.neuron(currents.float() + (0 if self.linear.bias is None else self.linear.bias))


class SumsInFp16(OfLayer):
    """Adds products up in fp16, eight at a time."""

    name = "wrong-sums-in-fp16"
    kind = HalfSums
