"""The statistics of a batch, and the neuron's scale and shift that normalise by them."""

import torch
from torch import Tensor

from ..lif.contract import state_dtype

PIECE = 1 << 20
"""Numbers whose distances from the mean are in memory at once."""


def batch_statistics(x: Tensor, channel_dim: int) -> tuple[Tensor, Tensor]:
    """Mean and biased variance (C,) over all other dims, in float32 (float64 for float64)."""
    others = [d for d in range(x.dim()) if d != channel_dim % x.dim()]
    if x.device.type != "cpu" and x.dtype in (torch.float32, torch.float64):
        variance, mean = torch.var_mean(x, others, correction=0)  # which on CPUs takes as long as 50 means
        return mean, variance
    count, dtype = x.numel() // x.shape[channel_dim], state_dtype(x.dtype)
    pieces = x.split(max(1, PIECE * len(x) // x.numel()))
    near = sum(piece.sum(others, keepdim=True, dtype=dtype) for piece in pieces) / count  # but for the rounding of large sums
    left, squares = near.new_zeros(2, x.shape[channel_dim])
    for piece in pieces:
        distance = piece - near
        left += distance.sum(others)
        squares += distance.square_().sum(others)
    left /= count
    return near.flatten() + left, squares / count - left**2


def scale_and_shift(
    mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float
) -> tuple[Tensor, Tensor]:
    """γ·r and β − μ·γ·r (C,), with r = 1/√(variance + ε), γ = `weight` and β = `bias`; None: 1 and 0."""
    scale = torch.rsqrt(variance + epsilon)
    scale = scale if weight is None else weight.to(scale.dtype) * scale
    shift = -mean * scale
    return scale, shift if bias is None else bias.to(shift.dtype) + shift
