"""The coverage map for print: which case ended how. On the page it is a table, which a screen reader can walk through."""

from ..coverage import KINDS
from ..table import Table
from .figure import Figure, Panel
from .spec import BY_VARIANT, SCHEMA, Spec

TEXT = "How each case ended; #1 is the fastest step of its column."
WORDS = {
    "ok": "proved and measured",
    "limit": "ran out, or not ranked",
    "failed": "failed",
    "refused": "refused",
    "not-run": "not to be had, or not tried",
}
COLOURS = ("#bfe6d8", "#f7dfae", "#eed6e3", "#f0c3a4", "#e3e5e8")


def coverage_map(table: Table) -> Figure:
    points = []
    for entry in table.entries:
        row = entry.row
        kind = KINDS[row.status] if row.rankable or row.status != "ok" else "limit"
        word = f"#{row.rank}" if row.rank else row.status.replace("_", " ")
        points.append(
            {"row": entry.index, "conditions": table.title(entry.parts) or "all cases", "word": word, "kind": WORDS[kind]}
        )
    panels = [Panel("", {}, points, {}, {"variants": table.variants})] if points else []
    return Figure("coverage", "Coverage", TEXT, _spec(), panels, "There are no records.")


def _spec() -> Spec:
    kind = {
        "field": "kind",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(WORDS.values()), "range": list(COLOURS)},
        "legend": {"orient": "bottom", "title": None, "columns": "$columns"},
    }
    x: Spec = {
        "field": "conditions",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "labelAngle": -45, "labelLimit": 0},
    }
    x["axis"]["grid"] = False
    text = {"type": "text", "limit": 50, "lineBreak": " ", "baseline": "middle"}
    return {
        "$schema": SCHEMA,
        "width": {"step": 52},
        "height": {"step": 22},
        "data": {"values": "$points"},
        "encoding": {"x": x, "y": {**BY_VARIANT, "axis": {**BY_VARIANT["axis"], "grid": False}}},
        "layer": [
            {"mark": {"type": "rect", "stroke": "$page", "strokeWidth": 2}, "encoding": {"color": kind}},
            {"mark": text, "encoding": {"text": {"field": "word", "type": "nominal"}}},
        ],
    }
