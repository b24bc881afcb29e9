"""Metrics: a metric is a column of results.csv and its form in the page and the ranking tables."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...common import units
from ...core.case import PHASES
from ...records.rows import Row
from ..words import REFUSED

STEP_FIRST = ("step", "forward", "backward", "optimizer", "inference")
"""The phases in the order of a reader's interest."""


def in_order(*ranked: str) -> list[str]:
    """Returns the phases, those that rank first."""
    return sorted(STEP_FIRST, key=lambda phase: phase not in ranked)


VIEWS = {"times": "Times", "memory": "Memory", "start": "Start and limits", "proof": "Proof"}
"""Headings of the page's table views."""
EVERY = " ".join(VIEWS)
SUMMARY = "summary"
"""The ranking tables of the terminal and of Markdown."""
REMARKS = "remarks"
"""Heading of a row's flags."""
NATIVES = "natives"
"""The unranked tables of native neurons."""
NATIVES_IN_MARKDOWN = "natives-markdown"
"""Columns of these tables in Markdown only; a terminal shows them below the table."""


def part_column(part: str, unit: str) -> str:
    """Returns the column of a stage's seconds (`s`) or of a memory kind's bytes (`bytes`) in a
    step.

    >>> part_column("conv, norm and neuron", "s")
    'step_conv_norm_and_neuron_s'
    """
    return f"step_{part.replace(',', '').replace(' ', '_')}_{unit}"


@dataclass(frozen=True)
class Entry:
    """A case: its line in results.csv, its row, the value of every metric, its conditions in
    words."""

    index: int
    row: Row
    values: dict[str, Any]
    parts: dict[str, str]

    @cached_property
    def variant(self) -> str:
        return self.row.case.framework_variant

    @cached_property
    def timed(self) -> frozenset[str]:
        """Phases with a presentable time: successful, of a proved network, not rejected."""
        row, phases = self.row, PHASES if self.row.proved and self.row.status not in REFUSED else ()
        return frozenset(
            p for p in phases if row.phase_status(p) == "ok" and self.values[f"{p}_s"] is not None
        )

    def shows(self, phase: str) -> bool:
        return phase in self.timed

    def weighs(self, phase: str) -> bool:
        """Returns whether the memory of a phase is presentable, timed or not."""
        row = self.row
        return (
            row.proved
            and row.status not in REFUSED
            and bool(self.values[f"{phase}_peak_memory_bytes"])
        )

    @property
    def network(self) -> bool:
        """True for a network with sizes of its own, false for layers of one width."""
        return not {"width", "image", "classes"}.isdisjoint(self.row.axes)

    @property
    def native(self) -> bool:
        """True for the neuron of a framework's tutorial, which is never compared."""
        return self.row.case.native


UNITS: dict[str, Callable[[Any], str]] = {
    "": lambda value: {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value),
    "count": str,
    "s": units.seconds,
    "bytes": units.size,
    "share": units.share,
    "small share": units.small_share,
    "error": units.error,
    "J": units.joules,
    "many": units.many,
    "per_s": lambda value: f"{value:,.0f}",
    "times": units.ratio,
}
"""Functions that write a value, by unit. Texts have no unit."""


@dataclass(frozen=True)
class Metric:
    """A column of results.csv in seconds, bytes or shares from 0 to 1; None if unknown.

    `views` names the tables that show it, separated by spaces, under the heading `head` with the
    explanation `hint`; smaller `place`s stand further left. `format` writes a cell if `unit` does
    not suffice. A metric with `axis` is a condition, which the page shows if it varies; other
    metrics are shown if a case has them.

    Example of a column that the page shows in its view “Memory”:

    Metric("host_peak_bytes", lambda row: row.first.host_peak_bytes, "bytes", "process",
    views="memory")
    """

    name: str
    value: Callable[[Row], Any]
    unit: str = ""
    head: str = ""
    hint: str = ""
    views: str = ""
    place: int = 800
    format: Callable[[Entry], str] | None = None
    axis: bool = False

    @property
    def number(self) -> bool:
        """True for cells aligned to the right."""
        return self.unit != ""

    @cached_property
    def page_classes(self) -> str:
        """CSS classes of the cells: the page's views, and `number`."""
        return " ".join(
            [view for view in VIEWS if view in self.views.split()] + ["number"] * self.number
        )

    def text(self, entry: Entry) -> str:
        """Returns the text of the cell, empty if the value is unknown or not presentable."""
        if self.format is not None:
            return self.format(entry)
        value = entry.values[self.name]
        return "" if value is None else UNITS[self.unit](value)

    def short_text(self, entry: Entry) -> str:
        """Returns the text in ranking tables, where only a proved case without faults has times."""
        return "" if self.unit == "s" and not entry.row.sound else self.text(entry)


def fact_of(name: str) -> Callable[[Row], Any]:
    """Returns a function that returns a fact of the first block as the worker reported it."""
    return lambda row: row.first.facts.get(name)
