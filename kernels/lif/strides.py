"""How a kernel walks over sequences that lie in memory in any order."""

from dataclasses import dataclass
from functools import lru_cache

import torch

MAX_DIMS = 4
"""Dims that kernels walk over beside time: what a dense tensor with a channel axis needs at most."""


@dataclass(frozen=True)
class Layout:
    """Sequences as MAX_DIMS nested dims (leading ones of size 1), and each tensor's strides over them, in elements.

    The last dim is the one that is densest in memory in the tensor that was named first.
    """

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        """Sequences in all."""
        product = 1
        for size in self.sizes:
            product *= size
        return product


class Unwalkable(Exception):
    """The tensors' axes lie in memory in orders so unlike that MAX_DIMS dims do not cover them: copies are needed."""


def collapse(sizes: tuple[int, ...], strides: tuple[tuple[int, ...], ...], keep_last: bool = False) -> Layout:
    """Sort dims by the strides of the first tensor, merge what is contiguous in every tensor.

    `sizes` and each of `strides` describe the inner dims. `keep_last`: the last dim stays last and unmerged.
    Raises Unwalkable if more than MAX_DIMS are left.
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


def walk(steps: dict[str, torch.Tensor | None], inner: dict[str, torch.Tensor | None], keep_last: bool = False):
    """One layout for tensors (T, *inner) and inner, by name; None is allowed. Returns (layout, strides by name).

    Each name's strides are (time, *MAX_DIMS), time 0 for tensors without it, all 0 for None. The first of `steps` sets
    the order. Raises Unwalkable.
    """
    order = next(iter(steps.values()))
    timed = tuple((name, None if t is None else t.stride()) for name, t in steps.items())
    untimed = tuple((name, None if t is None else t.stride()) for name, t in inner.items())
    return _walk(tuple(order.shape[1:]), timed, untimed, keep_last)


@lru_cache(maxsize=1024)
def _walk(shape, timed, untimed, keep_last):
    strides = {name: s for name, s in timed if s is not None}
    strides.update({name: (0, *s) for name, s in untimed if s is not None})
    layout = collapse(shape, tuple(s[1:] for s in strides.values()), keep_last)
    found = {name: (s[0], *over) for (name, s), over in zip(strides.items(), layout.strides, strict=True)}
    none = (0,) * (MAX_DIMS + 1)
    return layout, {name: found.get(name, none) for name, _ in (*timed, *untimed)}
