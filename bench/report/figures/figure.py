"""What every figure is made of: panels of points, and a figure that draws its panels alike."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from ...records.contrasts import Comparison
from ...records.rows import grouped
from ..columns.metric import STEP_FIRST, Entry
from ..table import Table


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
    """Panels that share a Vega-Lite specification, in which a text `$name` is replaced by the panel's (or theme's) value."""

    id: str
    title: str
    text: str
    spec: dict[str, Any]
    panels: list[Panel]
    missing: str = ""
    """Why there is nothing to show, in one sentence."""
    key: str = ""
    """What its marks are, in short: said below the title where a panel stands alone, without `text`."""


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
    """A panel of `entries` under the title of their conditions: a point and, of each variant, a line for each, in their order."""
    points = points or [{"row": entry.index} for entry in entries]
    names = {"variants": list(dict.fromkeys(entry.variant for entry in entries)), **names}
    return Panel(table.title(where, before, behind), where, points, fields, names, list(notes))


def by_phase(
    table: Table, without: tuple[str, ...] = (), has: Callable[[Entry, str], bool] = Entry.shows
) -> list[tuple[str, dict[str, str], list[Entry]]]:
    """Groups of comparable cases for each phase, of those that have a time, or else what is asked; the phase is one of the
    conditions."""
    return [
        (phase, where | {"phase": phase}, having)
        for where, group in table.groups(without)
        for phase in STEP_FIRST
        if (having := [entry for entry in group if has(entry, phase)])
    ]


def paid_off_after(later: float, seconds: float, shown: Comparison) -> float | None:
    """After how many calls who starts so many seconds `later` than another, whose call takes so many `seconds`, has made up for
    it: infinitely many if it is surely slower, None if that is not decided. `shown` compares their calls."""
    if shown.low > 0:
        return inf
    return later / (seconds * (1 - shown.ratio[0])) if shown.high < 0 else None


def by_speed(entries: Iterable[Entry], phase: str) -> list[Entry]:
    """The fastest first: of a step that is told by the ranking, of others by their times."""

    def place(entry: Entry) -> tuple[float, float]:
        standing = entry.row.standing if phase == "step" else None
        return standing.place if standing else inf, entry.values[f"{phase}_s"]

    return sorted(entries, key=place)


def by_meaning(
    table: Table, has: Callable[[Entry, str], bool] = Entry.shows
) -> Iterator[tuple[str, dict[str, str], str, list[Entry]]]:
    """The groups of `by_phase` with a known memory, split by the meaning of that number: only one quantity is compared."""
    for phase, where, group in by_phase(table, has=has):
        weighed = [entry for entry in group if entry.values[f"{phase}_peak_memory_bytes"]]
        for meaning, same in grouped(
            weighed, lambda entry: entry.values["memory_meaning"] or "unknown"
        ).items():
            yield phase, where, meaning, same


def short(value: float, digits: int = 4) -> float:
    """So many digits: a pixel needs no more than four."""
    return float(f"{value:.{digits}g}")


def substituted(spec: Any, values: dict[str, Any]) -> Any:
    """`spec` with every text `$name` replaced by `values["name"]`."""
    if isinstance(spec, dict):
        return {key: substituted(item, values) for key, item in spec.items()}
    if isinstance(spec, list):
        return [substituted(item, values) for item in spec]
    return (
        values[spec[1:]]
        if isinstance(spec, str) and spec[:1] == "$" and spec[1:] in values
        else spec
    )
