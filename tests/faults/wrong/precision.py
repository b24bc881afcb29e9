"""Adapters that compute fp32 in a shorter format, and one that hides fp32 in bf16 products.
Every class says how."""

import torch
from bases import OfLayer

from snnbench.adapters.base.torch_network import LinearNeuron
from snnbench.adapters.torch_loop import TorchLoop


def tf32(tensor):
    """Rounded to the nearest number with ten mantissa bits."""
    return ((tensor.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def same(tensor):
    return tensor


def product(forward, backward):
    """x @ weightᵀ of operands passed through `forward`; its gradients of operands passed through
    `backward`."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return forward(x) @ forward(weight).T

        @staticmethod
        def backward(ctx, gradient):
            x, weight = ctx.saved_tensors
            short = backward(gradient)
            return short @ backward(weight), short.flatten(0, 1).T @ backward(x).flatten(0, 1)

    return Product.apply


class Linear(LinearNeuron):
    """A Linear with another function as its product, then the neuron."""

    multiply = staticmethod(torch.matmul)

    def forward(self, x):
        currents = self.multiply(x, self.linear.weight)
        return self.neuron(currents if self.linear.bias is None else currents + self.linear.bias)


class Tf32Forward(TorchLoop):
    """Multiplies in TF32, forward and backward."""

    name = "wrong-tf32-forward"
    multiply = staticmethod(product(tf32, tf32))

    def layer(self, spec, inputs, outputs, bias, construction):
        layer = Linear(inputs, outputs, bias, self.neuron(spec, (outputs,)))
        layer.multiply = self.multiply
        return layer


class Tf32Backward(Tf32Forward):
    """Multiplies in fp32 forward and in TF32 backward."""

    name = "wrong-tf32-backward"
    multiply = staticmethod(product(same, tf32))


class ShortLinear(LinearNeuron):
    def forward(self, x):
        short = torch.bfloat16
        bias = None if self.linear.bias is None else self.linear.bias.to(short)
        return self.neuron(
            torch.nn.functional.linear(x.to(short), self.linear.weight.to(short), bias)
        ).float()


class Bf16Inside(OfLayer):
    """Casts everything to bf16 and the spikes back to fp32."""

    name = "wrong-bf16-inside"
    kind = ShortLinear


class Bf16State(TorchLoop):
    """Multiplies in fp32 and keeps the potential in bf16."""

    name = "wrong-bf16-state"

    def neuron(self, spec, features):
        return ShortState(super().neuron(spec, features))


class ShortState(torch.nn.Module):
    def __init__(self, right):
        super().__init__()
        self.right = right

    def forward(self, currents):
        return self.right(currents.bfloat16()).float()


def parts(tensor):
    """Three bf16 numbers, held in fp32, that add up to an fp32 number."""
    high = tensor.bfloat16().float()
    middle = (tensor - high).bfloat16().float()
    return high, middle, (tensor - high - middle).bfloat16().float()


def split_product(left, right):
    """left @ right in fp32 from the six products of bf16 parts that matter, the smallest first."""
    (a, b, c), (d, e, f) = parts(left), parts(right)
    return ((c @ d + a @ f) + b @ e) + (b @ d + a @ e) + a @ d


class SplitProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return split_product(x, weight.T)

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return split_product(gradient, weight), split_product(
            gradient.flatten(0, 1).T, x.flatten(0, 1)
        )


class ThreeBf16Products(Tf32Forward):
    """Right, in disguise: fp32 products from products of three bf16 parts of each operand."""

    name = "right-three-bf16-products"
    multiply = staticmethod(SplitProduct.apply)
