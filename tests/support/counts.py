"""Recordings of events as frames of counts, and what a batch of them must be, recording by
recording."""

import torch
from torch import Tensor


def counts_of(
    recordings: int, steps: int, *features: int, most: float = 3, seed: int = 0
) -> list[Tensor]:
    """Frames (t, *features) with a mean of most/10 events a bin, t from 1 to `steps`."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, steps + 1, (recordings,), generator=generator)
    return [
        torch.poisson(torch.full((int(t), *features), most / 10), generator=generator).to(
            torch.int16
        )
        for t in lengths
    ]


def dense(frames: list[Tensor], steps: int) -> Tensor:
    """All recordings (recordings, steps, *features), float32, filled up with zeros."""
    whole = torch.zeros(len(frames), steps, *frames[0].shape[1:])
    for row, each in zip(whole, frames, strict=True):
        row[: len(each)] = each
    return whole


def moved(frames: Tensor, shift: Tensor) -> Tensor:
    """Each of the frames (B, steps, …, channels) by its shift."""
    out, channels = torch.zeros_like(frames), frames.shape[-1]
    for to, given, places in zip(out, frames, shift.tolist(), strict=True):
        if places >= 0:
            to[..., places:] = given[..., : max(0, channels - places)]
        else:
            to[..., : max(0, channels + places)] = given[..., -places:]
    return out


def hostile(recordings: int, steps: int, channels: int) -> list[Tensor]:
    """A recording without a frame, one without an event, one of which every bin has an event,
    and others with bins of every count on which entries end (32, 33, 34, 65) and above a byte
    (256, 300, 4000), at both ends of tiles."""
    frames = [torch.zeros(0, channels), torch.zeros(steps, channels), torch.ones(steps, channels)]
    frames += counts_of(recordings - 3, steps, channels, seed=7)
    row = frames[2].view(-1)
    for place, count in zip(
        (0, 2047, 2048, 4095, 4096, -1, -2), (32, 33, 34, 65, 256, 300, 4000), strict=True
    ):
        if place < len(row):
            row[place] = count
    return frames
