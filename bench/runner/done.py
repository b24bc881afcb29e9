"""Which records of earlier runs count as done, what a run still has to do, and why it measures something again."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..core.status import RETRIED
from ..experiment.measure import Measure
from ..experiment.order import estimate_seconds
from ..records.identity import differences, done_key
from ..records.record import Record
from ..records.rows import grouped
from ..records.running import is_final
from ..records.store import ResultFolder
from .planning import PlannedCase


@dataclass(frozen=True)
class Left:
    """The work that is left of one planned case: its state in words, blocks to measure, a guess of the seconds, and why what was
    measured before is measured again."""

    planned: PlannedCase
    state: str
    blocks: int
    seconds: float
    again: tuple[str, ...] = ()


@dataclass(frozen=True)
class Done:
    """Which records in `folder` count for a run that measures like `measure` on `machine` (of `machine_facts`)."""

    folder: ResultFolder
    measure: Measure
    machine: dict[str, Any]

    def key(self, planned: PlannedCase) -> str:
        """A hash of settings, framework, packages, adapter files and machine. A record counts only if it has the same."""
        return done_key(*self._made_of(planned))

    def result(self, planned: PlannedCase, block: int) -> Record | None:
        """The record of an earlier run for this case and block, with the same key. A failure is no result: it is tried again."""
        record = self.folder.record(planned.id, block, self.key(planned))
        return record if record and (record.status not in RETRIED or is_final(record)) else None

    def left(self, planned: PlannedCase) -> Left:
        """What a run would still do for a case, further blocks that noise may call for left out. If its first block ended without
        times, or it left there, the others are not measured."""
        results = [self.result(planned, block) for block in range(self.measure.sure_blocks)]
        blocks = (
            0
            if planned.status or (results[0] is not None and results[0].is_last)
            else results.count(None)
        )
        seconds = (
            estimate_seconds(planned.case, blocks, self.measure.seconds_of_slots) if blocks else 0.0
        )
        again = tuple(self._again(planned)) if blocks else ()
        return Left(
            planned, planned.status or ("to do" if blocks else "done"), blocks, seconds, again
        )

    def _again(self, planned: PlannedCase) -> Iterable[str]:
        earlier = self._earlier.get(planned.id, [])
        if failures := {one.status for one in earlier if one.done_key == self.key(planned)} & {
            *RETRIED
        }:
            return [f"it ended with {status}" for status in sorted(failures)]
        if not earlier or any(one.done_key == self.key(planned) for one in earlier):
            return []
        newest = max(earlier, key=lambda record: record.started_at)
        return [*differences(newest, *self._made_of(planned))] or [
            "its record is of another version of snnbench"
        ]

    @cached_property
    def _earlier(self) -> dict[str, list[Record]]:
        """All records of the folder, by their cases."""
        return grouped(self.folder.read_records()[0], lambda record: record.case_id)

    def _made_of(
        self, planned: PlannedCase
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
        return self.measure.model_dump(), planned.adapter.recorded, planned.home.facts, self.machine


def reasons(cases: Iterable[Left]) -> list[str]:
    """Why cases are measured again, a line each, with the number of cases that it is about."""
    counts = Counter(reason for left in cases for reason in left.again)
    return [
        f"measured again: {reason} ({count} case{'s' * (count > 1)})"
        for reason, count in counts.items()
    ]
