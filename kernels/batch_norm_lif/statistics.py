"""Statistics of channels, and what follows from them, by torch's own operations. `compiled` has the same functions."""

import torch
from torch import Tensor

from ..lif.contract import state_dtype
from ..lif.operator import over_channel, sum_to_channel
from . import ranks

PIECE = 1 << 20
"""Numbers whose distances from the mean are in memory at once."""


def statistics(x: Tensor, channel_dim: int) -> tuple[Tensor, Tensor]:
    """Mean and biased variance (C,) over all other dims, in float32 (float64 for float64)."""
    others = [d for d in range(x.dim()) if d != channel_dim % x.dim()]
    if x.device.type != "cpu" and x.dtype in (torch.float32, torch.float64):
        variance, mean = torch.var_mean(
            x, others, correction=0
        )  # which on CPUs takes as long as 50 means
        return mean, variance
    count, dtype = x.numel() // x.shape[channel_dim], state_dtype(x.dtype)
    pieces = x.split(max(1, PIECE * len(x) // x.numel()))
    near = (
        sum(piece.sum(others, keepdim=True, dtype=dtype) for piece in pieces) / count
    )  # but for the rounding of large sums
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


def rows(
    x: Tensor,
    channel_dim: int,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
) -> tuple[Tensor | None, ...]:
    """Scale, shift and mean, expanded to one step of x."""
    of_channels = (*scale_and_shift(mean, variance, weight, bias, epsilon), mean)
    return tuple(over_channel(values, x, channel_dim) for values in of_channels)


def gradients(
    x: Tensor,
    channel_dim: int,
    errors: Tensor,
    by_current: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    epsilon: float,
    needed: bool,
    shared: tuple[int, ranks.Group] | None = None,
) -> tuple[Tensor | None, ...]:
    """Gradients by weight and bias (C,) from the sums over time of a first scan, Σ e and Σ e·(x − μ); and for the second, None
    unless `needed`, `mix_current` and `mix_constant` of `lif.contract.Backward`. `shared`: of how many numbers of a channel the
    statistics are, and of whose ranks. Gradients by weight and bias are those of one's own part all the same: who averages or
    sums parameters' gradients over ranks has them right."""
    rate = torch.rsqrt(variance + epsilon)
    scale = rate if weight is None else weight.to(rate.dtype) * rate
    error, product = grad_bias, by_channel = (
        sum_to_channel(errors, channel_dim),
        sum_to_channel(by_current, channel_dim),
    )
    count = max(1, x.numel() // max(1, x.shape[channel_dim]))
    if shared is not None:
        count, (error, product) = shared[0], ranks.summed(torch.stack([error, product]), shared[1])
    mixed = (-scale * rate**2 * product / count, -scale * error / count) if needed else (None, None)
    return by_channel * rate, grad_bias, *(over_channel(values, x, channel_dim) for values in mixed)
