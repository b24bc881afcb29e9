"""Computes block contrasts of several cases: pass by pass if their processes were alive
together, else block by block."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ..core.result import Array
from .contrasts import block_contrasts, nanmean
from .record import Record, Timing

Block = tuple[str, int]
"""A result set, and the number of a block in it."""
Cases = Sequence[Sequence[Record]]
"""The records of each case."""


def levels(cases: Cases, phase: str) -> Array:
    """Returns log seconds (cases, blocks) of a phase: the median over a block's slots; NaN if
    fewer than half are undisturbed."""
    return _levels(_blocks(cases, phase), len(cases))


def counts(record: Record, phase: str) -> bool:
    """Returns whether the time of a block counts: at least half of its slots are undisturbed."""
    return bool(np.isfinite(levels([[record]], phase)).any())


def contrasts(cases: Cases, phase: str, disturbed: bool = False, clock: str = "wall") -> Array:
    """Returns log ratios (cases, cases, blocks) of the first case's seconds over the second's, on
    `clock` (wall or device).

    For cases that were alive together it is the median over shared passes. Two cases without a
    shared pass, because the group exceeded the memory, are linked by a third that shares passes
    with both. Else it is the difference of their medians in a block. Cases of different sets share
    no block: NaN. Disturbed slots count only if `disturbed` is set.
    """
    blocks = _blocks(cases, phase, disturbed, clock)
    block_levels = _levels(blocks, len(cases))
    result = block_levels[:, None] - block_levels[None, :]
    for at, timed in enumerate(blocks.values()):
        for live_set in {slots.live_set for slots in timed.values()} - {None}:
            alive = [index for index, slots in timed.items() if slots.live_set == live_set]
            together = np.ix_(alive, alive, [at])
            result[together] = _paired(
                [timed[index].logs for index in alive], result[together][..., 0]
            )[..., None]
    return result


def rough_ratios(cases: Cases, phase: str) -> Array:
    """Returns mean log ratios (cases, cases) of all slots, for cases with too few clean ones;
    NaN if no block has both."""
    return nanmean(contrasts(cases, phase, disturbed=True))


@dataclass(frozen=True)
class _Slots:
    """Log seconds of a phase by pass; NaN if a slot does not count."""

    live_set: str | None
    logs: dict[int, float]


def _blocks(
    cases: Cases, phase: str, disturbed: bool = False, clock: str = "wall"
) -> dict[Block, dict[int, _Slots]]:
    """Returns the slots of the phase by block and by the index of the case."""
    blocks: dict[Block, dict[int, _Slots]] = {}
    for index, records in enumerate(cases):
        for record in records:
            if timing := record.timing(phase):
                blocks.setdefault((record.set, record.block), {})[index] = _Slots(
                    record.live_set, _logs(timing, disturbed, clock)
                )
    return blocks


def _logs(timing: Timing, all_count: bool, clock: str) -> dict[int, float]:
    """Returns log seconds by pass. If a slot was repeated in its pass, the undisturbed one
    counts."""
    logs: dict[int, float] = {}
    for number, seconds, disturbed in zip(
        *map(timing.column, ("in_pass", clock, "disturbed")), strict=True
    ):
        if number not in logs or not disturbed:
            counts = seconds and (all_count or not disturbed)
            logs[number] = math.log(seconds) if counts else math.nan
    return logs


def _levels(blocks: dict[Block, dict[int, _Slots]], count: int) -> Array:
    result = np.full((count, len(blocks)), np.nan)
    for at, timed in enumerate(blocks.values()):
        for index, slots in timed.items():
            known = [seconds for seconds in slots.logs.values() if not math.isnan(seconds)]
            if known and 2 * len(known) >= len(slots.logs):
                result[index, at] = median(known)
    return result


def _paired(logs: Sequence[dict[int, float]], unpaired: Array) -> Array:
    """Returns contrasts of cases that were alive together; `unpaired` if nothing links two of them.

    A slow case has slots in some passes only: half of the shared ones must count.
    """
    passes = sorted({number for each in logs for number in each})
    slots = np.array([[each.get(number, np.nan) for number in passes] for each in logs])
    timed = np.array([[number in each for number in passes] for each in logs])
    shared = (timed[:, None] & timed[None, :]).sum(axis=-1)
    result = np.where(shared > 0, block_contrasts(slots[:, None], slots[None, :], shared), unpaired)
    for first, second in np.argwhere(shared == 0):
        links = np.minimum(shared[first], shared[second])
        if links.any():
            anchor = links.argmax()
            result[first, second] = result[first, anchor] + result[anchor, second]
    return result
