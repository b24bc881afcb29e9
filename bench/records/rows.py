"""Records → one row per case: published figures, the worst status, and who may be ranked with whom."""

from collections import defaultdict
from dataclasses import dataclass, field, fields
from functools import cached_property
from statistics import median
from typing import Any

from snnbench.adapters.base.case import PHASES, Case

from ..machine.monitor import slowed
from ..proof.stage_names import OWN_SIZE
from ..stats import Estimate, drift, estimate, outliers
from ..status import worst
from .record import Record, Samples

VARIANT = ("framework", "construction", "mode")
"""Fields of a case that say who computes it, and not what."""
Group = tuple[Any, ...]
"""What all rows that are ranked together have in common."""


@dataclass
class Row:
    """All records of one case on one machine, rounds in order."""

    case: Case
    records: list[Record]
    rank: int | None = None
    ratio: float | None = None
    """Step time over the best step time of the same group; None if the row may not be ranked."""
    estimates: dict[str, Estimate] = field(default_factory=dict)
    floors: dict[str, float] = field(default_factory=dict)
    """Seconds by phase: the hardware's least time, which is one for all rows of a group."""

    @cached_property
    def axes(self) -> dict[str, Any]:
        """The fields of the case, by name. One that means nothing for the workload is absent."""
        values = {each.name: getattr(self.case, each.name) for each in fields(self.case)}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def first(self) -> Record:
        """The record of the round that proved and weighed."""
        return self.records[0]

    @property
    def status(self) -> str:
        return worst(record.status for record in self.records)

    @property
    def reason(self) -> str | None:
        return next((record.reason for record in self.records if record.status == self.status and record.reason), None)

    @property
    def proved(self) -> bool:
        return bool(self.first.proof and self.first.proof["passed"])

    @property
    def sound(self) -> bool:
        """Proved, nothing refused, and a step time in hand: its figures may be shown."""
        return self.status == "ok" and self.proved and "step" in self.estimates

    @property
    def rankable(self) -> bool:
        """Sound, and the same network as others: a native neuron is another in every framework."""
        return self.sound and not self.case.native

    @property
    def firing_rate(self) -> float | None:
        """Spikes per neuron and step at the case's own size."""
        return (self.own_size or {}).get("firing_rate")

    def phase_status(self, phase: str) -> str | None:
        """The worst of all rounds; None if no round came to the phase."""
        known = [status for record in self.records if phase in record.parts and (status := record.parts[phase].status)]
        return worst(known) if known else None

    def rounds_of(self, phase: str, clock: str = "wall") -> list[list[float]]:
        """Samples in seconds, one list per round that has them."""
        parts = [record.parts.get(phase) for record in self.records]
        return [getattr(part.samples, clock) for part in parts if part is not None and part.samples is not None]

    def median(self, phase: str, clock: str) -> float | None:
        """Seconds: the median of the rounds' medians on `clock`, which is wall, enqueue or device."""
        rounds = [samples for samples in self.rounds_of(phase, clock) if samples]
        return median(map(median, rounds)) if rounds else None

    def part_seconds(self, name: str) -> float | None:
        """How long a part of the first round took, the only cold one."""
        part = self.first.parts.get(name)
        return part.seconds if part is not None and part.status == "ok" else None

    @cached_property
    def peak_memory(self) -> int | None:
        """Bytes: the most in use at once in any phase."""
        return self._most("peak_bytes")

    @cached_property
    def extra_memory(self) -> int | None:
        """Bytes beyond arguments and outputs: the most in any phase."""
        return self._most("extra_bytes")

    def _most(self, kind: str) -> int | None:
        return max((size for figures in self.first.memory.values() if (size := figures[kind]) is not None), default=None)

    @property
    def own_size(self) -> dict[str, Any] | None:
        """The proof's verdict at the case's own size."""
        stages = self.first.proof["stages"] if self.first.proof else []
        return stages[-1] if stages and stages[-1]["name"].startswith(OWN_SIZE) else None

    def quality(self) -> list[str]:
        """Flags that a reader should know before trusting the step time."""
        flags = []
        samples = self.rounds_of("step")
        if samples and min(map(len, samples)) < 7:
            flags.append("few_samples")
        steps = [step for record in self.records if (step := _step_samples(record)) is not None]
        if any(step.stop_reason != "converged" for step in steps):
            flags.append("not_converged")
        if any(abs(drift(step.wall, step.at)) > 0.05 for step in steps):
            flags.append("drift")
        parts = [self.estimates[phase] for phase in ("forward", "backward") if phase in self.estimates]
        if self.sound and any(part.low > self.estimates["step"].high for part in parts):
            flags.append("phases_disagree")
        if samples and sum(map(outliers, samples)) > 0.1 * sum(map(len, samples)):
            flags.append("outliers")
        if any((r.monitor.get("foreign_cores") or 0) > 0.25 for r in self.records):
            flags.append("shared_cpu")
        if any(slowed(r.monitor.get("throttle_reasons", 0)) for r in self.records):
            flags.append("throttled")
        return flags


