"""Statistics of channels, and rows and gradients from them, in torch. `compiled` has the same
functions."""

import torch
from torch import Tensor

from ..lif.contract import state_dtype
from ..lif.operator import over_channel, sum_to_channel
from . import ranks

PIECE = 1 << 20
"""Distances from the mean that are in memory at once."""


def statistics(x: Tensor, channel_dim: int) -> tuple[Tensor, Tensor]:
    """Returns mean and biased variance (C,) over all other dims, in float32 (float64 for
    float64)."""
    others = [d for d in range(x.dim()) if d != channel_dim % x.dim()]
    if x.device.type != "cpu" and x.dtype in (torch.float32, torch.float64):
        variance, mean = torch.var_mean(x, others, correction=0)  # on CPUs as slow as 50 means
        return mean, variance
    count, dtype = x.numel() // x.shape[channel_dim], state_dtype(x.dtype)
    pieces = x.split(max(1, PIECE * len(x) // x.numel()))
    # The first mean lacks the rounding of large sums; distances from it correct that.
    near = sum(piece.sum(others, keepdim=True, dtype=dtype) for piece in pieces) / count
    correction, squares = near.new_zeros(2, x.shape[channel_dim])
    for piece in pieces:
        distance = piece - near
        correction += distance.sum(others)
        squares += distance.square_().sum(others)
    correction /= count
    return near.flatten() + correction, squares / count - correction**2


def scale_and_shift(
    mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float
) -> tuple[Tensor, Tensor]:
    """Returns γ·r and β − μ·γ·r (C,): r = 1/√(variance + ε), γ = `weight`, β = `bias`; None: 1 and
    0."""
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
    """Returns scale, shift and mean, expanded to one step of x."""
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
    """Returns gradients by weight and bias (C,), and `mix_current` and `mix_constant` of
    `lif.contract.Backward`.

    `errors` and `by_current` are the first scan's sums over time, Σ e and Σ e·(x − μ). The last two
    results are for the second scan and None unless `needed`. `shared` is None, or the numbers in a
    channel over all ranks and their group; gradients by weight and bias cover the rank's part all
    the same, to be summed over ranks.
    """
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
