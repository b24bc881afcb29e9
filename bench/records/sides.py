"""What is to be known of the two sides of a comparison before their times are judged, and why they may not be judged."""

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
"""Factor by which a task that is always the same may differ between two sets that are compared."""
MANY_PREEMPTED, FEW_PREEMPTED = 0.10, 0.02
"""Shares of the slots: one side as busy as the first and the other as quiet as the second were not measured alike."""


@dataclass(frozen=True)
class Side:
    """What was measured of the rows that are compared: fewest and most blocks of a row, the slots of all phases, the shares of
    them that were disturbed and preempted, and the seconds of the canary, if there was one."""

    blocks: tuple[int, int]
    slots: int
    disturbed: float
    preempted: float
    canary: float | None


def side_of(rows: Sequence[Row]) -> Side:
    slots = [one for row in rows for phase in PHASES for one in row.column(phase, "disturbed")]
    blocks = [len(row.timings("step")) for row in rows]
    canaries = {
        (one.set, one.block, one.live_set): seconds
        for row in rows
        for one in row.records
        if (seconds := canary(one))
    }
    return Side(
        (min(blocks, default=0), max(blocks, default=0)),
        len(slots),
        _share(one is not None for one in slots),
        _share(one == "preempted" for one in slots),
        float(np.exp(np.mean(np.log([*canaries.values()])))) if canaries else None,
    )


def canary(record: Record) -> float | None:
    """Seconds of the canary in the passes of a block in which it had its core; None if there are none."""
    known = [seconds for seconds in record.monitor.get("canary") or [] if seconds]
    return median(known) if known else None


def doubts(base: Side, new: Side, same_machine: bool, names: tuple[str, str]) -> list[str]:
    """Why no time of these two may be called changed, in words; `names` are theirs."""
    found = [
        f"{side.disturbed:.0%} of the slots of {name} were disturbed"
        for name, side in zip(names, (base, new), strict=True)
        if side.disturbed > MOST_DISTURBED
    ]
    quiet, busy = sorted((base.preempted, new.preempted))
    if busy > MANY_PREEMPTED and quiet < FEW_PREEMPTED:
        found.append(f"{busy:.0%} of the slots of one were preempted, {quiet:.0%} of the other")
    ratio = canary_ratio(base, new)
    if same_machine and ratio is not None and not 1 / SAME_CANARY <= ratio <= SAME_CANARY:
        found.append(f"the canary took {units.ratio(ratio)} its time")
    return found


def canary_ratio(base: Side, new: Side) -> float | None:
    """New over base; None where one of them had none."""
    return new.canary / base.canary if base.canary and new.canary else None


def _share(values: Iterable[bool]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else 0.0
