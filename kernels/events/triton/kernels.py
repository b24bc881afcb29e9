"""The kernel of the backend "triton": each program unpacks a tile, adds its list and writes it
once.

An entry adds its events to one bin, and entries may share a bin. Atomics would take a second pass
over memory. The list is therefore added as a product on tensor cores: the tile is a matrix, an
entry's place is one of its rows and columns, and

    added[r, c] = Σ events[e] · [row[e] = r] · [column[e] = c]

Factors are whole numbers up to 32, which float16 holds, and sums are exact in float32 up to 2^23.
"""

# mypy: ignore-errors

import triton
import triton.language as tl

from .. import storage

TILE, COUNT_BITS, MOST = (
    tl.constexpr(storage.TILE),
    tl.constexpr(storage.COUNT_BITS),
    tl.constexpr(storage.MOST),
)
TILE_BITS = tl.constexpr(storage.TILE.bit_length() - 1)
ROWS, COLUMNS = tl.constexpr(64), tl.constexpr(storage.TILE // 64)


@triton.jit
def added(entries, first, split, last, offset, ENTRIES: tl.constexpr):
    """Returns the sums of entries `first` to `last` for the bins of a tile (ROWS, COLUMNS).

    Places of entries before `split` count from bin `offset` of the tile, and others from TILE bins
    further; places outside of the tile are dropped.
    """
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for at in range(first, last, ENTRIES):
        index = at + tl.arange(0, ENTRIES)
        code = tl.load(entries + index, mask=index < last, other=0).to(tl.int32) & 0xFFFF
        events = tl.where(index < last, code % MOST + 1, 0)
        place = (code >> COUNT_BITS) + offset + tl.where(index < split, 0, TILE)
        inside = (place >= 0) & (place < TILE)
        row = tl.where(inside, place // COLUMNS, ROWS)
        at_row = row[None, :] == tl.arange(0, ROWS)[:, None]
        at_column = (place % COLUMNS)[:, None] == tl.arange(0, COLUMNS)[None, :]
        total = tl.dot(
            tl.where(at_row, events[None, :], 0).to(tl.float16), at_column.to(tl.float16), total
        )
    return total


@triton.jit
def deliver_kernel(
    chosen,
    shift,
    bits,
    starts,
    entries,
    out,
    recordings,
    groups,
    channels,
    GROUP: tl.constexpr,
    ENTRIES: tl.constexpr,
):
    """Writes one tile of out[item]: counts of chosen[item], moved by shift[item] in rows of
    `channels`.

    A recording has groups·GROUP bins: GROUP bounds the width of a write. `shift` may be None. An
    unknown recording becomes NaN. Bytes for each bin: 1/8 and the list's are read, 4 (bfloat16 2)
    are written.
    """
    bins = groups * GROUP
    bytes = (bins + 7) // 8
    tiles = (bins + TILE - 1) // TILE
    item = (tl.program_id(0) // tiles).to(tl.int64)
    tile = tl.program_id(0) % tiles
    recording = tl.load(chosen + item)
    known = (recording >= 0) & (recording < recordings)
    recording = tl.where(known, recording, 0)
    bits += recording * bytes
    starts += recording * tiles

    bin = tile * TILE + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    if shift is None:
        byte = tile * (TILE // 8) + tl.arange(0, TILE // 8)
        stored = tl.load(bits + byte, mask=byte < bytes, other=0).to(tl.int32)
        set = tl.reshape((stored[:, None] >> tl.arange(0, 8)[None, :]) & 1, (ROWS, COLUMNS))
        last = tl.load(starts + tile + 1)
        counts = set.to(tl.float32) + added(entries, tl.load(starts + tile), last, last, 0, ENTRIES)
    else:
        places = tl.minimum(tl.maximum(tl.load(shift + item), -channels), channels)
        channel = bin % channels - places  # source of a count
        there = (channel >= 0) & (channel < channels) & (bin < bins)
        source = bin - places
        stored = tl.load(bits + (source >> 3), mask=there, other=0).to(tl.int32)
        set = (stored >> (source & 7)) & 1
        # The tile's bins come from two stored tiles; one may lie before the first or after the
        # last.
        before = (tile * TILE - places) >> TILE_BITS  # rounded down
        first = tl.load(starts + tl.minimum(tl.maximum(before, 0), tiles))
        split = tl.load(starts + tl.minimum(tl.maximum(before + 1, 0), tiles))
        last = tl.load(starts + tl.minimum(tl.maximum(before + 2, 0), tiles))
        offset = (before - tile) * TILE + places
        counts = tl.where(
            there, set.to(tl.float32) + added(entries, first, split, last, offset, ENTRIES), 0.0
        )
    counts = tl.where(known, counts, float("nan"))
    tl.store(out + item * bins + bin, counts, mask=bin < bins)
