"""Float32 matrices as sums of short floating-point numbers, the operands of tensor cores.

A spike is exact in every short format, so a product of spikes and weights is as exact as the
weights' operands. Rounding to p bits of significand (with the hidden bit) has a relative error of
at most u = 2^-p: p is 11 for fp16, 8 for bfloat16 and 24 for float32. The rounding error is a
float32 itself (Dekker 1971), so it can be rounded again, part by part:

    bf16_triple   w = w0 + w1 + w2                       exact down to 2^-110, 8 + 8 + 8 bits
    fp16_pair     k·w ≈ hi + 2^-11·lo                    |error| ≤ 2^-23·|w| + 2^-49·max|row|
    fp16_single   k·w ≈ hi                               |error| ≤ 2^-11·|w| + 2^-38·max|row|
    bf16_single   w ≈ w0                                 |error| ≤ 2^-8·|w|

fp16 has 5 bits of exponent, so each row is scaled by a power of two k with 2^13 ≤ k·max|row| <
2^14. K products of spikes are then far from overflow, and a factor of 2^27 lies between the row's
maximum and the smallest normal number. Smaller numbers are subnormals of fp16; the terms with
max|row| are their error. For the pair: if k·w is in [2^q, 2^(q+1)), hi leaves a rest of at most
2^(q-11) in steps of 2^(q-23). 2^11 times the rest is at most 2^q, where fp16 has steps of 2^(q-11),
so lo is wrong by at most one step.

Zeros are exact, and rows of zeros have k = 1. k is at most 2^64: in rows with a maximum below 2^-50
an error of 2^-100 (pair) or 2^-89 (single) replaces the terms with max|row|. The sum of bf16_triple
ends at 2^-134. Infinities and NaN stay in the first part, the other parts are zero there, and k
follows from the row's finite numbers: products are infinite or NaN where they are in float32.
Finite numbers that bfloat16 would round to infinity become its largest number.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

LARGEST_BF16 = torch.finfo(torch.bfloat16).max
LOW = 2.0**-11
"""Factor of the second part of a pair of fp16."""


@dataclass(frozen=True)
class Split:
    """A matrix (rows, inner) as Σ factors[i]·parts[i], each row divided by `scale` (rows,); None:
    ones."""

    parts: tuple[Tensor, ...]
    factors: tuple[float, ...] = (1.0,)
    scale: Tensor | None = None

    @property
    def transposed(self) -> "Split":
        """The transposed matrix without the scale of rows, which the caller must apply."""
        return Split(tuple(part.t() for part in self.parts), self.factors)


def bf16_triple(matrix: Tensor) -> Split:
    parts: list[Tensor] = []
    rest = matrix.float()
    for _ in range(3):
        parts.append(rest.bfloat16() if parts else _to_bf16(rest))
        # Infinities must stay in the first part: ∞ − ∞ would be NaN.
        rest = (rest - parts[-1].float()).where(matrix.isfinite(), 0)
    return Split(tuple(parts), (1.0, 1.0, 1.0))


def bf16_single(matrix: Tensor) -> Split:
    return Split((_to_bf16(matrix),))


def _to_bf16(matrix: Tensor) -> Tensor:
    limited = matrix.float().clamp(-LARGEST_BF16, LARGEST_BF16)
    return limited.where(matrix.isfinite(), matrix).bfloat16()


def fp16_pair(matrix: Tensor) -> Split:
    scale = row_scale(matrix)
    scaled = matrix.float() * scale[:, None]
    high = scaled.half()
    low = ((scaled - high.float()) / LOW).where(scaled.isfinite(), 0).half()
    return Split((high, low), (1.0, LOW), scale)


def fp16_single(matrix: Tensor) -> Split:
    scale = row_scale(matrix)
    return Split(((matrix.float() * scale[:, None]).half(),), (1.0,), scale)


def row_scale(matrix: Tensor) -> Tensor:
    """Returns k (rows,), the powers of two of the module's docstring."""
    if not matrix.shape[1]:
        return matrix.new_ones(len(matrix), dtype=torch.float32)
    largest = matrix.float().abs().nan_to_num(nan=0.0, posinf=0.0).amax(1)
    exponent = torch.frexp(largest).exponent  # largest = m·2^exponent, 1/2 ≤ m < 1
    return torch.ldexp(torch.ones_like(largest), (14 - exponent).clamp(max=64)).where(
        largest > 0, 1
    )


@dataclass(frozen=True)
class SplitFormat:
    """A way to split a float32 matrix into short operands."""

    split: Callable[[Tensor], Split]
    dtype: torch.dtype
    relative: float
    """Largest |error| / |w| without subnormals."""

    @property
    def is_float32(self) -> bool:
        """True if it is as accurate as float32."""
        return self.relative <= 2.0**-23

    @property
    def largest_count(self) -> int:
        """2^p: the format holds all counts of spikes up to it exactly."""
        return 2048 if self.dtype == torch.float16 else 256


TIERS = {
    "fp32": SplitFormat(bf16_triple, torch.bfloat16, 0.0),
    "fp32-pair": SplitFormat(fp16_pair, torch.float16, 2.0**-23),
    "tf32": SplitFormat(fp16_single, torch.float16, 2.0**-11),
    "bf16": SplitFormat(bf16_single, torch.bfloat16, 2.0**-8),
}
"""The format of each tier.

`fp32` has exact operands. `fp32-pair` needs two products instead of three but lacks the last bit:
if sums of weights cancel to 1e-4 of their terms, the relative error is 1e-3.
"""
