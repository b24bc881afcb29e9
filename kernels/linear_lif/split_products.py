"""Products of a linear layer from short operands, summed in float32: each is `product` of two splits.

    currents   X  = S·Wᵀ     spikes: as many products as W has parts; in the tf32 tier a dense input is split too
    by weight  dW = Gᵀ·S     likewise, of the parts of Gᵀ
    by input   dX = G·W      dense × dense, in the tf32 tier

What is as good as float32 and dense × dense is the library's own float32 product (see `operands`): of split operands it takes
three, the least of which, low × low, is left out, and partial sums of no more than 128 terms, or what a tensor core truncates
shows. Sums of spikes' products stay in an accumulator for PROMOTED terms.

Error of an element, for the sum m = Σ|l·r| of the magnitudes of its n terms, with ρ = `relative_bound`:

    |error| ≤ (ρ + additions·2^-23)·m + what subnormals of the operands cost (`Format.error_bound`)

2^-23 is what truncating to float32 costs (Fasi et al. 2021 found tensor cores to truncate), once for every 16 terms of
every product and once a product and slice; sequential float32 has n·2^-24 there.
"""

import math

import torch
from torch import Tensor

from .split_formats import TIERS, Split

PROMOTED = 4096
"""Terms after which a partial sum of spikes' products leaves the tensor core and is added in float32."""

BLOCK = 16
"""Terms that a tensor core adds at once, in fp16 and bfloat16."""


def multiply(left: Tensor, right: Tensor, into: Tensor | None = None, keep: float = 1.0) -> Tensor:
    """left @ right + keep·into in float32, from short operands. On CPUs the operands are widened, their values are the same.

    CUDA needs torch 2.8 for it, and no GPU has run it yet.
    """
    if left.device.type == "cuda":
        if into is None:
            return torch.mm(left, right, out_dtype=torch.float32)
        return torch.addmm(into, left, right, beta=keep, out_dtype=torch.float32)
    found = left.float() @ right.float()
    return found if into is None else found + keep * into


def product(left: Split, right: Split, promoted: int | None = None, multiply=multiply) -> Tensor:
    """left @ rightᵀ, float32 (rows of left, rows of right); scales are undone. See `scaled_product`."""
    return unscaled(scaled_product(left, right, promoted, multiply), left.scale, right.scale)


def scaled_product(left: Split, right: Split, promoted: int | None = None, multiply=multiply) -> Tensor:
    """`product` with the scales of both still in it: who reads it can undo them on the way.

    Sums of `promoted` terms (None: all) stay in an accumulator. `multiply` is what stands for the hardware: (left, right,
    into, keep) as the function of that name. Smaller parts' products come first.
    """
    total, terms = None, left.parts[0].shape[1]
    step = min(promoted or terms, terms) or 1
    pairs = _pairs(left, right)
    for index, (factor, i, j) in enumerate(pairs):
        keep = pairs[index - 1][0] / factor if index else 1.0
        for first in range(0, terms, step):
            piece = slice(first, first + step)
            total = multiply(left.parts[i][:, piece], right.parts[j][:, piece].t(), total, keep if not first else 1.0)
    return left.parts[0].new_zeros(len(left.parts[0]), len(right.parts[0]), dtype=torch.float32) if total is None else total


def _pairs(left: Split, right: Split) -> list[tuple[float, int, int]]:
    """(factor, part of left, part of right) of every product that is taken, the least first."""
    most = max(len(left.parts), len(right.parts))
    pairs = [(a * b, i, j) for i, a in enumerate(left.factors) for j, b in enumerate(right.factors) if i + j < most]
    return sorted(pairs, key=lambda pair: (pair[0], -pair[1] - pair[2]))


def unscaled(total: Tensor, rows: Tensor | None, columns: Tensor | None = None) -> Tensor:
    """`total`, written over, with each row and column divided by its scale, a power of two: exact."""
    if rows is not None:
        total /= rows[:, None]
    if columns is not None:
        total /= columns
    return total


def relative_bound(tier: str, left_split: bool, right_split: bool) -> float:
    """ρ of the module's docstring; spikes are not split. Two rounded operands, and low × low, which is left out."""
    unit = TIERS[tier].relative
    dropped = 2.0**-22 if unit < 2.0**-22 else unit**2
    return (left_split + right_split) * unit + (left_split and right_split) * dropped


def additions(terms: int, products: int, promoted: int | None = None) -> int:
    """How often a sum of so many terms is rounded in a tensor core or behind it."""
    slices = math.ceil(terms / (promoted or max(terms, 1)))
    return products * (math.ceil(terms / BLOCK) + slices)
