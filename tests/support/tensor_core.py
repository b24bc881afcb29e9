"""A pessimistic model of a tensor core with its error bound, sequential float32, and matrices
that are hard for both."""

import math

import torch

from snnbench.kernels.linear_lif.split_formats import TIERS, Split

BLOCK = 16
"""Terms that a tensor core adds at once, in fp16 and bfloat16."""


def multiply(left, right, out, keep):
    """out = left @ right + keep·out: exact sums of 16 terms, added to an accumulator that
    truncates to float32."""
    total = torch.zeros(len(left), right.shape[1])
    for first in range(0, left.shape[1], BLOCK):
        terms = left[:, first : first + BLOCK].double() @ right[first : first + BLOCK].double()
        total = truncated(total.double() + terms)
    out.copy_(total + keep * out if keep else total)


def truncated(exact: torch.Tensor) -> torch.Tensor:
    """To float32, towards zero."""
    nearest = exact.float()
    return torch.where(
        nearest.double().abs() > exact.abs(), torch.nextafter(nearest, torch.zeros(())), nearest
    )


def sequential(left, right):
    """left @ right in float32, one term after the other: what a plain loop of multiply-adds
    gives."""
    left, right = left.float(), right.float()
    total = torch.zeros(len(left), right.shape[1])
    for k in range(left.shape[1]):
        total += left[:, k : k + 1] * right[k]
    return total


def joined(split: Split) -> torch.Tensor:
    """The float64 matrix that a split represents."""
    total = sum(
        factor * part.double() for factor, part in zip(split.factors, split.parts, strict=True)
    )
    return total if split.scale is None else total / split.scale.double()[:, None]


def subnormal_bound(tier: str, matrix: torch.Tensor) -> torch.Tensor:
    """The largest error of each row (rows, 1) by subnormal operands, as `split_formats` says: a
    share of the row's maximum, and what is lost in rows that are too small for a scale."""
    of_largest, least = SUBNORMAL[tier]
    largest = matrix.double().abs().amax(1, keepdim=True) if matrix.shape[1] else 0.0
    return of_largest * largest + least


SUBNORMAL = {
    "fp32": (0.0, 2.0**-134),
    "fp32-pair": (2.0**-49, 2.0**-100),
    "tf32": (2.0**-38, 2.0**-89),
    "bf16": (0.0, 2.0**-134),
}


def relative_bound(tier: str, left_split: bool, right_split: bool) -> float:
    """ρ of `split_products`: the relative errors of the operands that are split, and of low ×
    low, which is left out."""
    unit = TIERS[tier].relative
    dropped = 2.0**-22 if unit < 2.0**-22 else unit**2
    return (left_split + right_split) * unit + (left_split and right_split) * dropped


def additions(terms: int, products: int, promoted: int | None = None) -> int:
    """The number of roundings of a sum of so many terms, in a tensor core or after it."""
    slices = math.ceil(terms / (promoted or max(terms, 1)))
    return products * (math.ceil(terms / BLOCK) + slices)


KINDS = ("normal", "heavy", "tiny", "huge", "cancelling")


def matrix(kind: str, rows: int, inner: int, seed: int = 0) -> torch.Tensor:
    """Float32 (rows, inner). `heavy`: log-normal magnitudes; `cancelling`: sums of pairs are
    1e-4 of their terms."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(rows, inner, generator=generator)
    if kind == "heavy":
        return z * torch.exp(torch.randn(rows, inner, generator=generator)) / inner**0.5
    if kind == "cancelling":
        z[:, 1::2] = -z[:, 0 : inner - inner % 2 : 2] * (1 + 1e-4 * z[:, 1::2])
    return z * {"tiny": 1e-6, "huge": 1e6}.get(kind, inner**-0.5)


def spikes(
    rows: int, inner: int, rate: float = 0.3, counts: int = 1, paired: bool = False
) -> torch.Tensor:
    """Spikes (rows, inner); `paired`: columns 2i and 2i + 1 fire together."""
    generator = torch.Generator().manual_seed(1)
    fired = (torch.rand(rows, inner, generator=generator) < rate).float()
    if paired:
        fired[:, 1::2] = fired[:, 0 : inner - inner % 2 : 2]
    return fired * torch.randint(1, counts + 1, (rows, inner), generator=generator)
