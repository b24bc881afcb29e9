"""Records that count as done, the remaining work of a run, and reasons for measuring again."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..common.units import counted
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
class Remaining:
    """The remaining work of one planned case: its state as a word, blocks to measure, estimated
    seconds, and the reasons for measuring it again (`again`)."""

    planned: PlannedCase
    state: str
    blocks: int
    seconds: float
    again: tuple[str, ...] = ()


@dataclass(frozen=True)
class Done:
    """Records in `folder` that count for a run with the settings `measure` on `machine`."""

    folder: ResultFolder
    measure: Measure
    machine: dict[str, Any]

    def key(self, planned: PlannedCase) -> str:
        """A hash of settings, framework, packages, adapter files, machine and recordings; a record
        counts only with the same hash."""
        return done_key(*self._made_of(planned))

    def result(self, planned: PlannedCase, block: int) -> Record | None:
        """Returns the record of this case and block with the same key; None for a failure, which is
        retried."""
        record = self.folder.record(planned.id, block, self.key(planned))
        return record if record and (record.status not in RETRIED or is_final(record)) else None

    def remaining(self, planned: PlannedCase) -> Remaining:
        """Returns the remaining work of a case, without blocks that noise may require later.

        A case that fails or stops early in the first block is left out of the others.
        """
        results = [self.result(planned, block) for block in range(self.measure.planned_blocks)]
        blocks = (
            0
            if planned.status or (results[0] is not None and results[0].is_last)
            else results.count(None)
        )
        seconds = (
            estimate_seconds(planned.case, blocks, self.measure.seconds_of_slots) if blocks else 0.0
        )
        again = tuple(self._again(planned)) if blocks else ()
        return Remaining(
            planned, planned.status or ("to do" if blocks else "done"), blocks, seconds, again
        )

    def _again(self, planned: PlannedCase) -> Iterable[str]:
        earlier = self._earlier.get(planned.id, [])
        if failures := {
            record.status for record in earlier if record.done_key == self.key(planned)
        } & {*RETRIED}:
            return [f"it ended with {status}" for status in sorted(failures)]
        if not earlier or any(record.done_key == self.key(planned) for record in earlier):
            return []
        newest = max(earlier, key=lambda record: record.started_at)
        return [*differences(newest, *self._made_of(planned))] or [
            "its record is of another version of snnbench"
        ]

    @cached_property
    def _earlier(self) -> dict[str, list[Record]]:
        """All records of the folder, by case id."""
        return grouped(self.folder.read_records()[0], lambda record: record.case_id)

    def _made_of(self, planned: PlannedCase) -> tuple[Any, ...]:
        return (
            self.measure.model_dump(),
            planned.adapter.recorded,
            planned.environment.facts,
            self.machine,
            planned.recordings,
        )


def reasons(cases: Iterable[Remaining]) -> list[str]:
    """Returns a line for each reason for measuring again, with its number of cases."""
    counts = Counter(reason for remaining in cases for reason in remaining.again)
    return [
        f"measured again: {reason} ({counted(count, 'case')})" for reason, count in counts.items()
    ]
