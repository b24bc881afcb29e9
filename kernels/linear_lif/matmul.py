"""Matrix products of a linear layer.

`PlainOperands` multiply in one type, `linear.CpuOperands` skip the zeros of spikes, and
`ShortOperands` are the short numbers of a tier. All have `dtype`, the type of their inputs x (rows,
K); `scale`, None or (N,), the neuron's factor of the currents; and

    currents(x, out)                  out = x·Wᵀ / scale
    add_weight(into, g, x, first)     into (N, K) += Gᵀ·x, or = if first; a Split if `takes_parts`
    add_input(into, g, first)         into (rows, K) += G·W, or = if first
    holds_spikes(x)                   True if x (T, B, K), declared as spikes, can be stored as such

g (rows, N) is the gradient by the result of `currents`: scale times the gradient by the true
currents.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..linear.operands import CpuOperands, WholeWeight
from .split_cache import prepared
from .split_formats import TIERS, Split, bf16_triple
from .split_products import PROMOTED, product, scaled_product, unscaled


def operands_of(
    weight: Tensor, operands: str, counts: int, backend: str = "reference"
) -> "Operands":
    """Returns the operands of a weight (N, K); `operands` and `counts` are those of
    `LinearOptions`."""
    if operands == "plain" and backend == "cpp":
        return CpuOperands(weight, counts)
    if operands == "plain":
        return PlainOperands(weight)
    exact = 0 < counts <= TIERS[operands].largest_count
    if TIERS[operands].is_float32 and not exact:
        return PlainOperands(weight)
    split = prepared(weight, operands)
    # In bfloat16 the library computes the currents and both gradients.
    return (
        PlainOperands(split.parts[0])
        if operands == "bf16"
        else ShortOperands(weight, operands, split, exact)
    )


def currents_dtype(operands: str, weight: Tensor) -> torch.dtype:
    """Returns the type of the currents for such operands."""
    return {"plain": weight.dtype, "bf16": torch.bfloat16}.get(operands, torch.float32)


class PlainOperands(WholeWeight):
    """Operands that the library multiplies in the weight's type."""

    def holds_spikes(self, x: Tensor) -> bool:
        return True  # the declaration is trusted

    def currents(self, x: Tensor, out: Tensor) -> None:
        torch.mm(x, self.weight.t(), out=out)

    def add_weight(self, into: Tensor, g: Tensor | Split, x: Tensor, first: bool) -> None:
        assert isinstance(g, Tensor)
        _add_product(into, g.t(), x, first)

    def add_input(self, into: Tensor, g: Tensor, first: bool) -> None:
        _add_product(into, g, self.weight, first)


def _add_product(into: Tensor, left: Tensor, right: Tensor, first: bool) -> None:
    if into.dtype == left.dtype:
        torch.addmm(into, left, right, beta=0 if first else 1, out=into)
    else:
        into.copy_(left @ right) if first else into.add_(left @ right)


@dataclass
class ShortOperands:
    """A weight split into the short numbers of a tier."""

    weight: Tensor
    tier: str
    split: Split
    """The split of the weight (N, K)."""
    exact: bool
    """True if inputs are exact in the tier's format, as spikes are; otherwise they are split
    too."""

    @property
    def dtype(self) -> torch.dtype:
        return TIERS[self.tier].dtype if self.exact else torch.float32

    @property
    def takes_parts(self) -> bool:
        """True if the neuron can write the gradient split; fp16 needs a row's maximum first."""
        return TIERS[self.tier].split is bf16_triple

    @property
    def scale(self) -> Tensor | None:
        return None if self.split.scale is None else 1 / self.split.scale

    def block(self, neurons: slice) -> "ShortOperands":
        parts = tuple(part[neurons] for part in self.split.parts)
        scale = None if self.split.scale is None else self.split.scale[neurons]
        return ShortOperands(
            self.weight[neurons], self.tier, Split(parts, self.split.factors, scale), self.exact
        )

    def _input(self, x: Tensor) -> Split:
        return Split((x,)) if self.exact else TIERS[self.tier].split(x)

    def holds_spikes(self, x: Tensor) -> bool:
        return True  # the declaration is trusted

    def currents(self, x: Tensor, out: Tensor) -> None:
        left = self._input(x)
        unscaled(scaled_product(left, self.split, PROMOTED, out=out), left.scale)

    def add_weight(self, into: Tensor, g: Tensor | Split, x: Tensor, first: bool) -> None:
        left = g.transposed if isinstance(g, Split) else TIERS[self.tier].split(g.t())
        total = product(left, self._input(x.t()), PROMOTED, out=into if first else None)
        if self.split.scale is not None:
            total *= self.split.scale[:, None]
        if not first:
            into += total

    def add_input(self, into: Tensor, g: Tensor, first: bool) -> None:
        if TIERS[self.tier].is_float32:
            _add_product(
                into, g if self.split.scale is None else g * self.split.scale, self.weight, first
            )
            return
        total = product(
            TIERS[self.tier].split(g), self.split.transposed, out=into if first else None
        )
        if not first:
            into += total


Operands = PlainOperands | CpuOperands | ShortOperands
