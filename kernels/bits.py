"""Spikes in as few bytes as hold them: bits for 0 and 1, bytes for counts."""

import torch
from torch import Tensor

LARGEST = 255


def packed(spikes: Tensor, most: int) -> Tensor:
    """uint8: for `most` = 1 (…, ⌈K/8⌉) with the first spike in the lowest bit, else the counts (…, K)."""
    if most > 1:
        return spikes.to(torch.uint8)
    fired = spikes != 0
    padded = torch.nn.functional.pad(fired, (0, -fired.shape[-1] % 8)).unflatten(-1, (-1, 8))
    found = padded[..., 0].to(torch.uint8)
    for bit in range(1, 8):
        found |= padded[..., bit].to(torch.uint8) << bit
    return found


def unpack(stored: Tensor, most: int, out: Tensor) -> None:
    """The inverse: writes all of `out` (…, K)."""
    if most > 1:
        out.copy_(stored)
        return
    count = out.shape[-1]
    for bit in range(min(8, count)):
        of_bit = out[..., bit::8]
        of_bit.copy_((stored[..., : of_bit.shape[-1]] >> bit) & 1)
