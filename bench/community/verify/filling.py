"""How much of a slot its calls fill, by the harness's clock: calls told too short leave time that nothing explains."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.case import full_name
from ...measure.slots import LONG_CALL_S, SETTLING_S
from ...records.record import Record, Slot
from ...records.rows import grouped
from .fault import Fault

AROUND_S = 0.02
"""Seconds of a slot for the order, the answer and collecting garbage: 3 to 15 ms were seen."""
SHORTEST_S = 0.025
"""A slot with less to fill, as those of a smoke test, tells nothing."""
LEAST_SHARE = 0.2
"""Of what is left to them, that calls with their preparation fill on a CPU: least were 30 %, of calls of 0.14 ms."""
MOST_UNEXPLAINED = 2.5
"""Seconds beyond the others' preparation for each second of calls: at most 1.5 were seen."""
PREPARED_BY = {
    "forward": (),
    "inference": (),
    "step": (),
    "backward": ("forward",),
    "optimizer": ("forward", "backward"),
}
"""Phases that run outside the clock before each call of a phase."""


@dataclass(frozen=True)
class Filling:
    """Of each undisturbed slot of one phase of a record: the number of `calls`, the seconds that are `left` to them, and the
    seconds `filled` by them and by the phases that prepare them, each at its median."""

    record: Record
    filled: np.ndarray
    left: np.ndarray
    calls: np.ndarray

    @property
    def share(self) -> float:
        return float(np.median(self.filled / self.left))

    @property
    def unclocked(self) -> float:
        """Seconds by call that nothing timed fills: what each takes of preparation, at most."""
        return float(np.median((self.left + AROUND_S - self.filled) / self.calls))

    def unexplained(self, preparation: float) -> float:
        """Seconds for each second of calls, if a call takes so many of preparation."""
        return float(
            np.median((self.left - self.filled - self.calls * max(preparation, 0.0)) / self.filled)
        )


def unfilled(records: Sequence[Record]) -> Iterator[Fault]:
    """Phases whose calls fill too little of their slots, of all or beside other frameworks of their comparison."""
    timed = [
        (record, phase) for record in records for phase in record.parts if phase in PREPARED_BY
    ]
    for (*_, phase), same in grouped(timed, _comparison).items():
        fillings = [filling for record, phase in same if (filling := _filling(record, phase))]
        for one in fillings:
            if np.median(one.left) < SHORTEST_S:
                continue
            where = f"{full_name(one.record.typed_case)}, block {one.record.block + 1}, {phase}"
            told = f"its calls fill {one.share:.1%} of their slots' time"
            if one.record.case["device"] == "cpu" and one.share < LEAST_SHARE:
                yield Fault("unfilled", where, f"{told}: at least {LEAST_SHARE:.0%} is plausible")
                continue
            name = one.record.case["framework"]
            others = [
                other.unclocked for other in fillings if other.record.case["framework"] != name
            ]
            if others and (times := one.unexplained(max(others))) > MOST_UNEXPLAINED:
                text = f"beside what others prepare {times:.1f} times as much is left, and at most {MOST_UNEXPLAINED:g} is plausible"
                yield Fault("unfilled", where, f"{told}: {text}")


def _comparison(told: tuple[Record, str]) -> tuple[str, int, str, str]:
    record, phase = told
    return record.set, record.block, full_name(record.typed_case).partition(" ")[2], phase


def _filling(record: Record, phase: str) -> Filling | None:
    """None where nothing was timed undisturbed, or where nobody knows what passed or what prepared it."""
    timing = record.timing(phase)
    slots = (
        [slot for slot in timing.slots if slot.elapsed is not None and not slot.disturbed]
        if timing
        else []
    )
    before = [record.timing(name) for name in PREPARED_BY[phase]]
    if not slots or any(one is None or not len(one.slots) for one in before):
        return None
    preparing = sum(float(np.median(one.column("wall"))) for one in before if one)
    return Filling(
        record,
        np.array([slot.calls * (slot.wall + preparing) for slot in slots]),
        np.array([max(_left(slot, preparing), 1e-9) for slot in slots]),
        np.array([slot.calls for slot in slots]),
    )


def _left(slot: Slot, preparing: float) -> float:
    """What of a slot's time is neither around its calls nor before them: settling ends with the call that is under way."""
    settling = SETTLING_S + slot.high + preparing if slot.wall < LONG_CALL_S else 0.0
    return (slot.elapsed or 0.0) - AROUND_S - settling
