"""What every figure is made of: cases as figures see them, panels of points, and a figure that draws its panels alike."""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...records.rows import Row
from ...stats import ratio_of, resampled
from ..coverage import Conditions
from ..page.trust import REFUSED
from ..tables.csv import columns_of

PHASES = ("step", "forward", "backward", "inference")
"""In the order of a reader's interest."""


@dataclass(frozen=True)
class Entry:
    """A case: its place among the lines of results.csv, its row, the columns' values, and its conditions in words."""

    index: int
    row: Row
    values: dict[str, Any]
    parts: dict[str, str]

    @property
    def variant(self) -> str:
        return self.row.case.framework_variant

    @cached_property
    def timed(self) -> frozenset[str]:
        """Phases whose time is worth showing: they went well, the network is the right one, and nothing was refused."""
        row, phases = self.row, PHASES if self.row.proved and self.row.status not in REFUSED else ()
        return frozenset(p for p in phases if row.phase_status(p) == "ok" and self.values[f"{p}_s"] is not None)

    def shows(self, phase: str) -> bool:
        return phase in self.timed

    @property
    def native(self) -> bool:
        """The neuron of a framework's own tutorial: another network in each framework, never compared."""
        return self.row.case.native


class Table:
    """All cases of a report. `baseline` is a framework variant, or empty for the fastest of each group."""

    def __init__(self, rows: list[Row], conditions: Conditions, baseline: str = ""):
        self.conditions, self.baseline = conditions, baseline
        self.entries = [Entry(index, row, columns_of(row), conditions.parts(row)) for index, row in enumerate(rows)]
        self.variants = sorted({entry.variant for entry in self.entries})
        self._drawn: dict[int, Any] = {}
        self._ratios: dict[tuple[int, int], tuple[float, float, float]] = {}

    def groups(self, without: tuple[str, ...] = (), native: bool = False) -> list[tuple[dict[str, str], list[Entry]]]:
        """Cases that differ in nothing but the framework and the axes in `without`, each group with its conditions.

        The network of a tutorial is nobody else's: cases of it are in groups only if `native`, and then only these.
        """
        found: dict[tuple, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            if entry.native == native:
                found[tuple((axis, text) for axis, text in entry.parts.items() if axis not in without)].append(entry)
        return [(dict(key), group) for key, group in found.items()]

    def step_ratio(self, entry: Entry, base: Entry) -> tuple[float, float, float]:
        """(ratio, low, high) of two step times; resampling is slow, and every figure asks for the same."""
        pair = entry.index, base.index
        if pair not in self._ratios:
            rounds, baseline = (one.row.rounds_of("step") for one in (entry, base))
            if base.index not in self._drawn:
                self._drawn[base.index] = resampled(baseline, (0, 1))
            self._ratios[pair] = ratio_of(rounds, baseline, resampled(rounds, (0, 0)), self._drawn[base.index])
        return self._ratios[pair]

    def title(self, where: dict[str, str]) -> str:
        """What tells these conditions from those of other groups, and the phase."""
        return " · ".join(where[axis] for axis in (*self.conditions.varying_axes, "phase") if axis in where)


@dataclass
class Panel:
    """One drawing. A point is what is not in results.csv, `row` (the case's line there) and, by `fields`, columns of it."""

    title: str
    where: dict[str, str]
    points: list[dict[str, Any]]
    fields: dict[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    """What stands for `$name` in the figure's specification."""
    notes: list[str] = field(default_factory=list)

    def data(self, table: Table) -> list[dict[str, Any]]:
        """The points with everything that is drawn of them."""
        return [self._whole(point, table.entries[point["row"]]) if "row" in point else point for point in self.points]

    def _whole(self, point: dict, entry: Entry) -> dict:
        return {"variant": entry.variant} | {name: entry.values[column] for name, column in self.fields.items()} | point


@dataclass
class Figure:
    """Panels that share a Vega-Lite specification, in which a text `$name` is replaced by the panel's (or theme's) value."""

    id: str
    title: str
    text: str
    spec: dict[str, Any]
    panels: list[Panel]
    missing: str = ""
    """Why there is nothing to show, in one sentence."""


def by_phase(table: Table, without: tuple[str, ...] = ()) -> list[tuple[str, dict[str, str], list[Entry]]]:
    """Groups of comparable cases for each phase, of those that have a time; the phase is one of the conditions."""
    found = []
    for where, group in table.groups(without):
        for phase in PHASES:
            if shown := [entry for entry in group if entry.shows(phase)]:
                found.append((phase, where | {"phase": phase}, shown))
    return found


def substituted(spec: Any, values: dict[str, Any]) -> Any:
    """`spec` with every text `$name` replaced by `values["name"]`."""
    if isinstance(spec, dict):
        return {key: substituted(item, values) for key, item in spec.items()}
    if isinstance(spec, list):
        return [substituted(item, values) for item in spec]
    return values[spec[1:]] if isinstance(spec, str) and spec[:1] == "$" and spec[1:] in values else spec
