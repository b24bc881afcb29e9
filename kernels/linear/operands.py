"""Matrix products of a linear layer on CPUs, with the interface of `linear_lif.matmul`."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import torch
from torch import Tensor

from . import dense, launch, record


@dataclass
class WholeWeight:
    """Operands that are the weight (N, K) itself."""

    weight: Tensor

    scale, takes_parts = None, False

    @property
    def dtype(self) -> torch.dtype:
        return self.weight.dtype

    def block(self, neurons: slice) -> Self:
        """Returns the operands of some of the neurons."""
        return replace(self, weight=self.weight[neurons])


@dataclass
class CpuOperands(WholeWeight):
    """Spikes up to `counts` select the weight's rows; everything else is multiplied densely."""

    counts: int

    def holds_spikes(self, x: Tensor) -> bool:
        """Returns True if x (T, B, K) certainly holds nothing but spikes up to `counts`."""
        return self.words(x) is not None

    def words(self, x: Tensor) -> Tensor | None:
        """Returns words of x (T, B, K); None if it holds anything but spikes."""
        if not launch.takes(x, self.weight, self.counts):
            return None
        words, types = self._empty_words(x), (x.dtype, *[torch.float32] * 3)
        run = launch.Pass("linear_pack", None, x, self.weight.shape[0], self.counts, *types)
        return words if run(x, None, None, None, None, words, None) >= 0 else None

    def _empty_words(self, x: Tensor) -> Tensor:
        return x.new_empty(launch.words_of(x.shape, self.counts), dtype=torch.int64)

    def currents(self, x: Tensor, out: Tensor) -> None:
        if not launch.takes(x[None], self.weight, self.counts):
            return multiply(x, self.weight.t(), out)
        words = self._empty_words(x[None])
        if self._select(x[None], words, out, filled=False) < 0:
            multiply(x, self.weight.t(), out)

    def currents_of_words(self, words: Tensor, out: Tensor) -> None:
        """Writes `currents` of the input (rows, K) that has these words."""
        x = _unread(out.dtype, out.shape[0], self.weight.shape[1])
        self._select(x, words, out, filled=True)

    def _select(self, x: Tensor, words: Tensor, out: Tensor, filled: bool) -> int:
        """Writes `out` and returns the number of ones; -1 without writing it if x holds anything
        but spikes."""
        types = (x.dtype, self.dtype, out.dtype, torch.float32)
        run = launch.Pass(
            "linear_forward", None, x, self.weight.shape[0], self.counts, *types, filled=filled
        )
        ones = run(x, self.weight.contiguous(), None, out, None, words, None)
        record.of(x.shape, self.weight.shape[0], self.counts).ones = ones
        return ones

    def add_weight(self, into: Tensor, g: Tensor, x: Tensor, first: bool) -> None:
        words = self.words(x[None]) if into.is_contiguous() else None
        if words is None:
            return add_product(into, g.t(), x, first)
        self.add_weight_of_words(into, g, words, first)

    def add_weight_of_words(self, into: Tensor, g: Tensor, words: Tensor, first: bool) -> None:
        """Does `add_weight`, `into` contiguous, for the input that has these words."""
        types = (torch.float32, torch.float32, g.dtype, into.dtype)
        run = launch.Pass(
            "linear_backward", None, g[None], into.shape[1], self.counts, *types, filled=not first
        )
        run(g, None, words, None, into, None, None, None, dense=0)

    def add_input(self, into: Tensor, g: Tensor, first: bool) -> None:
        add_product(into, g, self.weight, first)


@lru_cache(maxsize=64)
def _unread(dtype: torch.dtype, rows: int, inputs: int) -> Tensor:
    """Returns a tensor (1, rows, inputs) that only describes the input of a call with words."""
    return torch.empty((), dtype=dtype, device="cpu").expand(1, rows, inputs)


def multiply(left: Tensor, right: Tensor, out: Tensor) -> None:
    """Writes out (m, n) = left (m, k) · right (k, n) in their type."""
    if left.dtype == torch.float32 and out.stride(1) == 1 and out.numel():
        dense.product(left, right, out)
    else:
        torch.mm(left, right, out=out)


def add_product(into: Tensor, left: Tensor, right: Tensor, first: bool) -> None:
    """Adds left · right to `into`, or writes it if `first`."""
    if first and into.dtype == left.dtype:
        return multiply(left, right, into)
    product = into.new_empty(into.shape, dtype=left.dtype)
    multiply(left, right, product)
    into.copy_(product) if first else into.add_(product)
