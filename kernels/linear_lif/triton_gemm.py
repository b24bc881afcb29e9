"""Spikes times a weight of one to three short parts, in one Triton kernel. No layer uses it yet.

It writes float32 sums once. It is meant to replace the library's products of
`split_products.scaled_product` once it measures faster.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from .split_formats import Split

ROWS, COLUMNS, INNER, WARPS, STAGES = 128, 128, 64, 8, 3
"""Tile of a block, terms that are loaded at once, warps, and loads in flight."""


@triton.jit
def add_part(
    total,
    spikes,
    part,
    row,
    column,
    inner,
    rows,
    columns,
    spikes_stride,
    part_stride,
    TILE_INNER: tl.constexpr,
):
    """Returns total + spikes · partᵀ over all terms."""
    for first in range(0, inner, TILE_INNER):
        k = first + tl.arange(0, TILE_INNER)
        left = tl.load(
            spikes + row[:, None] * spikes_stride + k[None, :],
            (row < rows)[:, None] & (k < inner)[None, :],
            other=0.0,
        )
        right = tl.load(
            part + column[None, :] * part_stride + k[:, None],
            (column < columns)[None, :] & (k < inner)[:, None],
            other=0.0,
        )
        total = tl.dot(left, right, total)
    return total


@triton.jit
def spike_product_kernel(
    spikes,
    part0,
    part1,
    part2,
    scale,
    out,
    rows,
    columns,
    inner,
    spikes_stride,
    part_stride,
    out_stride,
    LOW: tl.constexpr,
    TILE_ROWS: tl.constexpr,
    TILE_COLUMNS: tl.constexpr,
    TILE_INNER: tl.constexpr,
):
    """Writes out = (spikes·part0ᵀ + LOW·spikes·part1ᵀ + LOW²·spikes·part2ᵀ) / scale.

    part1, part2 and scale may be None. spikes (rows, inner) and parts (columns, inner) have one
    short type, parts have one row stride, and all are contiguous in `inner`; scale (columns,) and
    out (rows, columns) are float32. There is one accumulator: the smallest part comes first, and
    the sum is multiplied by LOW between parts.
    """
    # Neighbouring blocks share columns, so that most of them read a weight's tile from cache.
    blocks = tl.cdiv(rows, TILE_ROWS)
    row = (tl.program_id(0) % blocks).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)
    column = (tl.program_id(0) // blocks).to(tl.int64) * TILE_COLUMNS + tl.arange(0, TILE_COLUMNS)
    total = tl.zeros((TILE_ROWS, TILE_COLUMNS), tl.float32)
    if part2 is not None:
        total = add_part(
            total,
            spikes,
            part2,
            row,
            column,
            inner,
            rows,
            columns,
            spikes_stride,
            part_stride,
            TILE_INNER,
        )
        total = total * LOW
    if part1 is not None:
        total = add_part(
            total,
            spikes,
            part1,
            row,
            column,
            inner,
            rows,
            columns,
            spikes_stride,
            part_stride,
            TILE_INNER,
        )
        total = total * LOW
    total = add_part(
        total,
        spikes,
        part0,
        row,
        column,
        inner,
        rows,
        columns,
        spikes_stride,
        part_stride,
        TILE_INNER,
    )
    if scale is not None:
        total = total / tl.load(scale + column, column < columns, other=1.0)[None, :]
    tl.store(
        out + row[:, None] * out_stride + column[None, :],
        total,
        (row < rows)[:, None] & (column < columns)[None, :],
    )


def launch(spikes: Tensor, split: Split, out: Tensor) -> tuple[int, dict]:
    """Returns blocks and arguments for out (R, N) = spikes (R, K) · weightᵀ, of a split weight (N,
    K)."""
    part1, part2 = (*split.parts, None, None)[1:3]
    if spikes.dtype != split.parts[0].dtype:
        raise TypeError(f"spikes of {spikes.dtype} do not fit parts of {split.parts[0].dtype}")
    (rows, inner), columns = spikes.shape, len(split.parts[0])
    arguments = {
        **{
            "spikes": spikes,
            "part0": split.parts[0],
            "part1": part1,
            "part2": part2,
            "scale": split.scale,
            "out": out,
        },
        **{"rows": rows, "columns": columns, "inner": inner},
        **{
            "spikes_stride": spikes.stride(0),
            "part_stride": split.parts[0].stride(0),
            "out_stride": out.stride(0),
        },
        **{"LOW": split.factors[1] if part1 is not None else 1.0, "enable_fp_fusion": False},
        **{
            "TILE_ROWS": ROWS,
            "TILE_COLUMNS": COLUMNS,
            "TILE_INNER": INNER,
            "num_warps": WARPS,
            "num_stages": STAGES,
        },
    }
    return triton.cdiv(rows, ROWS) * triton.cdiv(columns, COLUMNS), arguments


def spike_product(spikes: Tensor, split: Split) -> Tensor:
    """Returns float32 currents (R, N) of spikes (R, K) and a weight (N, K).

    Raises TypeError unless spikes have the parts' type.
    """
    out = spikes.new_empty((len(spikes), len(split.parts[0])), dtype=torch.float32)
    blocks, arguments = launch(spikes, split, out)
    if blocks:
        spike_product_kernel[(blocks,)](**arguments)
    return out
