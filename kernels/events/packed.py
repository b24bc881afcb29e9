"""Frames of events in a bit for each bin, and a list of what bins hold beyond one event: exact counts, whole batches.

An entry of the list is two bytes: how many bins it is behind the entry before it (behind the first bin, to begin with), and how
many events it adds. Further ways and higher counts take several entries.
"""

import ctypes
from collections.abc import Callable, Iterable
from functools import lru_cache
from math import prod
from pathlib import Path

import torch
from torch import Tensor

from ..bits import pack, unpack
from ..build import cpp

MOST = 255
"""The most bins and events of one entry."""
GRAIN = 1 << 18
"""Bins of a batch for each thread."""


class PackedFrames:
    """Frames (steps, *features) of many recordings: counts of events, delivered in batches.

    frames   one array or tensor of counts (t, *features) for each recording, whole numbers, t at most `steps`: what is missing
             at its end is filled up with zeros.
    steps    time steps of a delivered recording.

    Raises ValueError for frames that are longer, of another shape than the first, or no counts. `to(device)` moves
    them; `bytes` is what they take there. A recording of SSC at 4 ms and 100 channels takes about 6 kB, as dense uint8 25 kB.

    Example:

        >>> frames = [torch.randint(0, 3, (time, 100)) for time in (211, 250, 199)]
        >>> packed = PackedFrames(frames, 250)
        >>> packed.batch(torch.tensor([2, 0])).shape
        torch.Size([2, 250, 100])
    """

    def __init__(self, frames: Iterable[Tensor], steps: int) -> None:
        rows, lists, starts = [], [], [0]
        shape: tuple[int, ...] | None = None
        for number, given in enumerate(frames):
            counts = torch.as_tensor(given)
            shape = shape or (steps, *counts.shape[1:])
            whole = _filled(counts, shape, number)
            rows.append(pack(whole.clamp(max=1).view(1, -1), 1))
            lists.append(_list_of(whole))
            starts.append(starts[-1] + len(lists[-1]))
        if shape is None:
            raise ValueError("there are no frames to pack")
        self.shape = shape
        self.bits, self.entries, self.starts = torch.cat(rows), torch.cat(lists), torch.tensor(starts)

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def bytes(self) -> int:
        """Bytes that all recordings take on their device."""
        return sum(tensor.nbytes for tensor in (self.bits, self.entries, self.starts))

    def to(self, device: torch.device | str) -> "PackedFrames":
        """Move all recordings to `device`; returns self."""
        for name in ("bits", "entries", "starts"):
            setattr(self, name, getattr(self, name).to(device))
        return self

    def batch(self, chosen: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Counts (B, steps, *features) of the recordings `chosen`, whole numbers (B,) from 0 on; on their device, of any type
        that holds them. Raises IndexError for a recording that there is not."""
        chosen = chosen.to(self.bits.device, torch.int64)
        if self.bits.device.type == "cpu" and len(chosen) and not 0 <= int(chosen.min()) <= int(chosen.max()) < len(self):
            raise IndexError(f"there are {len(self)} recordings, from 0 on")
        out = torch.empty(len(chosen), prod(self.shape), dtype=dtype, device=self.bits.device)
        if out.device.type == "cpu" and dtype == torch.float32 and cpp.unusable() is None:
            self._compiled(chosen.contiguous(), out)
        else:
            self._in_torch(chosen, out)
        return out.view(len(chosen), *self.shape)

    def _compiled(self, chosen: Tensor, out: Tensor) -> None:
        threads = min(torch.get_num_threads(), 1 + out.numel() // GRAIN)
        arrays = (chosen, self.bits, self.starts, self.entries, out)
        _deliver()(threads, len(chosen), out.shape[1], *(array.data_ptr() for array in arrays))

    def _in_torch(self, chosen: Tensor, out: Tensor) -> None:
        unpack(self.bits[chosen], 1, out)
        first, counts = self.starts[chosen], self.starts[chosen + 1] - self.starts[chosen]
        items = torch.arange(len(chosen), device=out.device).repeat_interleave(counts)
        before = counts.cumsum(0) - counts
        way, more = self.entries[torch.arange(len(items), device=out.device) + (first - before)[items]].unbind(1)
        gone = way.to(torch.int64).cumsum(0)
        earlier = torch.cat([gone.new_zeros(1), gone])[before]  # by the end of the item before
        out.index_put_((items, gone - earlier[items]), more.to(out.dtype), accumulate=True)


def _filled(counts: Tensor, shape: tuple[int, ...], number: int) -> Tensor:
    """Counts in one row, filled up with zeros to `shape`, as int64."""
    if counts.shape[1:] != shape[1:] or len(counts) > shape[0]:
        raise ValueError(f"recording {number} has frames of shape {tuple(counts.shape)}: at most {shape} are asked for")
    whole = counts.to(torch.int64)
    if not torch.equal(whole.to(counts.dtype), counts) or (counts.numel() and int(whole.min()) < 0):
        raise ValueError(f"the frames of recording {number} are no counts: whole numbers from 0 on")
    row = torch.zeros(prod(shape), dtype=torch.int64)
    row[: counts.numel()] = whole.reshape(-1)
    return row


def _list_of(row: Tensor) -> Tensor:
    """The entries (E, 2) of one recording, uint8."""
    bins = (row > 1).nonzero()[:, 0]
    above, ways = row[bins] - 1, bins.diff(prepend=bins.new_zeros(1))
    repeated, passed = (above - 1) // MOST, ways // MOST  # entries before the last one of a bin: on its place, and on the way
    count = repeated + passed + 1
    last = count.cumsum(0) - 1
    entries = torch.zeros(int(count.sum()), 2, dtype=torch.int64)
    within = torch.arange(len(entries)) - (last - count + 1).repeat_interleave(count)
    on_the_way = within < passed.repeat_interleave(count)
    entries[:, 0] = MOST * on_the_way
    entries[:, 1] = MOST * ~on_the_way
    arrives = last - repeated
    entries[arrives, 0] = ways % MOST
    entries[last, 1] = above - repeated * MOST
    return entries.to(torch.uint8)


@lru_cache
def _deliver() -> Callable[..., None]:
    function = cpp.kernel(Path(__file__).with_name("packed.cpp"), {}).deliver
    function.argtypes, function.restype = [ctypes.c_int64] * 3 + [ctypes.c_void_p] * 5, None
    return function
