"""The backend "reference": batches in torch, on any device; tests compare the others with it."""

import torch
from torch import Tensor

from ..bits import unpack
from .storage import COUNT_BITS, MOST, TILE, BatchDelivery


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    return None


def deliver(call: BatchDelivery) -> None:
    stored, chosen, out = call.stored, call.chosen, call.out
    unpack(stored.bits[chosen], 1, out)
    tile = (chosen[:, None] * stored.tiles + torch.arange(stored.tiles, device=out.device)).view(-1)
    first = stored.starts[tile]
    counts = stored.starts[tile + 1] - first
    owner = torch.arange(len(tile), device=out.device).repeat_interleave(counts)
    before = counts.cumsum(0) - counts
    code = (
        stored.entries[torch.arange(len(owner), device=out.device) + (first - before)[owner]].to(
            torch.int64
        )
        & 0xFFFF
    )
    item, bins = owner // stored.tiles, owner % stored.tiles * TILE + (code >> COUNT_BITS)
    out.index_put_((item, bins), (code % MOST + 1).to(out.dtype), accumulate=True)
    if call.shift is not None:
        _move(out.view(len(chosen), -1, stored.shape[-1]), call.shift)


def _move(frames: Tensor, shift: Tensor) -> None:
    """Moves each of the frames (B, rows, channels) by its `shift`, in place."""
    channels = frames.shape[-1]
    source = torch.arange(channels, device=frames.device) - shift.to(torch.int64)[:, None]
    there = (source >= 0) & (source < channels)
    moved = frames.gather(2, source.clamp(0, channels - 1)[:, None].expand(frames.shape))
    torch.where(there[:, None], moved, moved.new_zeros(()), out=frames)
