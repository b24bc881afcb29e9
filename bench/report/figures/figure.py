"""Parts of every figure: panels of points, and figures that draw their panels alike."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import itemgetter
from typing import Any

from ...records.contrasts import LogRatio
from ...records.rows import grouped
from ..columns.metric import Entry
from ..table import Table


@dataclass
class Panel:
    """One drawing. A point has the values that are not in results.csv, the line `row` of its case
    there, and by `fields` columns of it."""

    title: str
    where: dict[str, str]
    points: list[dict[str, Any]]
    fields: dict[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    """Values of `$name` in the figure's specification."""
    notes: list[str] = field(default_factory=list)

    def data(self, table: Table) -> list[dict[str, Any]]:
        """Returns the points with all values that are drawn."""
        return [
            self._whole(point, table.entries[point["row"]]) if "row" in point else point
            for point in self.points
        ]

    def _whole(self, point: dict, entry: Entry) -> dict:
        return (
            {"variant": entry.variant}
            | {name: entry.values[column] for name, column in self.fields.items()}
            | point
        )


@dataclass
class Figure:
    """Panels of one Vega-Lite specification, in which `$name` stands for a panel's or the theme's
    value."""

    id: str
    title: str
    text: str
    spec: dict[str, Any]
    panels: list[Panel]
    missing: str = ""
    """A sentence on why there is nothing to show."""
    key: str = ""
    """A short legend below the title of a panel that stands alone, without `text`."""


def panel_of(
    table: Table,
    where: dict[str, str],
    entries: Sequence[Entry],
    fields: dict[str, str],
    points: list[dict[str, Any]] | None = None,
    before: str = "",
    behind: str = "",
    notes: Sequence[str] = (),
    **names: Any,
) -> Panel:
    """Returns a panel of `entries` titled by their conditions, with a line for each variant."""
    points = points or [{"row": entry.index} for entry in entries]
    names = {"variants": list(dict.fromkeys(entry.variant for entry in entries)), **names}
    return Panel(table.title(where, before, behind), where, points, fields, names, list(notes))


def by_phase(
    table: Table, without: tuple[str, ...] = (), has: Callable[[Entry, str], bool] = Entry.shows
) -> list[tuple[str, dict[str, str], list[Entry]]]:
    """Returns groups of comparable cases for each phase with a time, or with `has`; the phase is
    one of the conditions."""
    return [
        (phase, where | {"phase": phase}, having)
        for where, group in table.groups(without)
        for phase in table.phases
        if (having := [entry for entry in group if has(entry, phase)])
    ]


def timed_columns(phase: str) -> dict[str, str]:
    """Returns the columns of a phase's time and the ends of its interval."""
    return {"seconds": f"{phase}_s", "low": f"{phase}_lo_s", "high": f"{phase}_hi_s"}


def least_first(
    group: Iterable[Entry], amount: Callable[[Entry], float | None]
) -> list[tuple[Entry, float]]:
    """Returns the entries with a known amount and that amount, the least first."""
    known = [(entry, total) for entry in group if (total := amount(entry)) is not None]
    return sorted(known, key=itemgetter(1))


def paid_off_after(later: float, seconds: float, comparison: LogRatio) -> float | None:
    """Returns the number of calls after which a start `later` by so many seconds is amortised.

    `seconds` is the other's time of a call, and `comparison` compares the calls. The result is
    infinite for a surely slower case and None if undecided.
    """
    if comparison.low > 0:
        return inf
    return later / (seconds * (1 - comparison.ratio[0])) if comparison.high < 0 else None


def by_speed(entries: Iterable[Entry], phase: str) -> list[Entry]:
    """Returns the entries, the fastest first: by their ranks if the phase ranks them, else by
    time."""

    def place(entry: Entry) -> tuple[float, float]:
        standing = entry.row.standing if phase == entry.row.ranked else None
        return standing.place if standing else inf, entry.values[f"{phase}_s"]

    return sorted(entries, key=place)


def by_meaning(
    table: Table, has: Callable[[Entry, str], bool] = Entry.shows
) -> Iterator[tuple[str, dict[str, str], str, list[Entry]]]:
    """Yields the groups of `by_phase` with known memory, split by the meaning of that number."""
    for phase, where, group in by_phase(table, has=has):
        weighed = [entry for entry in group if entry.values[f"{phase}_peak_memory_bytes"]]
        for meaning, same in grouped(
            weighed, lambda entry: entry.values["memory_meaning"] or "unknown"
        ).items():
            yield phase, where, meaning, same


def short(value: float, digits: int = 4) -> float:
    """Rounds to significant digits: a pixel needs no more than four."""
    return float(f"{value:.{digits}g}")


def substituted(spec: Any, values: dict[str, Any]) -> Any:
    """Returns `spec` with every text `$name` replaced by `values["name"]`."""
    if isinstance(spec, dict):
        return {key: substituted(item, values) for key, item in spec.items()}
    if isinstance(spec, list):
        return [substituted(item, values) for item in spec]
    return (
        values[spec[1:]]
        if isinstance(spec, str) and spec[:1] == "$" and spec[1:] in values
        else spec
    )
