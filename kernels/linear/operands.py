"""The matrix products of a linear layer on CPUs, with the interface that `linear_lif.matmul` describes."""

from dataclasses import dataclass

import torch
from torch import Tensor

from . import dense, launch


@dataclass
class CpuOperands:
    """The weight (N, K) itself. Spikes up to `counts` select its rows; everything else is multiplied densely."""

    weight: Tensor
    counts: int
    scale: None = None

    takes_parts = False

    @property
    def dtype(self) -> torch.dtype:
        return self.weight.dtype

    def block(self, neurons: slice) -> "CpuOperands":
        """The operands of some of the neurons."""
        return CpuOperands(self.weight[neurons], self.counts)

    def holds_spikes(self, x: Tensor) -> bool:
        """Whether x (T, B, K) holds nothing but spikes up to `counts`; False if that cannot be told."""
        return launch.takes(x, self.weight, self.counts) and launch.pack(x, launch.words_like(x, self.counts), self.counts)

    def currents(self, x: Tensor, out: Tensor) -> None:
        if not self._selects(x) or not self._forward(x, out, self.weight.contiguous(), launch.words_like(x[None], self.counts)):
            multiply(x, self.weight.t(), out)

    def _selects(self, x: Tensor) -> bool:
        return launch.takes(x[None], self.weight, self.counts)

    def _forward(self, x: Tensor, out: Tensor, weight: Tensor, words: Tensor) -> bool:
        return launch.forward(None, x[None], weight, None, out[None], None, words, self.counts)

    def add_weight(self, into: Tensor, g: Tensor, x: Tensor, first: bool) -> None:
        if self._selects(x) and into.is_contiguous():
            words = launch.words_like(x[None], self.counts)
            if launch.pack(x[None], words, self.counts):
                gradients = (into, None, None, None)
                return launch.backward(None, g[None], None, words, self.weight, *gradients, 0, self.counts, not first)
        add_product(into, g.t(), x, first)

    def add_input(self, into: Tensor, g: Tensor, first: bool) -> None:
        add_product(into, g, self.weight, first)


def multiply(left: Tensor, right: Tensor, out: Tensor) -> None:
    """out (m, n) = left (m, k) · right (k, n) in their type."""
    if left.dtype == torch.float32 and out.stride(1) == 1 and out.numel():
        dense.product(left, right, out)
    else:
        torch.mm(left, right, out=out)


def add_product(into: Tensor, left: Tensor, right: Tensor, first: bool) -> None:
    """into += left · right, or = for the first."""
    if first and into.dtype == left.dtype:
        return multiply(left, right, into)
    product = into.new_empty(into.shape, dtype=left.dtype)
    multiply(left, right, product)
    into.copy_(product) if first else into.add_(product)
