"""Records of several cases → block contrasts: pass by pass where their processes were alive together, else block by block."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ..core.result import Array
from .contrasts import block_contrasts, means
from .record import Record, Timing

Block = tuple[str, int]
"""A result set, and the number of a block in it."""
Cases = Sequence[Sequence[Record]]
"""The records of each case."""


def levels(cases: Cases, phase: str) -> Array:
    """Log seconds (cases, blocks) of a phase: the median over a block's slots; NaN where fewer than half are undisturbed."""
    return _levels(_blocks(cases, phase), len(cases))


def contrasts(cases: Cases, phase: str, disturbed: bool = False) -> Array:
    """Log ratios (cases, cases, blocks) of the first case's seconds over the second's.

    Where both were alive together it is the median over the passes that they share. Of two that share none, because the
    group was too big for the memory, it is the sum of their contrasts with a third that shares passes with both. Else it is the
    difference of their medians in a block. Cases of different sets have no block in common: NaN. Slots that were `disturbed`
    count only if that is set.
    """
    blocks = _blocks(cases, phase, disturbed)
    own = _levels(blocks, len(cases))
    found = own[:, None] - own[None, :]
    for at, timed in enumerate(blocks.values()):
        for live_set in {slots.live_set for slots in timed.values()} - {None}:
            alive = [index for index, slots in timed.items() if slots.live_set == live_set]
            together = np.ix_(alive, alive, [at])
            found[together] = _paired(
                [timed[index].logs for index in alive], found[together][..., 0]
            )[..., None]
    return found


def rough_ratios(cases: Cases, phase: str) -> Array:
    """Mean log ratios (cases, cases) of all slots, for those of whom too few were clean: pass by pass, so that what slowed both
    cancels out as far as it can. NaN where no block has both."""
    return means(contrasts(cases, phase, disturbed=True))


@dataclass(frozen=True)
class _Slots:
    """Log seconds of a phase by pass, NaN where a slot does not count."""

    live_set: str | None
    logs: dict[int, float]


def _blocks(cases: Cases, phase: str, disturbed: bool = False) -> dict[Block, dict[int, _Slots]]:
    """What was timed of the phase, by block and by the number of the case."""
    blocks: dict[Block, dict[int, _Slots]] = {}
    for index, records in enumerate(cases):
        for record in records:
            if timing := record.timing(phase):
                blocks.setdefault((record.set, record.block), {})[index] = _Slots(
                    record.live_set, _logs(timing, disturbed)
                )
    return blocks


def _logs(timing: Timing, all_count: bool) -> dict[int, float]:
    """Where a slot was repeated in its pass, the undisturbed one counts."""
    logs: dict[int, float] = {}
    for number, wall, disturbed in zip(
        *map(timing.column, ("in_pass", "wall", "disturbed")), strict=True
    ):
        if number not in logs or not disturbed:
            logs[number] = math.nan if disturbed and not all_count else math.log(wall)
    return logs


def _levels(blocks: dict[Block, dict[int, _Slots]], count: int) -> Array:
    found = np.full((count, len(blocks)), np.nan)
    for at, timed in enumerate(blocks.values()):
        for index, slots in timed.items():
            known = [seconds for seconds in slots.logs.values() if not math.isnan(seconds)]
            if known and 2 * len(known) >= len(slots.logs):
                found[index, at] = median(known)
    return found


def _paired(logs: Sequence[dict[int, float]], unpaired: Array) -> Array:
    """Contrasts of cases that were alive together, by the slots of each; `unpaired` where nothing links two of them. A slow case
    has slots in some passes only: half of those that two share must count."""
    passes = sorted({number for one in logs for number in one})
    slots = np.array([[one.get(number, np.nan) for number in passes] for one in logs])
    timed = np.array([[number in one for number in passes] for one in logs])
    shared = (timed[:, None] & timed[None, :]).sum(axis=-1)
    found = np.where(shared > 0, block_contrasts(slots[:, None], slots[None, :], shared), unpaired)
    for first, second in np.argwhere(shared == 0):
        links = np.minimum(shared[first], shared[second])
        if links.any():
            anchor = links.argmax()
            found[first, second] = found[first, anchor] + found[anchor, second]
    return found
