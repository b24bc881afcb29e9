"""Winner map: who is fastest over neurons × time steps, for each precision and every other condition."""

from typing import Any

from ...records.rows import grouped
from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_phase, panel_of
from .spec import COLOUR, MEBIBYTES, TIME, Spec, calculated, drawing, hint, layer, mebibytes, text_of

TEXT = (
    "The fastest framework of each size, with its time and the most memory in use at once in that phase. "
    "“≈ name + 2” means that it and two more are not clearly slower: the interval of the ratio includes 1. Filters on "
    "frameworks, N and T leave this map whole."
)
CELL_HEIGHT = 90
"""Its width, `$cell`, follows from the page's."""
NO_NEURONS = "–"
"""In place of a number of neurons, for a workload whose layers have many."""


def winners(table: Table) -> Figure:
    panels = [_panel(table, *group) for group in by_phase(table, ("neurons", "time_steps"))]
    return Figure("winners", "Who is fastest", TEXT, _spec(), panels, "No network was proved and timed.")


def _panel(table: Table, phase: str, where: dict[str, str], group: list[Entry]) -> Panel:
    cells = grouped(group, lambda entry: (entry.values["neurons"], entry.values["time_steps"]))
    fastest, points = [], []
    for (neurons, _), members in cells.items():
        ordered = sorted(members, key=lambda entry: entry.values[f"{phase}_s"])
        fastest.append(ordered[0])
        point = {"row": ordered[0].index, "also": _tie(table, ordered, phase), "of": len(ordered)}
        points.append(point if neurons is not None else point | {"neurons": NO_NEURONS})
    fields = {"neurons": "neurons", "time_steps": "time_steps", "seconds": f"{phase}_s", "bytes": f"{phase}_peak_memory_bytes"}
    variants, wide = sorted({entry.variant for entry in fastest}), len({neurons for neurons, _ in cells})
    return panel_of(table, where, fastest, fields, points, variants=variants, whole=True, cells=wide)


def _tie(table: Table, ordered: list[Entry], phase: str) -> str:
    """Who is not clearly slower than the fastest. Ratios of other phases than the step have no interval."""
    also = [entry.variant for entry in ordered[1:] if phase == "step" and table.step_ratio(entry, ordered[0])[1] <= 1]
    return also[0] + (f" + {len(also) - 1}" if len(also) > 1 else "") if also else ""


def _spec() -> Spec:
    x = {"field": "neurons", "type": "ordinal", "axis": {"title": "neurons N", "labelAngle": 0, "grid": False}}
    y = {"field": "time_steps", "type": "ordinal", "sort": "descending", "axis": {"title": "time steps T", "grid": False}}
    tie = "datum.also ? '|≈ ' + replace(datum.also, ':', ':|') : ''"
    transform = mebibytes("bytes") + calculated(
        time=TIME,
        memory=text_of("bytes", MEBIBYTES),
        name="split(replace(datum.variant, ':', ':|'), '|')",
        lines=f"split(datum.time + '|' + (isValid(datum.bytes) ? datum.memory : '') + ({tie}), '|')",
    )
    tooltip = hint(fastest="variant", time="time", memory="memory", not_clearly_slower="also", compared="of")
    text: dict[str, Any] = {"align": "center", "lineHeight": 13, "limit": "$cell", "baseline": "top"}
    layers = [
        layer("rect", {**COLOUR, "stroke": COLOUR["color"]}, fillOpacity=0.22, strokeWidth=2),
        layer("text", {"text": {"field": "name"}}, **text, fontWeight="bold", dy=-39),
        layer("text", {"text": {"field": "lines"}}, **text, dy=-12),
    ]
    encoding = {"x": x, "y": y, "tooltip": tooltip}
    return drawing(layers, transform, encoding=encoding, width={"step": "$cell"}, height={"step": CELL_HEIGHT})
