"""Turns records into one row per case, with published figures and the rank in its group."""

from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from statistics import geometric_mean, median
from typing import Any, TypeVar

from ..core.case import PHASES, PRECISIONS, SPIKE_SHARE, WORKLOAD_AXES, Case
from ..core.status import OWN_SIZE, worst
from ..core.variant import VARIANT_FIELDS
from .identity import image_of, made_of
from .pairing import counts
from .quality import disturbed_share, flags
from .ranking import Estimate, Standing, estimates, standings
from .record import Record, Timing

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
SAME = 0.02
"""Relative difference between a time and the one that belongs to its ratio that is no
contradiction."""
Group = tuple[Any, ...]
"""The key that all rows that are ranked together share."""


@dataclass
class Row:
    """All records of one case on one machine in one set, by one adapter, framework and set of
    packages."""

    case: Case
    """The case as this report names it: the framework's name says how rows of one name differ."""
    records: list[Record]
    estimates: dict[str, Estimate] = field(default_factory=dict)
    """The published time of each phase with slots."""
    machine: str = ""
    """The hash of the machine's kind and, if the report has several of that kind, which one."""
    standing: Standing | None = None
    """None if the row may not be ranked."""
    paired_s: float | None = None
    """The fastest's time times the ratio to it, if the case's time contradicts that ratio."""
    surely_slower: tuple[str, ...] = ()
    """Framework variants of the same group that are surely slower."""
    floors: dict[str, float] = field(default_factory=dict)
    """The hardware's least time in seconds by phase, the same for all rows of a group."""
    interrupted: bool = False
    """True if a later block was interrupted; its record is not in `records`."""

    @cached_property
    def axes(self) -> dict[str, Any]:
        """The fields of the case by name, without those that the workload does not use."""
        return {name: value for name, value in vars(self.case).items() if value is not None}

    @property
    def first(self) -> Record:
        """The record of the block that proved and weighed."""
        return self.records[0]

    @cached_property
    def ranked(self) -> str:
        """The phase by which it is ranked."""
        return self.first.ranked

    @cached_property
    def status(self) -> str:
        return worst(record.status for record in self.records)

    @property
    def reason(self) -> str | None:
        worst_ones = (record for record in self.records if record.status == self.status)
        return next((record.reason for record in worst_ones if record.reason), None)

    @property
    def proved(self) -> bool:
        return bool(self.first.proof and self.first.proof["passed"])

    @property
    def loosened(self) -> tuple[str, ...]:
        """The rules, in words, by which the proof asked less than usual."""
        return tuple(self.first.proof.get("loosened", ())) if self.first.proof else ()

    @property
    def sound(self) -> bool:
        """True if it is proved, not refused, and has a time to be ranked by."""
        return self.status == "ok" and self.proved and self.ranked in self.estimates

    @property
    def rankable(self) -> bool:
        """True if it is sound and not a native neuron, which differs between frameworks."""
        return self.sound and not self.case.native

    def phase_status(self, phase: str) -> str | None:
        """Returns the worst status of a phase in all blocks; None if no block reached it."""
        known = [
            status
            for record in self.records
            if phase in record.parts and (status := record.parts[phase].status)
        ]
        return worst(known) if known else None

    def timings(self, phase: str) -> list[Timing]:
        """Returns the timings of a phase by block, without blocks that have no slots."""
        return [
            timing
            for record in self.records
            if (timing := record.timing(phase)) and len(timing.slots)
        ]

    def column(self, phase: str, name: str) -> list[Any]:
        """Returns one value of all slots of a phase."""
        return [value for timing in self.timings(phase) for value in timing.column(name)]

    def median(self, phase: str, clock: str) -> float | None:
        """Returns seconds on `clock` (wall, enqueue, device or device_warm), computed as the
        published time: the median of each block over its undisturbed slots, or over all if each
        was disturbed."""
        medians = []
        for timing in self.timings(phase):
            seconds = timing.column(clock)
            sound = [
                each
                for each, disturbed in zip(seconds, timing.column("disturbed"), strict=True)
                if not disturbed
            ]
            if known := [each for each in sound or seconds if each is not None]:
                medians.append(median(known))
        return (geometric_mean(medians) if min(medians) > 0 else 0.0) if medians else None

    @property
    def disturbed_share(self) -> float | None:
        """The share of the ranked phase's slots that were disturbed; None if there are none."""
        return disturbed_share(self.records)

    @cached_property
    def unclean(self) -> str:
        """Why its time is one of disturbed slots, in short; empty if enough slots were clean."""
        if self.disturbed_share is None or any(counts(each, self.ranked) for each in self.records):
            return ""
        few = "no clean slot" if self.disturbed_share == 1 else "too few clean slots"
        return f"{few}: shown from disturbed ones"

    @property
    def stopped_beyond(self) -> float | None:
        """The factor to the fastest beyond which it was stopped early; None if it was not."""
        return max((each.beyond for each in self.records if each.beyond), default=None)

    def part_seconds(self, name: str) -> float | None:
        """Returns the seconds of a part in the first block, the only cold one."""
        part = self.first.parts.get(name)
        return part.seconds if part is not None and part.status == "ok" else None

    def most_memory(self, kind: str) -> int | None:
        """Bytes: the most in any phase of `peak` (in use at once), `extra` (beyond arguments and
        outputs) or `reserved`."""
        sizes = (figures.get(f"{kind}_bytes") for figures in self.first.memory.values())
        return max((size for size in sizes if size is not None), default=None)

    @property
    def own_size(self) -> Mapping[str, Any]:
        """The proof's verdict at the case's own size; empty without one."""
        stages = self.first.proof["stages"] if self.first.proof else []
        return stages[-1] if stages and stages[-1]["name"].startswith(OWN_SIZE) else {}

    @cached_property
    def quality(self) -> list[str]:
        """Flags that a reader should know before trusting the time."""
        known = self.estimates
        parts = [known[phase] for phase in ("forward", "backward") if phase in known]
        lows = [part.low for part in parts if part.low]
        high = known["step"].high if "step" in known else None
        disagree = self.sound and high is not None and max(lows, default=0.0) > high
        of_rows = ["phases_disagree"] * disagree + ["interrupted"] * self.interrupted
        return flags(self.records) + of_rows


