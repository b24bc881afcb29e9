"""Float32 matrices as sums of short floating-point numbers, the operands of tensor cores.

A spike is exact in every short format, so a product of spikes and weights is as exact as the weights' operands. With p
bits of significand (the hidden one counted) round to nearest leaves a relative error of at most u = 2^-p: fp16 has 11,
bfloat16 8, float32 24. The rest of a rounding is a float32 itself (Dekker 1971), so parts can be taken off one by one:

    bf16_triple   w = w0 + w1 + w2                       exact down to 2^-110, 8 + 8 + 8 bits
    fp16_pair     k·w ≈ hi + 2^-11·lo                    |error| ≤ 2^-23·|w| + 2^-49·max|row|
    fp16_single   k·w ≈ hi                               |error| ≤ 2^-11·|w| + 2^-38·max|row|
    bf16_single   w ≈ w0                                 |error| ≤ 2^-8·|w|

fp16 has 5 bits of exponent, so every row has a power of two k of its own with 2^13 ≤ k·max|row| < 2^14: K products of
spikes then stay far from overflow and 2^27 of the range lies below the row's largest. What is smaller is a subnormal of
fp16, which the terms with max|row| pay for. The pair: of k·w in [2^q, 2^(q+1)) hi leaves at most 2^(q-11) in steps of
2^(q-23); 2^11 times that is at most 2^q, where fp16 has steps of 2^(q-11), and rounding to them is wrong by one step at most.

Zeros are exact, rows of zeros have k = 1. k is at most 2^64: rows whose largest is below 2^-50 have instead of the terms
with max|row| an error of 2^-100 (pair) or 2^-89 (single), and the sum of bf16_triple ends at 2^-134. Infinities and NaN
stay in the first part, its other parts are zero there and k is that of the row's finite numbers: products give infinities
and NaN where float32 gives them. Largest finite numbers that bfloat16 rounds to infinity are cut off to its own largest.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

LARGEST_BF16 = torch.finfo(torch.bfloat16).max
LOW = 2.0**-11
"""What the second part of a pair of fp16 is worth."""


@dataclass(frozen=True)
class Split:
    """A matrix (rows, inner) as Σ factors[i]·parts[i], every row divided by its number in `scale` (rows,); None: ones."""

    parts: tuple[Tensor, ...]
    factors: tuple[float, ...] = (1.0,)
    scale: Tensor | None = None

    @property
    def transposed(self) -> "Split":
        """The matrix whose columns the rows of this are; the scale, which belongs to rows, is left to who asks."""
        return Split(tuple(part.t() for part in self.parts), self.factors)


def bf16_triple(matrix: Tensor) -> Split:
    parts, rest = [], matrix.float()
    for _ in range(3):
        parts.append(rest.bfloat16() if parts else _to_bf16(rest))
        # What is not finite stays where it is: ∞ − ∞ would make NaN of it.
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
    """k (rows,): the power of two with 2^13 ≤ k·max|row| < 2^14 over what is finite, at most 2^64; 1 for rows of zeros."""
    if not matrix.shape[1]:
        return matrix.new_ones(len(matrix), dtype=torch.float32)
    largest = matrix.float().abs().nan_to_num(nan=0.0, posinf=0.0).amax(1)
    exponent = torch.frexp(largest).exponent  # largest = m·2^exponent, 1/2 ≤ m < 1
    return torch.ldexp(torch.ones_like(largest), (14 - exponent).clamp(max=64)).where(largest > 0, 1)


def joined(split: Split) -> Tensor:
    """The float64 matrix that a split stands for."""
    total = sum(factor * part.double() for factor, part in zip(split.factors, split.parts, strict=True))
    return total if split.scale is None else total / split.scale.double()[:, None]


@dataclass(frozen=True)
class Format:
    """How a float32 matrix becomes operands, and how far they may be from it: `error_bound`."""

    split: Callable[[Tensor], Split]
    dtype: torch.dtype
    relative: float
    """Largest |error| / |w|, subnormals apart."""
    of_largest: float
    """What comes on top for subnormals, as a share of the row's largest."""
    least: float
    """And as a number: what nothing is wrong by less than in rows that are too small for a scale."""

    @property
    def is_float32(self) -> bool:
        """Whether it claims to be as good as float32."""
        return self.relative <= 2.0**-23

    @property
    def largest_count(self) -> int:
        """Up to here all counts of spikes are exact: 2^p."""
        return 2048 if self.dtype == torch.float16 else 256

    def error_bound(self, matrix: Tensor) -> Tensor:
        """Float64, of the shape of `matrix`: by how much `joined(split(matrix))` may differ. For finite matrices."""
        size = matrix.double().abs()
        largest = size.amax(1, keepdim=True) if matrix.shape[1] else size
        return self.relative * size + self.of_largest * largest + self.least


FORMATS = {
    "fp16-pair": Format(fp16_pair, torch.float16, 2.0**-23, 2.0**-49, 2.0**-100),
    "fp16-single": Format(fp16_single, torch.float16, 2.0**-11, 2.0**-38, 2.0**-89),
    "bf16-triple": Format(bf16_triple, torch.bfloat16, 0.0, 0.0, 2.0**-134),
    "bf16-single": Format(bf16_single, torch.bfloat16, 2.0**-8, 0.0, 2.0**-134),
}

TIERS = {
    "fp32": FORMATS["bf16-triple"],
    "fp32-pair": FORMATS["fp16-pair"],
    "tf32": FORMATS["fp16-single"],
    "bf16": FORMATS["bf16-single"],
}
"""The operands of a tier. `fp32` has exact operands. `fp32-pair` has two products for its three, but where weights cancel to
1e-4 of themselves the last bit that it lacks is an error of 1e-3, as it would be of float32 weights rounded once more."""
