"""What a metric is: a figure of a case, its column in results.csv, and how the page and the ranking tables show it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...common import units
from ...core.case import PHASES
from ...records.rows import Row
from ..coverage import REFUSED

STEP_FIRST = ("step", "forward", "backward", "optimizer", "inference")
"""The phases in the order of a reader's interest."""
VIEWS = {"times": "Times", "memory": "Memory", "start": "Start and limits", "proof": "Proof"}
"""Views of the page's table, and how each is called there."""
EVERY = " ".join(VIEWS)
SUMMARY = "summary"
"""The ranking tables of the terminal and of Markdown."""
REMARKS = "remarks"
"""The heading of what is flagged of a row."""
NATIVES = "natives"
"""The same for native neurons, which differ from framework to framework, so that there is nothing to rank."""
NATIVES_IN_MARKDOWN = "natives-markdown"
"""Columns of these that only Markdown has: a terminal shows them below the table."""


def part_column(part: str, unit: str) -> str:
    """The column of a stage's seconds (unit `s`) or of a kind of memory's bytes (`bytes`) of a step.

    >>> part_column("conv, norm and neuron", "s")
    'step_conv_norm_and_neuron_s'
    """
    return f"step_{part.replace(',', '').replace(' ', '_')}_{unit}"


@dataclass(frozen=True)
class Entry:
    """A case: its place among the lines of results.csv, its row, the value of every metric, and its conditions in words."""

    index: int
    row: Row
    values: dict[str, Any]
    parts: dict[str, str]

    @cached_property
    def variant(self) -> str:
        return self.row.case.framework_variant

    @cached_property
    def timed(self) -> frozenset[str]:
        """Phases whose time is worth showing: they went well, the network is the right one, and nothing was refused."""
        row, phases = self.row, PHASES if self.row.proved and self.row.status not in REFUSED else ()
        return frozenset(
            p for p in phases if row.phase_status(p) == "ok" and self.values[f"{p}_s"] is not None
        )

    def shows(self, phase: str) -> bool:
        return phase in self.timed

    def weighs(self, phase: str) -> bool:
        """Whether the memory of a phase is worth showing, timed or not."""
        row = self.row
        return (
            row.proved
            and row.status not in REFUSED
            and bool(self.values[f"{phase}_peak_memory_bytes"])
        )

    @property
    def network(self) -> bool:
        """Whether it has the sizes of a network, not of layers of one width."""
        return not {"width", "image", "classes"}.isdisjoint(self.row.axes)

    @property
    def native(self) -> bool:
        """The neuron of a framework's own tutorial: another network in each framework, never compared."""
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
"""How a value in a unit is written for people. Words have none."""


@dataclass(frozen=True)
class Metric:
    """A column of results.csv. Times are in seconds, memory in bytes, shares between 0 and 1; an unknown value is None.

    `views` are the tables that show it, by their names and with a space between, under the heading `head` with `hint` as its
    explanation; smaller `place`s stand further left. `format` makes the text of its cell, where `unit` does not say how. A metric
    with `axis` is a condition: the page shows it only where it differs between cases, and another one only where a case has it.

    Example, a column of results.csv that the page shows in its view “Memory”:

        Metric("host_peak_bytes", lambda row: row.first.host_peak_bytes, unit="bytes", head="process", views="memory")
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
        """Whether its cells are aligned to the right."""
        return self.unit != ""

    @cached_property
    def page_classes(self) -> str:
        """The views of the page's table that show it, and `number` if it is one."""
        return " ".join(
            [view for view in VIEWS if view in self.views.split()] + ["number"] * self.number
        )

    def text(self, entry: Entry) -> str:
        """The text of its cell for `entry`; empty where nothing is known or may be shown."""
        if self.format is not None:
            return self.format(entry)
        value = entry.values[self.name]
        return "" if value is None else UNITS[self.unit](value)

    def short_text(self, entry: Entry) -> str:
        """As `text`, in the ranking tables: there only a proved case without any fault has times."""
        return "" if self.unit == "s" and not entry.row.sound else self.text(entry)
