"""Storage of recordings: a bit for each bin, and for each tile of bins a list of further events.

A recording's bins form one row, step by step; TILE neighbours are a tile, and the last may be
shorter. A list's entry is one uint16: the bin's place in the tile in the high bits, and the events
beyond the first, less one, in the COUNT_BITS low bits. A bin of more than MOST + 1 events has
several entries.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from math import prod

import torch
from torch import Tensor

from ..bits import pack

TILE, COUNT_BITS = 2048, 5
MOST = 1 << COUNT_BITS
"""Most events of an entry."""
MOST_BINS = 2**31 - 2 * TILE
"""Most bins of a recording: kernels count them in 32 bits."""


@dataclass(frozen=True)
class Stored:
    """Recordings of one shape (steps, *features), on one device."""

    shape: tuple[int, ...]
    bits: Tensor
    """uint8 (recordings, ⌈bins/8⌉); the first of eight bins is the lowest bit."""
    entries: Tensor
    """The bits of uint16 as int16 (entries,), tile by tile, recording by recording."""
    starts: Tensor
    """int64 (recordings·tiles + 1,): the start of each tile's list, and the number of entries."""

    @cached_property
    def bins(self) -> int:
        return prod(self.shape)

    @cached_property
    def tiles(self) -> int:
        return tiles_of(self.bins)

    @property
    def bytes(self) -> int:
        return sum(tensor.nbytes for tensor in (self.bits, self.entries, self.starts))

    def to(self, device: torch.device | str) -> "Stored":
        values = [getattr(self, field.name) for field in fields(self)]
        return Stored(
            *(value.to(device) if isinstance(value, Tensor) else value for value in values)
        )


@dataclass(frozen=True)
class BatchDelivery:
    """One batch: a backend writes the counts of `chosen`, moved by `shift`, to `out` (B, bins)."""

    stored: Stored
    chosen: Tensor
    """int64 (B,), contiguous, on the device of the recordings."""
    shift: Tensor | None
    """int32 (B,), contiguous, on that device: places by which counts move up the last feature."""
    out: Tensor
    """Contiguous and unwritten."""


def tiles_of(bins: int) -> int:
    return -(-bins // TILE)


def stored(frames: Iterable[Tensor], steps: int) -> Stored:
    """Stores the recordings of `frames`, see `PackedFrames`. Raises ValueError."""
    rows, lists, lengths = [], [], []
    shape: tuple[int, ...] | None = None
    for number, frame_counts in enumerate(frames):
        counts = torch.as_tensor(frame_counts)
        shape = shape or (steps, *counts.shape[1:])
        whole = _filled(counts, shape, number)
        rows.append(pack(whole.clamp(max=1).view(1, -1), 1))
        entries, length = _lists(whole)
        lists.append(entries)
        lengths.append(length)
    if shape is None:
        raise ValueError("there are no frames to pack")
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), torch.cat(lengths).cumsum(0)])
    return Stored(shape, torch.cat(rows), torch.cat(lists), starts)


def _filled(counts: Tensor, shape: tuple[int, ...], number: int) -> Tensor:
    """Returns counts in one row, padded with zeros to `shape`, as int64."""
    if counts.shape[1:] != shape[1:] or len(counts) > shape[0]:
        raise ValueError(
            f"recording {number} has frames of shape {tuple(counts.shape)}: at most {shape} fits"
        )
    if prod(shape) > MOST_BINS:
        raise ValueError(
            f"a recording of shape {shape} has {prod(shape)} bins: at most {MOST_BINS} can be"
            " packed"
        )
    whole = counts.to(torch.int64)
    if not torch.equal(whole.to(counts.dtype), counts) or (counts.numel() and int(whole.min()) < 0):
        raise ValueError(f"the frames of recording {number} are no counts: whole numbers from 0 on")
    row = torch.zeros(prod(shape), dtype=torch.int64)
    row[: counts.numel()] = whole.reshape(-1)
    return row


def _lists(row: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the entries of one recording, and their number in each tile."""
    bins = (row > 1).nonzero()[:, 0]
    above = row[bins] - 1
    of_a_bin = -(-above // MOST)
    events = torch.full((int(of_a_bin.sum()),), MOST)
    events[of_a_bin.cumsum(0) - 1] = above - (of_a_bin - 1) * MOST
    bins = bins.repeat_interleave(of_a_bin)
    codes = (bins % TILE << COUNT_BITS) + events - 1
    return codes.to(torch.int16), (bins // TILE).bincount(minlength=tiles_of(len(row)))
