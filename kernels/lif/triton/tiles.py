"""Memory access of the backend "triton": places of sequences, and chunks of steps as tiles.

A kernel takes a tensor as the tuple (pointer, stride of time, strides of the inner dims…), in
elements, or None if it is absent. Any strides are allowed. Loads and stores are 128 bits wide if
the last inner dim has stride 1 and its size and the other strides are multiples of 16.

A chunk of steps is one tile [sequences, steps], loaded as a whole before any of it is used. The
compiler moves no load over a store, since both may have the same address: a loop of single steps
would wait for memory in each of them. The tile is loaded in memory order, with several sequences
per thread, and then transposed on chip, so that each thread has all steps of its sequences.
"""

# Triton has no unpacking in tuples, and its tuples change length:
# ruff: noqa: RUF005
# mypy: ignore-errors

import triton
import triton.language as tl

MOST_HALVINGS = tl.constexpr(5)
"""A chunk has at most 2**5 steps."""

LARGEST_BF16 = tl.constexpr(3.3895313892515355e38)
"""Largest finite bfloat16."""


@triton.jit
def indices(sizes, last, DIMS: tl.constexpr, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    """Returns the program's BLOCK indices over the inner dims, outermost first; `last` is the last
    size."""
    block = tl.program_id(0)
    if WIDE:
        block = block.to(tl.int64)
    rest = block * BLOCK + tl.arange(0, BLOCK)
    index = ()
    for d in tl.static_range(DIMS - 1):
        size = last if d == 0 else sizes[DIMS - 1 - d]
        index = (rest % size,) + index
        rest = rest // size
    return (rest,) + index


@triton.jit
def places(tensor, index, DIMS: tl.constexpr):
    """Returns pointers to step 0 of the sequences at `index`."""
    pointers = tensor[0]
    for d in tl.static_range(DIMS):
        pointers = pointers + index[d].to(tl.int64) * tensor[2 + d]
    return pointers


@triton.jit
def load_inner(tensor, index, mask, default: tl.constexpr, DIMS: tl.constexpr):
    """Loads a tensor without time as float32, or the constant `default` if it is None."""
    if tensor is None:
        values = tl.full(mask.shape, default, tl.float32)
    else:
        values = tl.load(places(tensor, index, DIMS), mask=mask).to(tl.float32)
    return values


@triton.jit
def store_inner(tensor, value, index, mask, DIMS: tl.constexpr):
    if tensor is not None:
        tl.store(places(tensor, index, DIMS), value, mask=mask)


@triton.jit
def chunk_places(tensor, index, first, DIMS: tl.constexpr, STEPS: tl.constexpr):
    """Returns pointers [BLOCK, STEPS] to the steps from `first` on."""
    stride = tl.cast(tensor[1], tl.int64)
    times = (tl.arange(0, STEPS) + first).to(tl.int64) * stride
    return places(tensor, index, DIMS)[:, None] + times[None, :]


@triton.jit
def chunk_mask(mask, first, steps, STEPS: tl.constexpr):
    """Returns `mask` at existing steps, [BLOCK, STEPS]."""
    t = tl.arange(0, STEPS) + first
    return mask[:, None] & ((t >= 0) & (t < steps))[None, :]


@triton.jit
def load_chunk(tensor, index, mask, first, steps, DIMS: tl.constexpr, STEPS: tl.constexpr):
    """Loads the steps from `first` on as a tile [BLOCK, STEPS] in the storage type; () if None."""
    if tensor is None:
        tile = ()
    else:
        tile = tl.load(
            chunk_places(tensor, index, first, DIMS, STEPS),
            mask=chunk_mask(mask, first, steps, STEPS),
        )
    return tile


@triton.jit
def store_chunk(
    tensor, steps_of_chunk, index, mask, first, steps, DIMS: tl.constexpr, STEPS: tl.constexpr
):
    tile = joined(steps_of_chunk, STEPS).to(tensor[0].dtype.element_ty)
    tl.store(
        chunk_places(tensor, index, first, DIMS, STEPS),
        tile,
        mask=chunk_mask(mask, first, steps, STEPS),
    )


@triton.jit
def store_parts(
    parts, steps_of_chunk, index, mask, first, steps, DIMS: tl.constexpr, STEPS: tl.constexpr
):
    """Stores a chunk as three bfloat16 that add up to it; NaN and infinities stay in the first."""
    rest = joined(steps_of_chunk, STEPS)
    finite = tl.abs(rest) < float("inf")
    limited = tl.minimum(tl.maximum(rest, -LARGEST_BF16), LARGEST_BF16)
    at_steps = chunk_mask(mask, first, steps, STEPS)
    for i in tl.static_range(3):
        part = tl.where(finite, limited if i == 0 else rest, rest).to(tl.bfloat16)
        tl.store(chunk_places(parts[i], index, first, DIMS, STEPS), part, mask=at_steps)
        rest = tl.where(finite, rest - part.to(tl.float32), 0.0)


@triton.jit
def split(tile, STEPS: tl.constexpr):
    """Returns the STEPS columns of a tile, by halving it until part j of m = STEPS is column j."""
    parts = (tile,)
    for level in tl.static_range(MOST_HALVINGS):
        if 2**level < STEPS:
            even = ()
            odd = ()
            for j in tl.static_range(2**level):
                halves = tl.split(
                    tl.reshape(parts[j], (tile.shape[0], STEPS // 2 ** (level + 1), 2))
                )
                even = even + (halves[0],)
                odd = odd + (halves[1],)
            parts = even + odd
    columns = ()
    for j in tl.static_range(STEPS):
        columns = columns + (tl.reshape(parts[j], (tile.shape[0],)),)
    return columns


@triton.jit
def joined(columns, STEPS: tl.constexpr):
    """Returns the tile of STEPS columns, by joining neighbouring parts until one remains."""
    parts = ()
    for j in tl.static_range(STEPS):
        parts = parts + (columns[j][:, None],)
    for level in tl.static_range(MOST_HALVINGS):
        if 2**level < STEPS:
            pairs = ()
            for j in tl.static_range(STEPS // 2 ** (level + 1)):
                both = tl.permute(tl.join(parts[2 * j], parts[2 * j + 1]), (0, 2, 1))
                pairs = pairs + (tl.reshape(both, (columns[0].shape[0], 2 ** (level + 1))),)
            parts = pairs
    return parts[0]


@triton.jit
def store_checkpoint(tensor, value, index, mask, chunk, DIMS: tl.constexpr):
    tl.store(places(tensor, index, DIMS) + chunk * tl.cast(tensor[1], tl.int64), value, mask=mask)


@triton.jit
def packed(tile, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """Packs flags [BLOCK, STEPS] into bytes [BLOCK / 8, STEPS], the first of eight in the lowest
    bit."""
    flags = tl.reshape(tile.to(tl.int32), (BLOCK // 8, 8, STEPS))
    return tl.sum(flags << tl.arange(0, 8)[None, :, None], axis=1).to(tl.uint8)
