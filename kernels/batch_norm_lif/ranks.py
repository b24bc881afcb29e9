"""What ranks of a process group sum up: statistics of channels over the parts of all, and the sums that a backward needs of them.

Parts have means, sums of squared distances from them (M2) and counts. Two are merged as by Chan et al. (1979): with δ = μ₂ − μ₁
and n = n₁ + n₂,

    μ = μ₁ + δ·n₂/n        M2 = M2₁ + M2₂ + δ²·n₁·n₂/n

in the order of the ranks and in float64, so that all ranks have the same bits. Sums and sums of squares, added up, would cancel.
"""

from typing import TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor

Group: TypeAlias = "dist.ProcessGroup"


def merged(mean: Tensor, variance: Tensor, count: int, group: Group) -> tuple[Tensor, Tensor, int]:
    """Mean and biased variance (C,) of all ranks' numbers and how many a channel has, from those of one's own, in one
    all_gather. A part may be empty."""
    own = torch.cat(
        [mean, variance * count, mean.new_tensor([count], dtype=torch.float64)]
    ).double()
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, own, group=group)
    total, middle, squares = 0.0, own.new_zeros(len(mean)), own.new_zeros(len(mean))
    for part in parts:
        if (numbers := float(part[-1])) > 0:
            apart, before, total = part[: len(mean)] - middle, total, total + numbers
            middle = middle + apart * (numbers / total)
            squares = squares + part[len(mean) : -1] + apart**2 * (before * numbers / total)
    return middle.to(mean.dtype), (squares / max(total, 1.0)).to(mean.dtype), int(total)


def summed(own: Tensor, group: Group) -> Tensor:
    """The sum of all ranks' tensors of this shape, in one all_reduce."""
    of_all = own.clone()
    dist.all_reduce(of_all, group=group)
    return of_all
