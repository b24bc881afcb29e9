"""Real networks of which a layer computes something else, or hands back other gradients. Every
class says what is wrong."""

from functools import partial

import torch
from bases import with_gradient
from torch.nn import functional

from snnbench.adapters.base.torch_network import Delayed, Merged, MixTime, module_of
from snnbench.adapters.torch_loop import TorchLoop

LEARNED = (
    torch.nn.Linear,
    torch.nn.Conv2d,
    MixTime,
    Delayed,
    torch.nn.modules.batchnorm._BatchNorm,
)


class Wrapped(torch.nn.Module):
    """A layer that is called by `change(layer, *values)`."""

    def __init__(self, right, change):
        super().__init__()
        self.right, self.change = right, change

    def forward(self, *values):
        return self.change(self.right, *values)


class Changed(TorchLoop):
    """The right network, with nodes of `kind`, or only that of the name `node`, computed by
    `change(layer, *values)`."""

    kind, node = "", ""

    def modules(self, case, network):
        self.made = {}
        for node in network.nodes:
            if node.name == self.node or node.kind == self.kind:
                self.made[node.name,] = Wrapped(module_of(node, network), self.change)
        return self.made

    def parameters(self, layer):
        inner = next(part for part in layer.modules() if isinstance(part, LEARNED))
        return inner.weight, inner.bias


class Kernel(Changed):
    """Convolutions by another kernel or on another image."""

    kind = "conv"

    def change(self, layer, x):
        conv = layer.layer
        return Merged(partial(self.convolved, conv))(x)

    def convolved(self, conv, x):
        return functional.conv2d(x, self.weight(conv.weight), conv.bias, conv.stride, conv.padding)

    def weight(self, weight):
        return weight


class Flipped(Kernel):
    """A convolution, not a cross-correlation."""

    name = "wrong-flipped"

    def weight(self, weight):
        return weight.flip(-1, -2)


class KernelTransposed(Kernel):
    """The kernel has rows and columns exchanged."""

    name = "wrong-kernel-transposed"

    def weight(self, weight):
        return weight.transpose(-1, -2)


