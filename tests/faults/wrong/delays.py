"""Adapters with wrong delays. Every class says what is wrong with them."""

import torch
from layers import Changed


class NotNormalised(Changed):
    """Does not divide its kernels by their sums."""

    name = "wrong-kernels-not-normalised"
    kind = "delayed"

    def change(self, layer, x):
        steps = torch.arange(layer.most)
        spread = (((steps - layer.delay[..., None]) / layer.sigma) ** 2 / -2).exp()
        return self.convolved(layer, layer.weight[..., None] * spread, x)

    def convolved(self, layer, kernel, x):
        padded = torch.nn.functional.pad(x.permute(1, 2, 0), self.padding(layer.most))
        return torch.nn.functional.conv1d(padded, kernel.flip(-1)).permute(2, 0, 1)

    def padding(self, most):
        return most - 1, 0


class OneLate(NotNormalised):
    """Hears its inputs one step late, as delays that begin at 1."""

    name = "wrong-delays-from-one"

    def change(self, layer, x):
        return layer(torch.cat([torch.zeros_like(x[:1]), x[:-1]]))


class LooksAhead(NotNormalised):
    """Pads one step less in front, so that it hears the next step."""

    name = "wrong-hears-ahead"

    def change(self, layer, x):
        return self.convolved(layer, layer.kernel(), x)

    def padding(self, most):
        return most - 2, 1


class Grown(LooksAhead):
    """Pads behind the sequence too, as DCLS's own convolution, which makes it longer."""

    name = "wrong-grown"

    def padding(self, most):
        return most - 1, (most - 1) // 2


class EarlierSigma(NotNormalised):
    """Has the width of kernels of an earlier epoch."""

    name = "wrong-sigma"

    def change(self, layer, x):
        sigma, layer.sigma = layer.sigma, 2 * layer.sigma
        value = layer(x)
        layer.sigma = sigma
        return value


class Reversed(NotNormalised):
    """Counts delays from the longest."""

    name = "wrong-delays-reversed"

    def change(self, layer, x):
        return self.convolved(layer, layer.kernel().flip(-1), x)


class DelayDetached(NotNormalised):
    """Hands out no gradient of its delays."""

    name = "wrong-delay-detached"

    def change(self, layer, x):
        return layer(x)

    def modules(self, case, network):
        made = super().modules(case, network)
        for module in made.values():
            module.right.delay.register_hook(lambda gradient: 0 * gradient)
        return made
