"""A step's time by stage and its memory by kind: one bar for each case that was taken apart."""

from functools import partial
from typing import Any

from ...core.breakdown import KINDS, STAGES
from ..columns.metric import Entry, part_column
from ..table import Table
from .figure import Figure, Panel, least_first, panel_of
from .spec import (
    MEBIBYTES,
    SECONDS,
    THERE,
    Spec,
    calculated,
    hint,
    rows_of_dots,
    stacked_bars,
    text_of,
)

TEXTS = {
    "s": "A stage of nodes is its forward and its backward, measured in a pass apart from timing; "
    "fused operations stay one stage. Compiled steps have no stages.",
    "bytes": "Memory in use at the peak. Feature maps: the input, and what forward leaves to "
    "backward or hands out. Workspace: all other allocations.",
}


MISSING = "No step was taken apart: no case has a loss."


def stages(table: Table) -> Figure:
    fields = {part: part_column(part, "s") for part in STAGES}
    return stacked(table, "stages", "Time by stage", TEXTS["s"], fields, SECONDS)


def kinds(table: Table) -> Figure:
    fields = {part: part_column(part, "bytes") for part in KINDS}
    return stacked(table, "kinds", "Memory by kind", TEXTS["bytes"], fields, MEBIBYTES)


def stacked(
    table: Table, name: str, title: str, text: str, fields: dict[str, str], words: str
) -> Figure:
    """Returns a figure of stacked bars, in the units of `words`: SECONDS or MEBIBYTES."""
    panels = taken_apart(table, fields, 1.0 if words == SECONDS else 2.0**-20)
    return Figure(name, title, text, _spec(list(fields), words), panels, MISSING)


def taken_apart(table: Table, fields: dict[str, str], size: float = 1.0) -> list[Panel]:
    """Returns panels of proved cases with values in the columns `fields`, the least sum first."""
    panels = []
    for where, group in table.groups():
        ordered = [entry for entry, _ in least_first(group, partial(_total, fields=fields))]
        if ordered:
            points = [_point(entry, fields, size) for entry in ordered]
            there = [part for part in fields if any(point.get(part) for point in points)]
            panels.append(panel_of(table, where, ordered, {}, points, there=there))
    return panels


def _total(entry: Entry, fields: dict[str, str]) -> float | None:
    """Returns the sum of the columns; None for 0 and for a network that was not proved."""
    total = sum(entry.values[column] or 0 for column in fields.values())
    return total if entry.row.proved and total else None


def _point(entry: Entry, fields: dict[str, str], size: float) -> dict[str, Any]:
    return {"row": entry.index} | {
        part: value * size
        for part, column in fields.items()
        if (value := entry.values[column]) is not None
    }


def _spec(parts: list[str], words: str) -> Spec:
    transform: list[Spec] = [
        {"fold": parts, "as": ["part", "amount"]},
        {"filter": "isValid(datum.amount)"},
        *calculated(place=f"indexof({parts}, datum.part)", words=text_of("amount", words)),
    ]
    title = "seconds" if words == SECONDS else "memory"
    tooltip = hint(framework="variant", part="part", amount="words")
    bars = stacked_bars("amount", title, words, parts, "$parts", THERE, tooltip)
    return rows_of_dots([bars], transform)