def _step_samples(record: Record) -> Samples | None:
    return record.parts["step"].samples if "step" in record.parts else None


def comparison_group(row: Row) -> Group:
    """Rows with the same key, cores and machine included, differ in nothing but the framework: only these are ranked."""
    network = [(name, value) for name, value in row.axes.items() if name not in VARIANT]
    return (row.first.machine["hash"], row.first.measure["threads"], *network)


def rows_of(records: list[Record]) -> list[Row]:
    """One row per case and machine, machine by machine, ranked within its group; of several measurements of a case, the one
    that was to time most phases counts, and of those the newest."""
    cases: dict[tuple[str, str], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        cases[record.case_id, record.machine["hash"]][record.done_key].append(record)
    rows = []
    for versions in cases.values():
        counted = max(versions.values(), key=lambda same: (_phases_to_time(same[0]), max(record.started_at for record in same)))
        counted.sort(key=lambda record: record.round)
        row = Row(counted[0].typed_case, counted)
        row.estimates = {phase: estimate(rounds) for phase in PHASES if (rounds := row.rounds_of(phase))}
        rows.append(row)
    groups: dict[Group, list[Row]] = defaultdict(list)
    for row in rows:
        groups[comparison_group(row)].append(row)
    for group in groups.values():
        _rank(group)
        _set_floors(group)
    keys = {comparison_group(group[0]): _group_order(group[0].case) for group in groups.values()}

    def place(row: Row) -> tuple[Any, ...]:
        return row.first.machine["hash"], keys[comparison_group(row)], row.rank or 10**6, row.case.framework_variant

    return sorted(rows, key=place)


def _phases_to_time(record: Record) -> int:
    """How many phases the run was to time: a later one that only weighs, or times fewer, replaces no times."""
    return len(record.measure.get("phases", PHASES)) if record.measure.get("timed", True) else 0


def _rank(group: list[Row]) -> None:
    ranked = sorted((row for row in group if row.rankable), key=lambda row: row.estimates["step"].median)
    for place, row in enumerate(ranked, start=1):
        row.rank, row.ratio = place, row.estimates["step"].median / ranked[0].estimates["step"].median


def _set_floors(group: list[Row]) -> None:
    """Each worker measured its own ceilings, in its own library. What one of them reached, the hardware can do for all."""
    for phase in PHASES:
        known = [row for row in group if any(phase in record.parts and record.parts[phase].floor_s for record in row.records)]
        floors = [record.parts[phase].floor_s for row in known for record in row.records if phase in record.parts]
        for row in known:
            row.floors[phase] = min(floor for floor in floors if floor)


def _group_order(case: Case) -> tuple[Any, ...]:
    names = ("precision", "layers", "neurons", "time_steps", "batch", "input", "bias", "input_grad")
    return (case.device, case.workload, case.neuron.label(), *(getattr(case, name) for name in names))
