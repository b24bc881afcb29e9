"""Describes the two sides of a comparison, and finds reasons not to judge their times."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ..common import units
from ..core.case import PHASES
from .quality import MOST_DISTURBED
from .record import Record
from .rows import Row

SAME_CANARY = 1.03
"""Largest factor between the canaries of two compared sets."""
MANY_PREEMPTED, FEW_PREEMPTED = 0.10, 0.02
"""Shares of the slots: one side as busy as the first and the other as quiet as the second were
not measured alike."""


@dataclass(frozen=True)
class Side:
    """What was measured of the compared rows.

    `blocks` are the fewest and most of a row, `slots` those of all phases, `disturbed` and
    `preempted` shares of them, `canary` its seconds, if there was one.
    """

    blocks: tuple[int, int]
    slots: int
    disturbed: float
    preempted: float
    canary: float | None


def side_of(rows: Sequence[Row]) -> Side:
    slots = [each for row in rows for phase in PHASES for each in row.column(phase, "disturbed")]
    blocks = [len(row.timings(row.ranked)) for row in rows]
    canaries = {
        (each.set, each.block, each.live_set): seconds
        for row in rows
        for each in row.records
        if (seconds := canary(each))
    }
    return Side(
        (min(blocks, default=0), max(blocks, default=0)),
        len(slots),
        _share(each is not None for each in slots),
        _share(each == "preempted" for each in slots),
        float(np.exp(np.mean(np.log([*canaries.values()])))) if canaries else None,
    )


def canary(record: Record) -> float | None:
    """Returns the canary's median seconds in undisturbed passes of a block; None if there are
    none."""
    known = [seconds for seconds in record.monitor.get("canary") or [] if seconds]
    return median(known) if known else None


def doubts(base: Side, new: Side, same_machine: bool, names: tuple[str, str]) -> list[str]:
    """Returns reasons, in words, why no time of the two sides may be called changed."""
    reasons = [
        f"{side.disturbed:.0%} of the slots of {name} were disturbed"
        for name, side in zip(names, (base, new), strict=True)
        if side.disturbed > MOST_DISTURBED
    ]
    quiet, busy = sorted((base.preempted, new.preempted))
    if busy > MANY_PREEMPTED and quiet < FEW_PREEMPTED:
        reasons.append(f"{busy:.0%} of the slots of one were preempted, {quiet:.0%} of the other")
    ratio = canary_ratio(base, new)
    if same_machine and ratio is not None and not 1 / SAME_CANARY <= ratio <= SAME_CANARY:
        reasons.append(f"the canary took {units.ratio(ratio)} its time")
    return reasons


def canary_ratio(base: Side, new: Side) -> float | None:
    """Returns the canary's ratio, new over base; None if a side has no canary."""
    return new.canary / base.canary if base.canary and new.canary else None


def _share(values: Iterable[bool]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else 0.0
