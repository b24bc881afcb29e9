"""The order in which a kernel walks over sequences, for tensors of any strides."""

import math
from dataclasses import dataclass
from functools import lru_cache

import torch

MAX_DIMS = 4
"""Dims beside time that kernels walk over. A dense tensor with a channel axis never needs more."""


@dataclass(frozen=True)
class Layout:
    """Sequences as MAX_DIMS nested dims (unused leading ones have size 1), and each tensor's strides over them, in elements.

    The last dim is the one with the smallest stride in the first tensor.
    """

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        """The number of sequences."""
        return math.prod(self.sizes)


class Unwalkable(Exception):
    """The tensors' axes lie in memory in such different orders that MAX_DIMS dims do not cover them; they must be copied."""


def collapse(sizes: tuple[int, ...], strides: tuple[tuple[int, ...], ...], keep_last: bool = False) -> Layout:
    """Sort dims by the strides of the first tensor, and merge neighbours that are contiguous in every tensor.

    `sizes` and each of `strides` describe the inner dims. With `keep_last` the last dim stays last and unmerged.
    Raises Unwalkable if more than MAX_DIMS dims are left.
    """
    fixed = [len(sizes) - 1] if keep_last and len(sizes) else []
    free = sorted((d for d in range(len(sizes)) if d not in fixed), key=lambda d: -strides[0][d])
    merged: list[tuple[int, list[int]]] = []
    for d in [*free, *fixed]:
        size, steps = sizes[d], [s[d] for s in strides]
        if size == 1 and d not in fixed:
            continue
        if merged and d not in fixed and all(outer == inner * size for outer, inner in zip(merged[-1][1], steps, strict=True)):
            merged[-1] = (merged[-1][0] * size, steps)
        else:
            merged.append((size, steps))
    if len(merged) > MAX_DIMS:
        raise Unwalkable
    merged = [(1, [0] * len(strides))] * (MAX_DIMS - len(merged)) + merged
    return Layout(tuple(size for size, _ in merged), tuple(zip(*(steps for _, steps in merged), strict=True)))


def walk(
    steps: dict[str, torch.Tensor | None], inner: dict[str, torch.Tensor | None], keep_last: bool = False
) -> tuple[Layout, dict[str, tuple[int, ...]]]:
    """One layout for tensors (T, *inner), `steps`, and (*inner), `inner`, by name; and each name's strides.

    Strides are (time, *MAX_DIMS), with time 0 for tensors without it and all 0 for None. The first of `steps` must not be
    None: it sets the order. Raises Unwalkable.
    """
    order = next(iter(steps.values()))
    assert order is not None
    timed = tuple((name, None if t is None else t.stride()) for name, t in steps.items())
    untimed = tuple((name, None if t is None else t.stride()) for name, t in inner.items())
    return _walk(tuple(order.shape[1:]), timed, untimed, keep_last)


@lru_cache(maxsize=1024)
def _walk(shape, timed, untimed, keep_last):
    strides = {name: s for name, s in timed if s is not None}
    strides.update({name: (0, *s) for name, s in untimed if s is not None})
    layout = collapse(shape, tuple(s[1:] for s in strides.values()), keep_last)
    present = {name: (s[0], *over) for (name, s), over in zip(strides.items(), layout.strides, strict=True)}
    absent = (0,) * (MAX_DIMS + 1)
    return layout, {name: present.get(name, absent) for name, _ in (*timed, *untimed)}
