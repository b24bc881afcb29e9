"""Order in which a kernel walks over sequences, for tensors of any strides."""

from functools import lru_cache

MAX_DIMS = 4
"""Most dims beside time; a dense tensor with a channel axis never needs more."""

Strides = tuple[int, ...]


class Unwalkable(Exception):
    """The tensors' memory orders differ beyond MAX_DIMS dims: copies are needed."""


@lru_cache(maxsize=1024)
def walk(
    sizes: tuple[int, ...],
    tensors: tuple[tuple[str, Strides | None], ...],
    order: str,
    keep_last: bool = False,
) -> tuple[tuple[int, ...], dict[str, Strides]]:
    """Sorts dims by the strides of the tensor `order`, and merges dims contiguous in every tensor.

    `sizes` are those of the inner dims; `tensors` are names with the strides of (T, *inner) or
    (*inner), None for absent ones. With `keep_last` the last dim stays last and unmerged. Returns
    the sizes of 1 to MAX_DIMS nested dims, and each tensor's strides (time, *dims), in elements:
    time is 0 for tensors without it, all are 0 for absent ones. Raises Unwalkable.
    """
    present = {name: s if len(s) > len(sizes) else (0, *s) for name, s in tensors if s is not None}
    fixed = [len(sizes) - 1] if keep_last else []
    free = sorted(
        (d for d in range(len(sizes)) if d not in fixed), key=lambda d: -present[order][1 + d]
    )
    merged: list[tuple[int, list[int]]] = []
    for d in [*free, *fixed]:
        size, steps = sizes[d], [s[1 + d] for s in present.values()]
        if size == 1 and d not in fixed:
            continue
        if (
            merged
            and d not in fixed
            and all(
                outer == inner * size for outer, inner in zip(merged[-1][1], steps, strict=True)
            )
        ):
            merged[-1] = (merged[-1][0] * size, steps)
        else:
            merged.append((size, steps))
    if len(merged) > MAX_DIMS:
        raise Unwalkable
    merged = merged or [(1, [0] * len(present))]
    over = zip(*(steps for _, steps in merged), strict=True)
    walked = {name: (s[0], *inner) for (name, s), inner in zip(present.items(), over, strict=True)}
    absent = (0,) * (1 + len(merged))
    return tuple(size for size, _ in merged), {
        name: walked.get(name, absent) for name, _ in tensors
    }
