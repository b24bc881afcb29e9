"""Statistics of channels over the ranks of a process group, and sums for their backward pass.

A part has a mean, a sum of squared distances from it (M2) and a count. Two parts are merged by the
formula of Chan et al. (1979), with δ = μ₂ − μ₁ and n = n₁ + n₂:

    μ = μ₁ + δ·n₂/n        M2 = M2₁ + M2₂ + δ²·n₁·n₂/n

Parts are merged in the order of the ranks and in float64, so that all ranks have the same bits.
Plain sums of squares would cancel.
"""

from typing import TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor

Group: TypeAlias = "dist.ProcessGroup"


def merged(mean: Tensor, variance: Tensor, count: int, group: Group) -> tuple[Tensor, Tensor, int]:
    """Returns mean, biased variance (C,) and numbers in a channel over all ranks, from one rank's.

    Takes one all_gather. A part may be empty.
    """
    part = torch.cat(
        [mean, variance * count, mean.new_tensor([count], dtype=torch.float64)]
    ).double()
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, part, group=group)
    total, middle, squares = 0.0, part.new_zeros(len(mean)), part.new_zeros(len(mean))
    for part in parts:
        if (numbers := float(part[-1])) > 0:
            delta, before, total = part[: len(mean)] - middle, total, total + numbers
            middle = middle + delta * (numbers / total)
            squares = squares + part[len(mean) : -1] + delta**2 * (before * numbers / total)
    return middle.to(mean.dtype), (squares / max(total, 1.0)).to(mean.dtype), int(total)


def summed(part: Tensor, group: Group) -> Tensor:
    """Returns the sum of all ranks' tensors of this shape, by one all_reduce."""
    total = part.clone()
    dist.all_reduce(total, group=group)
    return total
