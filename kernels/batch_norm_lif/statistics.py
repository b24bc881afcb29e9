"""The statistics of a batch, and the neuron's scale and shift that normalise by them."""

import torch
from torch import Tensor

PIECE = 1 << 20
"""Numbers of a short type that are converted to float32 at once."""


def batch_statistics(x: Tensor, channel_dim: int) -> tuple[Tensor, Tensor]:
    """Mean and biased variance (C,) over all other dims, in float32 (float64 for float64)."""
    others = [d for d in range(x.dim()) if d != channel_dim % x.dim()]
    if x.dtype in (torch.float32, torch.float64):
        variance, mean = torch.var_mean(x, others, correction=0)
        return mean, variance
    count, mean, squares = 0, 0.0, 0.0  # of time steps so far, merged as in Chan et al. 1983
    steps = max(1, PIECE * len(x) // max(1, x.numel()))
    for piece in x.split(steps):
        variance, middle = torch.var_mean(piece.float(), others, correction=0)
        added = piece.numel() // piece.shape[channel_dim]
        difference, total = middle - mean, count + added
        mean = mean + difference * (added / total)
        squares = squares + variance * added + difference**2 * (count * added / total)
        count = total
    return mean, squares / count


def scale_and_shift(
    mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float
) -> tuple[Tensor, Tensor]:
    """γ·r and β − μ·γ·r (C,), with r = 1/√(variance + ε), γ = `weight` and β = `bias`; None: 1 and 0."""
    scale = torch.rsqrt(variance + epsilon)
    scale = scale if weight is None else weight.to(scale.dtype) * scale
    shift = -mean * scale
    return scale, shift if bias is None else bias.to(shift.dtype) + shift
