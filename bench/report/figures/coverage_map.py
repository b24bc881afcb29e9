"""The coverage map for print: how each case ended. The page has a table for screen readers
instead."""

from typing import Any

from ..table import Table
from ..words import kind_of, rank_of
from .figure import Figure, Panel
from .spec import THERE, Spec, by_variant, drawing, layer, nominal

TEXT = (
    "How each case ended. #1 is the fastest case of its column; #=1–3 shares the first three ranks "
    "with others."
)
WORDS = {
    "ok": "proved and measured",
    "limit": "ran out, or not ranked",
    "failed": "failed",
    "refused": "refused",
    "not-run": "not to be had, or not tried",
}
MOST = 8
"""Conditions of one map, as wide as two columns of a paper."""
COLOURS = ("#bfe6d8", "#f7dfae", "#eed6e3", "#f0c3a4", "#e3e5e8")


def coverage_map(table: Table) -> Figure:
    points: dict[str, list[dict[str, Any]]] = {}
    for entry in table.entries:
        row = entry.row
        word = f"#{rank_of(row)}" if row.standing else row.status.replace("_", " ")
        conditions = table.title(entry.parts) or "all cases"
        point = {
            "row": entry.index,
            "conditions": conditions,
            "word": word,
            "kind": WORDS[kind_of(row)],
        }
        points.setdefault(conditions, []).append(point)
    panels = [_panel(table, list(points.values()), first) for first in range(0, len(points), MOST)]
    return Figure("coverage", "Coverage", TEXT, _spec(), panels, "There are no records.")


def _panel(table: Table, columns: list[list[dict[str, Any]]], first: int) -> Panel:
    """Returns the map of MOST conditions from the `first` on."""
    drawn = columns[first : first + MOST]
    title = (
        f"conditions {first + 1} to {first + len(drawn)} of {len(columns)}"
        if len(columns) > MOST
        else ""
    )
    points = sorted((point for column in drawn for point in column), key=lambda point: point["row"])
    kinds = {point["kind"] for point in points}
    there = [word for word in WORDS.values() if word in kinds]
    return Panel(title, {}, points, {}, {"variants": table.variants, "there": there})


def _spec() -> Spec:
    kind = nominal(
        "kind", scale={"domain": list(WORDS.values()), "range": list(COLOURS)}, legend=THERE
    )
    x = nominal(
        "conditions", axis={"title": None, "labelAngle": -45, "labelLimit": 0, "grid": False}
    )
    word = {"text": {"field": "word", "type": "nominal"}}
    layers = [
        layer("rect", {"color": kind}, stroke="$page", strokeWidth=2),
        layer("text", word, limit=50, lineBreak=" ", baseline="middle"),
    ]
    return drawing(
        layers,
        encoding={"x": x, "y": by_variant(grid=False)},
        width={"step": 52},
        height={"step": 22},
    )
