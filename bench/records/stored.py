"""Computes block contrasts of two sets that were measured at different times.

Between two sets the machine drifts by 1 to 3 % if it is quiet, and no block shows that. The common
part of a comparison group is removed: from a case's log ratio, new over base, the median of the
others' is subtracted. The canary, a constant task, counts as one of these. The rest, BETWEEN, is as
large as the noise of many blocks: see `Pair.spread`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.case import full_name
from ..core.result import Array
from .changes import Pair
from .pairing import levels
from .rows import Row, comparison_group, grouped
from .sides import canary

RowPair = tuple[Row, Row]
BETWEEN = float(np.sqrt(2)) * 0.01
"""Standard deviation of a log ratio between two quiet sets: each moves by 1 % against the other
cases of its run."""
BETWEEN_ALONE = float(np.sqrt(2)) * 0.026
"""The same of a time without others to compare with."""
FEWEST_OTHERS = 2
"""In smaller groups the common part is that of all cases on the device."""


@dataclass(frozen=True)
class _Phase:
    """Log ratios, new over base, of the pairs with times of a phase.

    `blocks` (pairs, blocks) are those of the case, `canaries` those of its canary, NaN if unknown;
    `published` (pairs, 1) those of the published times.
    """

    pairs: list[RowPair]
    blocks: Array
    canaries: Array
    published: Array


def stored_pairs(pairs: Sequence[RowPair], phase: str, same_machine: bool) -> list[Pair]:
    """Returns all cases with times of the phase in both sets.

    Between machines only ratios within a comparison group count, and a case that is alone in its
    group is left out.
    """
    timed = _phase([pair for pair in pairs if all(phase in row.estimates for row in pair)], phase)
    usable = np.array(
        [same_machine and old.case.device == "cpu" for old, _ in timed.pairs], dtype=bool
    )
    canaries = np.where(usable[:, None], timed.canaries, np.nan)
    contrasts, plain, result = timed.blocks.copy(), timed.published.copy(), []
    compared = np.zeros(len(timed.pairs), dtype=bool)
    for pool, members in _pools(timed.pairs, same_machine):
        at = np.searchsorted(pool, members)
        contrasts[members] = less_common(timed.blocks[pool], canaries[pool])[at]
        plain[members] = less_common(timed.published[pool])[at]
        compared[members] = len(pool) > 1
    compared |= np.isfinite(canaries).any(axis=1)
    for index, (old, now) in enumerate(timed.pairs):
        if not compared[index] and not same_machine:
            continue
        spread = BETWEEN if compared[index] else BETWEEN_ALONE
        seconds = old.estimates[phase].seconds, now.estimates[phase].seconds
        ratios = contrasts[index], float(plain[index, 0])
        result.append(Pair(full_name(old.case), phase, *seconds, *ratios, spread))
    return result


def common_shift(pairs: Sequence[RowPair]) -> float | None:
    """Returns the median ratio of published times, new over base: mostly the machine's drift.
    Each pair counts by the phase that ranks the base."""
    times = [
        [row.estimates[pair[0].ranked].seconds for row in pair]
        for pair in pairs
        if all(pair[0].ranked in row.estimates for row in pair)
    ]
    return float(np.median([now / old for old, now in times])) if times else None


def _phase(pairs: list[RowPair], phase: str) -> _Phase:
    numbers = sorted({record.block for pair in pairs for row in pair for record in row.records})
    blocks = {number: place for place, number in enumerate(numbers)}
    logs, canaries = np.full((2, len(pairs), 2, len(blocks)), np.nan)
    for index, pair in enumerate(pairs):
        for side, row in enumerate(pair):
            for record in row.records:
                at = blocks[record.block]
                if record.timing(phase):
                    logs[index, side, at] = levels([[record]], phase)[0, 0]
                if seconds := canary(record):
                    canaries[index, side, at] = np.log(seconds)
    published = np.log([[row.estimates[phase].seconds for row in pair] for pair in pairs]).reshape(
        -1, 2
    )
    return _Phase(
        pairs,
        logs[:, 1] - logs[:, 0],
        canaries[:, 1] - canaries[:, 0],
        published[:, 1:] - published[:, :1],
    )


def _pools(pairs: Sequence[RowPair], same_machine: bool) -> Iterator[tuple[list[int], list[int]]]:
    """Yields (pool, members): the common part of `members` is computed over the pairs of `pool`.

    A pool is a comparison group, or all pairs of the device for members of groups that are too
    small.
    """
    groups = grouped(range(len(pairs)), lambda index: comparison_group(pairs[index][0])[1:])
    devices = grouped(range(len(pairs)), lambda index: pairs[index][0].case.device)
    small: list[int] = []
    for members in groups.values():
        if len(members) > FEWEST_OTHERS or not same_machine:
            yield members, members
        else:
            small += members
    of_small = grouped(sorted(small), lambda index: pairs[index][0].case.device)
    for device, members in of_small.items():
        yield devices[device], members


def less_common(ratios: Array, canaries: Array | None = None) -> Array:
    """Returns log ratios (pairs, blocks), each less the median of the others' and its own canary's.

    NaN is unknown. Of two pairs alone it is unknown which changed: each gets half of the
    difference.
    """
    known = np.full(ratios.shape, np.nan) if canaries is None else canaries
    steadied = np.isfinite(known).any(axis=1, keepdims=True)
    less = ratios - _medians_of_others(ratios, known)
    if len(ratios) > 2:
        return less
    return np.where(steadied, less, ratios if len(ratios) == 1 else less / 2)


def _medians_of_others(values: Array, more: Array) -> Array:
    """Returns (pairs, blocks): the median of all other pairs' values in a block and of `more`."""
    blocks = zip(values.T, more.T, strict=True)
    medians: Array = np.array([_others_of_block(column, extra) for column, extra in blocks])
    return medians.reshape(values.T.shape).T


def _others_of_block(column: Array, extra: Array) -> Array:
    """Computes the medians of others in one block; sorted once, because 20,000 searches of all
    others take minutes."""
    there, added = np.isfinite(column), np.isfinite(extra)
    ordered = np.append(np.sort(column[there]), np.nan)
    rank = np.where(there, np.searchsorted(ordered[:-1], column), len(ordered))
    below = np.searchsorted(ordered[:-1], extra) - (there & (column < extra))
    count = there.sum() - there + added

    def smallest(nth: Array) -> Array:
        others = nth - (added & (nth > below))
        value = ordered[np.clip(others + (others >= rank), 0, len(ordered) - 1)]
        return np.where(added & (nth == below), extra, value)

    return np.where(count > 0, (smallest((count - 1) // 2) + smallest(count // 2)) / 2, np.nan)