def comparison_group(row: Row, apart: Container[str] = ()) -> Group:
    """Returns the key of rows that differ in the framework only, and in the axes `apart`, cores and
    machine included.

    Rows that were proved by looser rules, read other recordings, or are ranked by another phase
    than the step have a key of their own.
    """
    network = [
        (name, value)
        for name, value in row.axes.items()
        if name not in VARIANT_FIELDS and name not in apart
    ]
    read = [row.first.recordings] if row.first.recordings else []
    ranked = [("ranked_by", row.ranked)] if row.ranked != "step" else []
    place = *machine_of(row.first), row.first.measure["threads"]
    return *place, *network, *read, *ranked, *row.loosened


def machine_of(record: Record) -> tuple[str, str]:
    """Returns the kind of a record's machine, and which one of that kind, if the record says so."""
    return record.machine["hash"], record.machine.get("node") or ""


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Returns `items` by their key, in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def rows_of(records: list[Record]) -> list[Row]:
    """One row per case, adapter, framework, packages, machine and set, machine by machine,
    ranked within its group; of several measurements of that, the one that was to time most
    phases counts, and of those the newest. Of a case with an interrupted later block the other
    blocks count."""
    rows = []
    for measured in grouped(records, _row_of).values():
        versions = grouped(measured, lambda record: record.done_key).values()
        counted = max(
            versions,
            key=lambda same: (_phases_to_time(same[0]), max(record.started_at for record in same)),
        )
        counted.sort(key=lambda record: (record.block, record.started_at))
        complete = [
            record for record in counted if record is counted[0] or record.status != "interrupted"
        ]
        interrupted = len(complete) < len(counted)
        case, machine = counted[0].typed_case, counted[0].machine["hash"]
        rows.append(Row(case, complete, machine=machine, interrupted=interrupted))
    name_apart(rows)
    groups = list(grouped(rows, comparison_group).values())
    for group in groups:
        _estimate(group)
        _set_floors(group)
    _rank([[row for row in group if row.rankable] for group in groups])
    return sorted(rows, key=_place)


def _row_of(record: Record) -> tuple[Any, ...]:
    return (
        record.case_id,
        record.set,
        *machine_of(record),
        *made_of(record.adapter, record.environment),
    )


def _rests_on(records: list[Record]) -> list[str]:
    """Returns the packages with varying versions: one or two by name, else the environment."""
    closures = [
        (record.adapter.get("closure") or {"all": record.environment["hash"]})
        | {"Python": record.environment.get("python")}
        for record in records
    ]
    versions = {name: [each.get(name) for each in closures] for name in chain(*closures)}
    known = [record.adapter.get("version") for record in records]  # are an aspect already
    varying = [name for name, each in versions.items() if len({*each}) > 1 and each != known]
    if len(varying) > 2 or "all" in varying:
        return [f"environment {record.environment['hash'][:6]}" for record in records]
    return [
        " and ".join(f"{name} {packages.get(name) or 'none'}" for name in varying)
        for packages in closures
    ]


