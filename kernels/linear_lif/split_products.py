"""Float32 products of a linear layer from short operands, each the `product` of two splits:

    currents   X  = S·Wᵀ     one product for each part of W; the tf32 tier splits dense inputs too
    by weight  dW = Gᵀ·S     one product for each part of Gᵀ
    by input   dX = G·W      dense × dense, in the tf32 tier

Tiers as accurate as float32 compute dense × dense products by the library's float32 (see `matmul`).
Short operands would take three products (without low × low) and partial sums of at most 128 terms,
because tensor cores truncate. Sums of spikes' products stay in an accumulator for PROMOTED terms.

The error of an element, with m = Σ|l·r| over its n terms:

    |error| ≤ (ρ + additions·2^-23)·m + the error of subnormal operands (`split_formats`)

ρ is the sum of the two operands' relative errors and of low × low. 2^-23 is the error of truncating
to float32 (Fasi et al. 2021 found that tensor cores truncate), once for every 16 terms of each
product and once for each product and slice of PROMOTED terms. Sequential float32 has n·2^-24
instead.
"""

import torch
from torch import Tensor

from .split_formats import Split

PROMOTED = 4096
"""Terms after which a sum of spikes' products leaves the tensor core, to be added in float32."""


def multiply(left: Tensor, right: Tensor, out: Tensor, keep: float) -> None:
    """Writes out = left @ right + keep·out in float32, from short operands.

    With keep = 0 `out` is not read. CPUs convert the operands to float32, which is exact.
    """
    if left.device.type != "cuda":
        total = left.float() @ right.float()
        out.mul_(keep).add_(total) if keep else out.copy_(total)
    elif keep:
        torch.addmm(out, left, right, beta=keep, out_dtype=torch.float32, out=out)
    else:
        torch.mm(left, right, out_dtype=torch.float32, out=out)


def product(
    left: Split,
    right: Split,
    promoted: int | None = None,
    multiply=multiply,
    out: Tensor | None = None,
) -> Tensor:
    """Returns left @ rightᵀ, float32, divided by the scales of both. See `scaled_product`."""
    return unscaled(scaled_product(left, right, promoted, multiply, out), left.scale, right.scale)


def scaled_product(
    left: Split,
    right: Split,
    promoted: int | None = None,
    multiply=multiply,
    out: Tensor | None = None,
) -> Tensor:
    """Returns `product` without the division by the scales, in the memory of `out` or in new
    memory.

    Sums of `promoted` terms (None: all) stay in an accumulator. Products of smaller parts come
    first. Tests replace `multiply` to model the hardware.
    """
    terms = left.parts[0].shape[1]
    step = min(promoted or terms, terms) or 1
    if out is None:
        out = left.parts[0].new_empty(len(left.parts[0]), len(right.parts[0]), dtype=torch.float32)
    if not terms:
        return out.zero_()
    pairs = _pairs(left, right)
    for index, (factor, i, j) in enumerate(pairs):
        keep = pairs[index - 1][0] / factor if index else 0.0
        for first in range(0, terms, step):
            piece = slice(first, first + step)
            multiply(
                left.parts[i][:, piece], right.parts[j][:, piece].t(), out, 1.0 if first else keep
            )
    return out


def _pairs(left: Split, right: Split) -> list[tuple[float, int, int]]:
    """Returns (factor, part of left, part of right) of each product, the smallest factor first."""
    most = max(len(left.parts), len(right.parts))
    pairs = [
        (a * b, i, j)
        for i, a in enumerate(left.factors)
        for j, b in enumerate(right.factors)
        if i + j < most
    ]
    return sorted(pairs, key=lambda pair: (pair[0], -pair[1] - pair[2]))


def unscaled(total: Tensor, rows: Tensor | None, columns: Tensor | None = None) -> Tensor:
    """Divides `total` in place by the scale of each row and column: exact, by powers of two."""
    if rows is not None:
        total /= rows[:, None]
    if columns is not None:
        total /= columns
    return total
