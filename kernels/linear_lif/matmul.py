"""How the products of a linear layer are multiplied: `Plain`, by the library in one type, or `Short`, on a tier's operands.

Both have `dtype`, in which inputs come (rows, K); `scale`, by which the neuron multiplies the currents, None or (N,); and

    currents(x, out)                  out = x·Wᵀ / scale
    add_weight(into, g, x, first)     into (N, K) += Gᵀ·x, or = if it is the first; g may be split already if `takes_parts`
    add_input(into, g, first)         into (rows, K) += G·W

where g, the gradient by the currents that `currents` wrote, is what the neuron hands out: scale times that by the true ones.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from .split_cache import prepared
from .split_formats import TIERS, Split, bf16_triple
from .split_products import PROMOTED, product, scaled_product, unscaled


def operands_of(weight: Tensor, told: str, counts: int):
    """For `told` "plain" or the name of a tier; `counts`: most spikes of an input, 0 for a dense one."""
    if told == "plain":
        return Plain(weight)
    exact = 0 < counts <= TIERS[told].largest_count
    if TIERS[told].is_float32 and not exact:
        return Plain(weight)
    split = prepared(weight, told)
    # Currents in bfloat16 are the library's own product; and so are both gradients.
    return Plain(split.parts[0]) if told == "bf16" else Short(weight, told, split, exact)


def currents_dtype(told: str, weight: Tensor) -> torch.dtype:
    """In what type `operands_of` of such operands hands out currents."""
    return {"plain": weight.dtype, "bf16": torch.bfloat16}.get(told, torch.float32)


@dataclass
class Plain:
    weight: Tensor
    scale: None = None

    takes_parts = False

    @property
    def dtype(self) -> torch.dtype:
        return self.weight.dtype

    @property
    def currents_dtype(self) -> torch.dtype:
        return self.weight.dtype

    def block(self, neurons: slice) -> "Plain":
        """The same for some of the neurons."""
        return Plain(self.weight[neurons])

    def currents(self, x: Tensor, out: Tensor) -> None:
        torch.mm(x, self.weight.t(), out=out)

    def add_weight(self, into: Tensor, g: Tensor, x: Tensor, first: bool) -> None:
        _add_product(into, g.t(), x, first)

    def add_input(self, into: Tensor, g: Tensor, first: bool) -> None:
        _add_product(into, g, self.weight, first)


def _add_product(into: Tensor, left: Tensor, right: Tensor, first: bool) -> None:
    if into.dtype == left.dtype:
        torch.addmm(into, left, right, beta=0 if first else 1, out=into)
    else:
        _add(into, left @ right, first)


def _add(into: Tensor, found: Tensor, first: bool) -> None:
    into.copy_(found) if first else into.add_(found)


@dataclass
class Short:
    weight: Tensor
    tier: str
    split: Split
    """Of the weight (N, K)."""
    exact: bool
    """Inputs are spikes, exact in the tier's format; else they are split too."""

    currents_dtype = torch.float32

    @property
    def dtype(self) -> torch.dtype:
        return TIERS[self.tier].dtype if self.exact else torch.float32

    @property
    def takes_parts(self) -> bool:
        """Whether the neuron can write its gradient as `add_weight` multiplies it: fp16 needs a row's largest first."""
        return TIERS[self.tier].split is bf16_triple

    @property
    def scale(self) -> Tensor | None:
        return None if self.split.scale is None else 1 / self.split.scale

    def block(self, neurons: slice) -> "Short":
        parts = tuple(part[neurons] for part in self.split.parts)
        scale = None if self.split.scale is None else self.split.scale[neurons]
        return Short(self.weight[neurons], self.tier, Split(parts, self.split.factors, scale), self.exact)

    def _input(self, x: Tensor) -> Split:
        return Split((x,)) if self.exact else TIERS[self.tier].split(x)

    def currents(self, x: Tensor, out: Tensor) -> None:
        left = self._input(x)
        out.copy_(unscaled(scaled_product(left, self.split, PROMOTED), left.scale))

    def add_weight(self, into: Tensor, g: Tensor | Split, x: Tensor, first: bool) -> None:
        left = g.transposed if isinstance(g, Split) else TIERS[self.tier].split(g.t())
        _add(into, self._true(product(left, self._input(x.t()), PROMOTED), rows=True), first)

    def add_input(self, into: Tensor, g: Tensor, first: bool) -> None:
        if TIERS[self.tier].is_float32:
            _add_product(into, self._true(g), self.weight, first)
        else:
            _add(into, product(TIERS[self.tier].split(g), self.split.transposed), first)

    def _true(self, g: Tensor, rows: bool = False) -> Tensor:
        """What was multiplied by the scale of the neurons, in rows or columns, without it."""
        scale = self.split.scale
        return g if scale is None else g * (scale[:, None] if rows else scale)