ASPECTS: tuple[Callable[[list[Record]], list[str]], ...] = (
    lambda records: [record.adapter.get("version") or "" for record in records],
    lambda records: [text and f"with {text}" for text in _rests_on(records)],
    lambda records: [f"image {image_of(record.environment)[:6]}" for record in records],
    lambda records: [
        f"file {(record.adapter.get('source_sha256') or 'unknown')[:6]}" for record in records
    ],
    lambda records: [f"set {record.set}" for record in records],
)
"""Differences between rows of one case and machine, in words, the most interesting first."""


def name_apart(rows: list[Row]) -> None:
    """Adds to the framework's name what tells rows apart that would have one name: `snntorch
    0.9.4`.

    Machines of one kind are told apart too.
    """
    for machines in grouped(rows, lambda row: row.machine).values():
        if len({machine_of(row.first) for row in machines}) > 1:
            for row in machines:
                row.machine = "-".join(filter(None, machine_of(row.first)))
    for same in grouped(rows, lambda row: row.case.framework).values():
        labels: list[tuple[str, ...]] = [()] * len(same)
        for aspect in ASPECTS:
            names = {
                (comparison_group(row), row.case.framework_variant, label)
                for row, label in zip(same, labels, strict=True)
            }
            if len(names) == len(same):
                break
            texts = aspect([row.first for row in same])
            if len({*texts}) > 1:
                labels = [
                    (*label, text) if text else label
                    for label, text in zip(labels, texts, strict=True)
                ]
        for row, label in zip(same, labels, strict=True):
            if label:
                row.case = replace(row.case, framework=f"{row.case.framework} {', '.join(label)}")
                del row.axes  # computed of the case before


def _phases_to_time(record: Record) -> int:
    """Returns the number of phases that the run was to time: a later run that times fewer
    replaces no times."""
    return len(record.measure.get("phases", PHASES)) if record.measure.get("timed", True) else 0


def _estimate(group: list[Row]) -> None:
    for phase in PHASES:
        known = estimates([row.records for row in group], phase)
        for row, estimate in zip(group, known, strict=True):
            if estimate:
                row.estimates[phase] = estimate


def _rank(groups: list[list[Row]]) -> None:
    ranked = [group for group in groups if group]
    records = [[row.records for row in group] for group in ranked]
    seconds = [[row.estimates[row.ranked].seconds for row in group] for group in ranked]
    for group, times, ranks in zip(ranked, seconds, standings(records, seconds), strict=True):
        _, fastest = min((rank.place, time) for rank, time in zip(ranks, times, strict=True))
        names = [row.case.framework_variant for row in group]
        for row, time, standing in zip(group, times, ranks, strict=True):
            row.standing = standing
            if _contradicts(time / fastest, standing):
                row.paired_s = fastest * standing.ratio
            row.surely_slower = tuple(names[index] for index in standing.slower)


def _contradicts(quotient: float, standing: Standing) -> bool:
    """Returns whether a time over the fastest's lies below 1, or outside the interval of their
    ratio, which is paired pass by pass."""
    low, high = max(standing.low or standing.ratio, 1.0), standing.high or standing.ratio
    return not (1 - SAME) * min(low, standing.ratio) <= quotient <= (1 + SAME) * high


def _set_floors(group: list[Row]) -> None:
    """Sets the least time of each phase. Each worker measures its ceilings in its own library;
    what one reaches, the hardware can do for all."""
    for phase in PHASES:
        known: list[tuple[Row, list[float]]] = []
        for row in group:
            parts = [record.parts[phase] for record in row.records if phase in record.parts]
            if floors := [part.floor_s for part in parts if part.floor_s]:
                known.append((row, floors))
        for row, _ in known:
            row.floors[phase] = min(floor for _, floors in known for floor in floors)


def _place(row: Row) -> tuple[Any, ...]:
    """Returns the sort key of a row; fp32 comes first, because every framework has it."""
    case, precision = row.case, row.case.precision
    names = (*WORKLOAD_AXES, "time_steps", "batch", "input", "input_grad")
    known = PRECISIONS.index(precision) if precision in PRECISIONS else len(PRECISIONS)
    axes = (getattr(case, name) for name in names)
    network = (case.device, case.workload, known, precision, case.neuron_label, *axes)
    network += (case.firing or SPIKE_SHARE, case.network or "")
    network += (case.parallel or "", case.ranks or 1)
    place = row.standing.place if row.standing else 10**6
    return machine_of(row.first), network, place, case.framework_variant
