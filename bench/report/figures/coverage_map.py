"""The coverage map for print: which case ended how. On the page it is a table, which a screen reader can walk through."""

from ..coverage import kind_of, rank_of
from ..table import Table
from .figure import Figure, Panel
from .spec import LEGEND, Spec, by_variant, drawing, layer, nominal

TEXT = "How each case ended; #1 is the fastest step of its column, #=1–3 shares the first three ranks with others."
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
        word = f"#{rank_of(row)}" if row.standing else row.status.replace("_", " ")
        points.append(
            {"row": entry.index, "conditions": table.title(entry.parts) or "all cases", "word": word, "kind": WORDS[kind_of(row)]}
        )
    panels = [Panel("", {}, points, {}, {"variants": table.variants})] if points else []
    return Figure("coverage", "Coverage", TEXT, _spec(), panels, "There are no records.")


def _spec() -> Spec:
    kind = nominal("kind", scale={"domain": list(WORDS.values()), "range": list(COLOURS)}, legend=LEGEND)
    x = nominal("conditions", axis={"title": None, "labelAngle": -45, "labelLimit": 0, "grid": False})
    word = {"text": {"field": "word", "type": "nominal"}}
    layers = [
        layer("rect", {"color": kind}, stroke="$page", strokeWidth=2),
        layer("text", word, limit=50, lineBreak=" ", baseline="middle"),
    ]
    return drawing(layers, encoding={"x": x, "y": by_variant(grid=False)}, width={"step": 52}, height={"step": 22})