class Grouped(Kernel):
    """The convolution has two groups."""

    name = "wrong-grouped"
    kind, node = "", "conv2"

    def weight(self, weight):
        half = torch.arange(2).repeat_interleave
        return (
            weight
            * (half(weight.shape[0] // 2)[:, None] == half(weight.shape[1] // 2))[..., None, None]
        )


class Dilated(Kernel):
    """The kernel is dilated by 2."""

    name = "wrong-dilated"
    kind, node = "", "conv2"

    def convolved(self, conv, x):
        return functional.conv2d(x, conv.weight, conv.bias, conv.stride, 2, dilation=2)


class PadsTheEnd(Kernel):
    """Pads as `SAME` does with a stride of 2: one pixel from the beginning to the end."""

    name = "wrong-pads-the-end"

    def convolved(self, conv, x):
        p = conv.padding[0]
        return functional.conv2d(
            functional.pad(x, (p - 1, p + 1) * 2) if p else x, conv.weight, conv.bias, conv.stride
        )


class PadsAround(Kernel):
    """Pads with what lies at the other side of the image."""

    name = "wrong-pads-around"

    def convolved(self, conv, x):
        padded = functional.pad(x, (conv.padding[0],) * 4, mode="circular")
        return functional.conv2d(padded, conv.weight, conv.bias, conv.stride)


class PadsTheEdge(Kernel):
    """Pads with the pixels at the edge."""

    name = "wrong-pads-the-edge"

    def convolved(self, conv, x):
        padded = functional.pad(x, (conv.padding[0],) * 4, mode="replicate")
        return functional.conv2d(padded, conv.weight, conv.bias, conv.stride)


class ChannelsReversed(Kernel):
    """Takes blue for red."""

    name = "wrong-channels-reversed"
    kind, node = "", "conv1"

    def convolved(self, conv, x):
        return super().convolved(conv, x.flip(1))


class ImageTurned(ChannelsReversed):
    """Has rows and columns of the image exchanged."""

    name = "wrong-image-turned"

    def convolved(self, conv, x):
        return Kernel.convolved(self, conv, x.transpose(-1, -2))


class KernelDetached(ChannelsReversed):
    """Hands out no gradient of the first kernel."""

    name = "wrong-kernel-detached"

    def convolved(self, conv, x):
        return functional.conv2d(x, conv.weight.detach(), conv.bias, conv.stride, conv.padding)


class SharedKernel(Kernel):
    """Two blocks share their kernel."""

    name = "wrong-shared-kernel"
    kind, node = "", "conv4"

    def modules(self, case, network):
        made = super().modules(case, network)
        for node in network.nodes:
            if made and node.name == "conv2":
                made["conv2",] = self.other = Wrapped(
                    module_of(node, network), lambda layer, x: layer(x)
                )
        return made

    def weight(self, weight):
        return self.other.right.layer.weight


class HalfTheBias(Changed):
    """Sums the gradient of the bias over the first half of the batch."""

    name = "wrong-half-the-bias"
    node = "conv1"

    def change(self, layer, x):
        bias = layer.layer.bias[:, None, None]
        known, other = (
            bias.expand(x.shape[1] // 2, -1, 1, 1),
            bias.detach().expand(x.shape[1] - x.shape[1] // 2, -1, 1, 1),
        )
        return layer(x) - bias + torch.cat([known, other])


class MeanOverTheBatch(Changed):
    """Takes the mean over the batch in the gradient of the first weight."""

    name = "wrong-mean-over-the-batch"
    node = "linear1"

    def change(self, layer, x):
        return functional.linear(
            x, with_gradient(lambda gradient: gradient / x.shape[1], layer.weight), layer.bias
        )


class ChannelsLast(Changed):
    """Flattens with the channels last."""

    name = "wrong-channels-last"
    kind = "flatten"

    def change(self, layer, x):
        return x.movedim(2, -1).flatten(2)


class ClassesShifted(Changed):
    """Hands out the classes in another order."""

    name = "wrong-classes-shifted"
    node = "linear3"

    def change(self, layer, x):
        return layer(x).roll(1, -1)


class OneStepFewer(Changed):
    """Divides the sum over time by T - 1."""

    name = "wrong-one-step-fewer"
    kind = "mean_time"

    def change(self, layer, x):
        return x.sum(0, keepdim=True) / (len(x) - 1)


class SumOverTime(OneStepFewer):
    """Takes the sum over time for the mean."""

    name = "wrong-sum-over-time"

    def change(self, layer, x):
        return x.sum(0, keepdim=True)


class PoolOfMeans(Changed):
    """Takes the mean over a window for the maximum."""

    name = "wrong-pool-of-means"
    kind = "max_pool"

    def change(self, layer, x):
        pool = layer.layer
        return Merged(torch.nn.AvgPool2d(pool.kernel_size, pool.stride, pool.padding))(x)


class PoolSpreads(PoolOfMeans):
    """Lets the gradient pass to all of a window, not to its maximum."""

    name = "wrong-pool-spreads"

    def change(self, layer, x):
        mean = super().change(layer, x)
        return mean + (layer(x) - mean).detach()


class StatisticsTwice(Changed):
    """Lets the running statistics follow every batch twice."""

    name = "wrong-statistics-twice"
    kind = "norm"

    def change(self, layer, x):
        layer(x.detach())
        return layer(x)


class NormByItem(Changed):
    """Normalises every batch item by itself."""

    name = "wrong-norm-by-item"
    kind = "norm"

    def change(self, layer, x):
        layer(x.detach())
        norm, affine = layer.layer, (-1, 1, 1)
        variance, mean = torch.var_mean(x, (0, 3, 4), correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + norm.eps) * norm.weight.view(
            affine
        ) + norm.bias.view(affine)
