"""Winner map: who is fastest over neurons × time steps, for each precision and every other condition."""

from typing import Any

from ...records.contrasts import FAMILY, TIE
from ...records.rows import grouped
from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_phase, by_speed, panel_of
from .spec import COLOUR, MEBIBYTES, TIME, Spec, calculated, drawing, hint, layer, mebibytes, text_of

TEXT = (
    "The fastest framework of each size, with its time and the most memory in use at once in that phase. "
    "“tie: name + 2”, with a pale ground, means that it and two more are not shown to be slower. Filters on frameworks, N and T "
    "leave this map whole."
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
        ordered = by_speed(members, phase)
        fastest.append(ordered[0])
        point = {"row": ordered[0].index, "also": _tie(table, ordered, phase), "of": len(ordered)}
        points.append(point if neurons is not None else point | {"neurons": NO_NEURONS})
    fields = {"neurons": "neurons", "time_steps": "time_steps", "seconds": f"{phase}_s", "bytes": f"{phase}_peak_memory_bytes"}
    variants, wide = sorted({entry.variant for entry in fastest}), len({neurons for neurons, _ in cells})
    return panel_of(table, where, fastest, fields, points, variants=variants, whole=True, cells=wide)


def _tie(table: Table, ordered: list[Entry], phase: str) -> str:
    """Who is not shown to be slower than the fastest."""
    fastest, *others = ordered
    if phase == "step" and fastest.row.standing:
        also = [entry.variant for entry in others if entry.row.standing and entry.row.standing.best == 1]
    else:
        shown = table.compared(phase, fastest, others) if others else []
        also = [entry.variant for entry, one in zip(others, shown, strict=True) if one.p > FAMILY or one.estimate < TIE]
    return also[0] + (f" + {len(also) - 1}" if len(also) > 1 else "") if also else ""


def _spec() -> Spec:
    x = {"field": "neurons", "type": "ordinal", "axis": {"title": "neurons N", "labelAngle": 0, "grid": False}}
    y = {"field": "time_steps", "type": "ordinal", "sort": "descending", "axis": {"title": "time steps T", "grid": False}}
    tie = "datum.also ? '|tie: ' + replace(datum.also, ':', ':|') : ''"
    transform = mebibytes("bytes") + calculated(
        time=TIME,
        memory=text_of("bytes", MEBIBYTES),
        name="split(replace(datum.variant, ':', ':|'), '|')",
        ground="datum.also ? 0.07 : 0.28",
        lines=f"split(datum.time + '|' + (isValid(datum.bytes) ? datum.memory : '') + ({tie}), '|')",
    )
    tooltip = hint(fastest="variant", time="time", memory="memory", not_shown_to_be_slower="also", compared="of")
    ground = {"field": "ground", "type": "quantitative", "scale": None, "legend": None}
    text: dict[str, Any] = {"align": "center", "lineHeight": 13, "limit": "$cell", "baseline": "top"}
    layers = [
        layer("rect", {**COLOUR, "stroke": COLOUR["color"], "fillOpacity": ground}, strokeWidth=2),
        layer("text", {"text": {"field": "name"}}, **text, fontWeight="bold", dy=-39),
        layer("text", {"text": {"field": "lines"}}, **text, dy=-12),
    ]
    encoding = {"x": x, "y": y, "tooltip": tooltip}
    return drawing(layers, transform, encoding=encoding, width={"step": "$cell"}, height={"step": CELL_HEIGHT})
