"""Memory and the spelling "triton": where sequences lie, and chunks of steps as tiles.

A tensor is handed over as the tuple (pointer, stride of time, strides of the inner dims…), in elements, or None where it
does not take part. Any strides are right. Loads and stores are 128 bits wide where the last inner dim has stride 1 in the
tensor and its size and the other strides are multiples of 16.

A chunk of steps is one tile [sequences, steps], loaded as a whole before any of it is used. A store may alias any later
load, so the compiler moves none over it: a loop of one step at a time would wait for memory in each. The tile comes as it
lies in memory, several sequences a thread, and is turned on chip so that a thread has all steps of its own sequences.
"""

# Triton's language has no unpacking in tuples:
# ruff: noqa: RUF005

import triton
import triton.language as tl

MOST_HALVINGS = tl.constexpr(5)
"""A chunk has at most 2**5 steps."""

LARGEST_BF16 = tl.constexpr(3.3895313892515355e38)
"""What is beyond it, rounding to bfloat16 makes infinite."""


@triton.jit
def indices(sizes, last, DIMS: tl.constexpr, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    """This program's BLOCK indices over the inner dims, outermost first; `last` is the size of the last dim."""
    block = tl.program_id(0)
    if WIDE:
        block = block.to(tl.int64)
    rest = block * BLOCK + tl.arange(0, BLOCK)
    found = ()
    for d in tl.static_range(DIMS - 1):
        size = last if d == 0 else sizes[DIMS - 1 - d]
        found = (rest % size,) + found
        rest = rest // size
    return (rest,) + found


@triton.jit
def places(tensor, index, DIMS: tl.constexpr):
    """Pointers to step 0 of the sequences at `index`."""
    found = tensor[0]
    for d in tl.static_range(DIMS):
        found = found + index[d].to(tl.int64) * tensor[2 + d]
    return found


@triton.jit
def load_inner(tensor, index, mask, default: tl.constexpr, DIMS: tl.constexpr):
    """float32 of a tensor without time; a constant where there is none."""
    if tensor is None:
        found = tl.full(mask.shape, default, tl.float32)
    else:
        found = tl.load(places(tensor, index, DIMS), mask=mask).to(tl.float32)
    return found


@triton.jit
def store_inner(tensor, value, index, mask, DIMS: tl.constexpr):
    if tensor is not None:
        tl.store(places(tensor, index, DIMS), value, mask=mask)


@triton.jit
def chunk_places(tensor, index, first, DIMS: tl.constexpr, STEPS: tl.constexpr):
    """Pointers [BLOCK, STEPS] to the steps from `first` on."""
    stride = tl.cast(tensor[1], tl.int64)
    times = (tl.arange(0, STEPS) + first).to(tl.int64) * stride
    return places(tensor, index, DIMS)[:, None] + times[None, :]


@triton.jit
def chunk_mask(mask, first, steps, STEPS: tl.constexpr):
    """[BLOCK, STEPS]: `mask`, at steps that exist."""
    t = tl.arange(0, STEPS) + first
    return mask[:, None] & ((t >= 0) & (t < steps))[None, :]


@triton.jit
def load_chunk(tensor, index, mask, first, steps, DIMS: tl.constexpr, STEPS: tl.constexpr):
    """STEPS steps from `first` on as a tile [BLOCK, STEPS] of numbers as they are stored; () for no tensor."""
    if tensor is None:
        found = ()
    else:
        found = tl.load(chunk_places(tensor, index, first, DIMS, STEPS), mask=chunk_mask(mask, first, steps, STEPS))
    return found


@triton.jit
def store_chunk(tensor, steps_of_chunk, index, mask, first, steps, DIMS: tl.constexpr, STEPS: tl.constexpr):
    tile = joined(steps_of_chunk, STEPS).to(tensor[0].dtype.element_ty)
    tl.store(chunk_places(tensor, index, first, DIMS, STEPS), tile, mask=chunk_mask(mask, first, steps, STEPS))


@triton.jit
def store_parts(parts, steps_of_chunk, index, mask, first, steps, DIMS: tl.constexpr, STEPS: tl.constexpr):
    """A chunk as three bfloat16 that add up to it; what is not finite stays in the first of them."""
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
    """The STEPS columns of a tile: part j of m holds every m-th column from the j-th on, and parts are halved till m = STEPS."""
    parts = (tile,)
    for level in tl.static_range(MOST_HALVINGS):
        if 2**level < STEPS:
            even = ()
            odd = ()
            for j in tl.static_range(2**level):
                halves = tl.split(tl.reshape(parts[j], (tile.shape[0], STEPS // 2 ** (level + 1), 2)))
                even = even + (halves[0],)
                odd = odd + (halves[1],)
            parts = even + odd
    found = ()
    for j in tl.static_range(STEPS):
        found = found + (tl.reshape(parts[j], (tile.shape[0],)),)
    return found


@triton.jit
def joined(columns, STEPS: tl.constexpr):
    """The tile of STEPS columns: neighbours are put side by side till one part is left."""
    parts = ()
    for j in tl.static_range(STEPS):
        parts = parts + (columns[j][:, None],)
    for level in tl.static_range(MOST_HALVINGS):
        if 2**level < STEPS:
            found = ()
            for j in tl.static_range(STEPS // 2 ** (level + 1)):
                both = tl.permute(tl.join(parts[2 * j], parts[2 * j + 1]), (0, 2, 1))
                found = found + (tl.reshape(both, (columns[0].shape[0], 2 ** (level + 1))),)
            parts = found
    return parts[0]


@triton.jit
def store_checkpoint(tensor, value, index, mask, chunk, DIMS: tl.constexpr):
    tl.store(places(tensor, index, DIMS) + chunk * tl.cast(tensor[1], tl.int64), value, mask=mask)


@triton.jit
def packed(tile, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """Bytes [BLOCK / 8, STEPS] from flags [BLOCK, STEPS], the first of eight in the lowest bit."""
    flags = tl.reshape(tile.to(tl.int32), (BLOCK // 8, 8, STEPS))
    return tl.sum(flags << tl.arange(0, 8)[None, :, None], axis=1).to(tl.uint8)
