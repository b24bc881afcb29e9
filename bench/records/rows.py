"""Records → one row per case: published figures, the worst status, and who may be ranked with whom."""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from snnbench.adapters.base.case import PHASES, Case

from ..machine.monitor import slowed
from ..proof.stage_names import OWN_SIZE
from ..stats import Estimate, drift, estimate, outliers
from ..status import worst
from .record import Record


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
        return self.case.as_dict() | {"neuron": self.case.neuron}

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
        found = [record.parts[phase].status for record in self.records if phase in record.parts]
        return worst(status for status in found if status) if any(found) else None

    def rounds_of(self, phase: str, clock: str = "wall") -> list[list[float]]:
        """Samples in seconds, one list per round that has them."""
        parts = [record.parts.get(phase) for record in self.records]
        return [getattr(part.samples, clock) for part in parts if part is not None and part.samples is not None]

    def median(self, phase: str, clock: str) -> float | None:
        rounds = [samples for samples in self.rounds_of(phase, clock) if samples]
        return float(np.median([np.median(samples) for samples in rounds])) if rounds else None

    def part_seconds(self, name: str) -> float | None:
        """Of the first round: the only cold one."""
        part = self.first.parts.get(name)
        return part.seconds if part is not None and part.status == "ok" else None

    @cached_property
    def peak_memory(self) -> int | None:
        return max((figures["peak_bytes"] for figures in self.first.memory.values()), default=None)

    @cached_property
    def extra_memory(self) -> int | None:
        return max((figures["extra_bytes"] for figures in self.first.memory.values()), default=None)

    @property
    def own_size(self) -> dict | None:
        """The proof's verdict at the case's own size."""
        stages = self.first.proof["stages"] if self.first.proof else []
        return stages[-1] if stages and stages[-1]["name"].startswith(OWN_SIZE) else None

    def quality(self) -> list[str]:
        """Flags that a reader should know before trusting the step time."""
        flags = []
        samples = self.rounds_of("step")
        if samples and min(map(len, samples)) < 7:
            flags.append("few_samples")
        if any(r.parts["step"].samples.stop_reason != "converged" for r in self.records if _sampled(r)):
            flags.append("not_converged")
        if any(abs(drift(r.parts["step"].samples.wall, r.parts["step"].samples.at)) > 0.05 for r in self.records if _sampled(r)):
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


def _sampled(record: Record) -> bool:
    return "step" in record.parts and record.parts["step"].samples is not None


def comparison_group(row: Row) -> tuple:
    """Rows with the same key, cores and machine included, differ in nothing but the framework: only these are ranked."""
    case = row.case.as_dict()
    for key in ("framework", "construction", "mode"):
        del case[key]
    case["neuron"] = tuple(case["neuron"].items())
    return (row.first.machine["hash"], row.first.measure["threads"], *case.items())


def rows_of(records: list[Record]) -> list[Row]:
    """One row per case and machine, machine by machine, ranked within its group; of several measurements of a case that counts
    which was to time most phases, and of those the newest."""
    cases: dict[tuple, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        cases[record.case_id, record.machine["hash"]][record.done_key].append(record)
    rows = []
    for versions in cases.values():
        counted = max(versions.values(), key=lambda same: (_phases_to_time(same[0]), max(record.started_at for record in same)))
        counted.sort(key=lambda record: record.round)
        row = Row(counted[0].typed_case, counted)
        row.estimates = {phase: estimate(rounds) for phase in PHASES if (rounds := row.rounds_of(phase))}
        rows.append(row)
    groups: dict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        groups[comparison_group(row)].append(row)
    for group in groups.values():
        _rank(group)
        _set_floors(group)
    keys = {comparison_group(group[0]): _group_order(group[0].case) for group in groups.values()}

    def place(row: Row) -> tuple:
        return row.first.machine["hash"], keys[comparison_group(row)], row.rank or 10**6, row.case.framework_variant

    return sorted(rows, key=place)


def _phases_to_time(record: Record) -> int:
    """A later run that was only to weigh, or to time less, takes no times away."""
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


def _group_order(case: Case) -> tuple:
    return (
        case.device,
        case.workload,
        case.neuron.label(),
        case.precision,
        case.layers,
        case.neurons,
        case.time_steps,
        case.batch,
        case.input,
        case.bias,
        case.input_grad,
    )
