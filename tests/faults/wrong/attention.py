"""Adapters with something wrong in the attention of spikes. Every class says what is wrong with
it."""

from dataclasses import replace

import torch
from bases import with_gradient
from layers import Changed

from snnbench.adapters.torch_loop import TorchLoop


class NoScale(Changed):
    """Leaves out the factor on the products."""

    name = "wrong-no-scale"
    node = "product2"

    def change(self, layer, x, y):
        return layer(x, y) / layer.function.keywords["scale"]


class ScaleTwice(NoScale):
    """Multiplies by the factor on the products twice."""

    name = "wrong-scale-twice"

    def change(self, layer, x, y):
        return layer(x, y) * layer.function.keywords["scale"]


class Rounded(NoScale):
    """Hands out products that are less by a part in a million."""

    name = "wrong-rounded"

    def change(self, layer, x, y):
        return layer(x, y) * (1 - 2**-20)


class NotTransposed(NoScale):
    """Multiplies values by the scores of their own token, not of the others."""

    name = "wrong-not-transposed"

    def change(self, layer, x, y):
        return layer(x, y.mT)


class Softmax(Changed):
    """Takes a softmax of the scores, as in attention of numbers."""

    name = "wrong-softmax"
    node = "product1"

    def change(self, layer, x, y):
        return layer(x, y).softmax(-1)


class KeyDetached(Softmax):
    """Lets no gradient pass to the keys."""

    name = "wrong-key-detached"

    def change(self, layer, x, y):
        return layer(x, y.detach())


class ScaleOnlyForward(NoScale):
    """Does not multiply the gradient by the factor on the products."""

    name = "wrong-scale-only-forward"

    def change(self, layer, x, y):
        scale = layer.function.keywords["scale"]
        return with_gradient(lambda gradient: gradient / scale, layer(x, y))


class HeadsInterleaved(Changed):
    """Takes every second feature for the first head, not the first half of them."""

    name = "wrong-heads-interleaved"
    kind = "reshape"

    def change(self, layer, x):
        value = layer(x)
        if value.shape[2:] == x.shape[2:] or x.shape[-1] == value.shape[-1]:
            return value
        heads, features, tokens = value.shape[2:]
        return x.reshape(*x.shape[:2], features, heads, tokens).transpose(2, 3)


class TokensForFeatures(Changed):
    """Reads a row of features and tokens as one of tokens and features."""

    name = "wrong-tokens-for-features"
    node = "reshape1"

    def change(self, layer, x):
        heads, features, tokens = layer(x).shape[2:]
        return x.reshape(*x.shape[:2], heads, tokens, features).mT


class Added(Changed):
    """Adds where it should multiply."""

    name = "wrong-added"
    kind = "multiply"

    def change(self, layer, x, y):
        return x + y


class RepeatedNotSummed(Added):
    """Gives a repeated factor the gradient of its first use."""

    name = "wrong-repeated-not-summed"

    def change(self, layer, x, y):
        if x.shape == y.shape:
            return layer(x, y)
        return layer(x, with_gradient(self.first, y.expand_as(x)))

    def first(self, gradient):
        kept = torch.zeros_like(gradient)
        kept[..., :1] = gradient[..., :1]
        return kept


class MeanOfTokens(Changed):
    """Takes the mean over tokens, not the sum."""

    name = "wrong-mean-of-tokens"
    kind = "sum"

    def change(self, layer, x):
        return layer(x) / x.shape[-1]


class GradientOfMean(MeanOfTokens):
    """Divides the gradient of a sum by the number of tokens."""

    name = "wrong-gradient-of-mean"

    def change(self, layer, x):
        return layer(with_gradient(lambda gradient: gradient / x.shape[-1], x))


class GroupsShuffled(Changed):
    """Gives every group of a convolution channels from all over its input."""

    name = "wrong-groups-shuffled"
    kind = "conv"

    def change(self, layer, x):
        groups = layer.layer.groups
        return layer(x.unflatten(2, (-1, groups)).transpose(2, 3).flatten(2, 3))


class FiresAbove(TorchLoop):
    """Fires above a threshold, not at it."""

    name = "wrong-fires-above"

    def neuron(self, spec, features):
        above = float(torch.nextafter(torch.tensor(spec.threshold), torch.tensor(torch.inf)))
        return super().neuron(replace(spec, threshold=above), features)
