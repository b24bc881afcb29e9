"""Records → one row per case: published figures, the worst status, and who may be ranked with whom."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from statistics import median
from typing import Any, TypeVar

import numpy as np

from snnbench.adapters.base.case import PHASES, Case

from ..machine.monitor import slowed
from ..proof.stages import OWN_SIZE
from ..stats import Estimate, drift, estimate, outliers, resampled
from ..status import worst
from .record import Record

VARIANT = ("framework", "construction", "mode")
"""Fields of a case that say who computes it, and not what."""
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
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
    floors: dict[str, float] = field(default_factory=dict)
    """Seconds by phase: the hardware's least time, which is one for all rows of a group."""

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The published time of each phase that has samples."""
        return {phase: estimate(rounds) for phase in PHASES if (rounds := self.rounds_of(phase))}

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
    def loosened(self) -> tuple[str, ...]:
        """The rules, in words, by which less was asked of the proof than of others."""
        return tuple((self.first.proof or {}).get("loosened", ()))

    @property
    def sound(self) -> bool:
        """Proved, nothing refused, and a step time in hand: its figures may be shown."""
        return self.status == "ok" and self.proved and "step" in self.estimates

    @property
    def rankable(self) -> bool:
        """Sound, and the same network as others: a native neuron is another in every framework."""
        return self.sound and not self.case.native

    def phase_status(self, phase: str) -> str | None:
        """The worst of all rounds; None if no round came to the phase."""
        known = [status for record in self.records if phase in record.parts and (status := record.parts[phase].status)]
        return worst(known) if known else None

    def rounds_of(self, phase: str, clock: str = "wall") -> list[list[float]]:
        """Samples in seconds, one list per round that has them."""
        return [getattr(samples, clock) for record in self.records if (samples := record.samples(phase))]

    def step_ratios(self, base: "Row") -> np.ndarray:
        """Bootstrapped ratios of the step time over that of `base`, which is resampled once for all."""
        ratios: np.ndarray = resampled(self.rounds_of("step"), (0, 0)) / base._resampled_as_base
        return ratios

    @cached_property
    def _resampled_as_base(self) -> np.ndarray:
        return resampled(self.rounds_of("step"), (0, 1))

    def median(self, phase: str, clock: str) -> float | None:
        """Seconds: the median of the rounds' medians on `clock`, which is wall, enqueue or device."""
        rounds = [samples for samples in self.rounds_of(phase, clock) if samples]
        return median(map(median, rounds)) if rounds else None

    def part_seconds(self, name: str) -> float | None:
        """How long a part of the first round took, the only cold one."""
        part = self.first.parts.get(name)
        return part.seconds if part is not None and part.status == "ok" else None

    def most_memory(self, kind: str) -> int | None:
        """Bytes: the most in any phase of `peak` (in use at once), `extra` (beyond arguments and outputs) or `reserved`."""
        sizes = (figures.get(f"{kind}_bytes") for figures in self.first.memory.values())
        return max((size for size in sizes if size is not None), default=None)

    @property
    def own_size(self) -> dict[str, Any]:
        """The proof's verdict at the case's own size; empty without one."""
        stages = self.first.proof["stages"] if self.first.proof else []
        return stages[-1] if stages and stages[-1]["name"].startswith(OWN_SIZE) else {}

    def quality(self) -> list[str]:
        """Flags that a reader should know before trusting the step time."""
        steps = [step for record in self.records if (step := record.samples("step"))]
        samples = [step.wall for step in steps]
        parts = [self.estimates[phase] for phase in ("forward", "backward") if phase in self.estimates]
        monitors = [record.monitor for record in self.records]
        raised = {
            "few_samples": any(len(wall) < 7 for wall in samples),
            "not_converged": any(step.stop_reason != "converged" for step in steps),
            "drift": any(abs(drift(step.wall, step.at)) > 0.05 for step in steps),
            "phases_disagree": self.sound and any(part.low > self.estimates["step"].high for part in parts),
            "outliers": sum(map(outliers, samples)) > 0.1 * sum(map(len, samples)),
            "shared_cpu": any((monitor.get("foreign_cores") or 0) > 0.25 for monitor in monitors),
            "throttled": any(slowed(monitor.get("throttle_reasons", 0)) for monitor in monitors),
        }
        return [flag for flag, is_raised in raised.items() if is_raised]


def comparison_group(row: Row) -> Group:
    """Rows with the same key, cores and machine included, differ in nothing but the framework: only these are ranked. Of what is
    proved by looser rules the key says so."""
    network = [(name, value) for name, value in row.axes.items() if name not in VARIANT]
    return (row.first.machine["hash"], row.first.measure["threads"], *network, *row.loosened)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """`items` by what `key` says of each, in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def rows_of(records: list[Record]) -> list[Row]:
    """One row per case and machine, machine by machine, ranked within its group; of several measurements of a case, the one
    that was to time most phases counts, and of those the newest."""
    rows = []
    for measured in grouped(records, lambda record: (record.case_id, record.machine["hash"])).values():
        versions = grouped(measured, lambda record: record.done_key).values()
        counted = max(versions, key=lambda same: (_phases_to_time(same[0]), max(record.started_at for record in same)))
        counted.sort(key=lambda record: record.round)
        rows.append(Row(counted[0].typed_case, counted))
    for group in grouped(rows, comparison_group).values():
        _rank(group)
        _set_floors(group)
    return sorted(rows, key=_place)


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


def _place(row: Row) -> tuple[Any, ...]:
    names = ("precision", "layers", "neurons", "time_steps", "batch", "input", "bias", "input_grad")
    network = (row.case.device, row.case.workload, row.case.neuron.label(), *(getattr(row.case, name) for name in names))
    return row.first.machine["hash"], network, row.rank or 10**6, row.case.framework_variant
