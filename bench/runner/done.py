"""Records that count as done, the remaining work of a run, and reasons for measuring again."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..common.units import counted
from ..core.status import RETRIED
from ..experiment.measure import Measure
from ..experiment.order import comparison_groups, estimate_seconds
from ..records.identity import differences, done_key
from ..records.record import Record
from ..records.rows import grouped
from ..records.running import is_final
from ..records.store import ResultFolder
from .planning import PlannedCase

TOGETHER = "it is timed together with cases that have no record"
APART = "the cases of its group were not timed together"


def groups_of(cases: Iterable[PlannedCase]) -> list[list[PlannedCase]]:
    """Returns the comparison groups of planned cases."""
    planned_of = {planned.case: planned for planned in cases}
    return [[planned_of[case] for case in group] for group in comparison_groups([*planned_of])]


@dataclass(frozen=True)
class Split:
    """A group in one block: the records that are `kept`, by case id; the cases that are `missing`
    a record; and the kept ones that are timed again, `together` with these, if one of them is
    timed."""

    kept: dict[str, Record]
    missing: list[PlannedCase]
    together: list[PlannedCase]


def split(group: Sequence[PlannedCase], results: Mapping[str, Record | None]) -> Split:
    """Splits a group by its `results` of one block, by case id. Records of several live sets are
    not kept: their times cannot be compared."""
    live_sets = {result.live_set for result in results.values() if result and result.live_set}
    kept = {
        case_id: record
        for case_id, record in results.items()
        if record and not (record.live_set and len(live_sets) > 1)
    }
    missing = [planned for planned in group if planned.id not in kept]
    together = [planned for planned in group if planned.id in kept and kept[planned.id].live_set]
    return Split(kept, missing, together)


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

    def remaining(self, cases: Sequence[PlannedCase]) -> list[Remaining]:
        """Returns the remaining work of each case, without blocks that noise may require later.

        A case that fails or stops early in the first block is left out of the others. Finished
        cases count where one of their group is timed: they are timed together.
        """
        blocks, again = Counter[str](), dict[str, dict[str, None]]()
        for group in groups_of(cases):
            for block in range(self.measure.planned_blocks):
                results = {planned.id: self.result(planned, block) for planned in group}
                parts = split(group, results)
                timed = [planned for planned in parts.missing if not planned.status]
                for planned in [*timed, *parts.together] if timed else ():
                    whys = [TOGETHER]
                    if planned in timed:
                        whys = [APART] if results[planned.id] else self._again(planned)
                    blocks[planned.id] += 1
                    again.setdefault(planned.id, {}).update(dict.fromkeys(whys))
                if not block:
                    group = [
                        planned
                        for planned in group
                        if not ((first := results[planned.id]) and first.is_last)
                    ]
        return [self._remaining(planned, blocks[planned.id], again) for planned in cases]

    def _remaining(
        self, planned: PlannedCase, blocks: int, again: Mapping[str, Iterable[str]]
    ) -> Remaining:
        seconds = estimate_seconds(planned.case, blocks, self.measure.seconds_of_slots)
        return Remaining(
            planned,
            planned.status or ("to do" if blocks else "done"),
            blocks,
            seconds if blocks else 0.0,
            tuple(again.get(planned.id, ())),
        )

    def _again(self, planned: PlannedCase) -> list[str]:
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
