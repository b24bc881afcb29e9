"""Time against memory: who is on the front, where less of one costs more of the other."""

from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_phase
from .spec import MEBIBYTES, SECONDS, Spec, coloured, hint, log_x, log_y, mebibytes, plane, text_of

TEXT = (
    "Left is faster, down is leaner. The stepped line is the front: whatever lies right of or above it is beaten in both time "
    "and memory. Memory figures of different meaning are other quantities and have panels of their own."
)


def pareto(table: Table) -> Figure:
    panels = []
    for phase, where, group in by_phase(table):
        column = f"{phase}_peak_memory_bytes"
        meanings: dict[str, list[Entry]] = {}
        for entry in group:
            if entry.values[column]:
                meanings.setdefault(entry.values["memory_meaning"] or "unknown", []).append(entry)
        panels += [_panel(table, where, phase, column, meaning, same) for meaning, same in meanings.items() if len(same) > 1]
    missing = "Nowhere were time and memory, in the same meaning, measured of two frameworks in the same conditions."
    return Figure("pareto", "Time and memory", TEXT, _spec(), panels, missing)


def _panel(table: Table, where: dict[str, str], phase: str, column: str, meaning: str, group: list[Entry]) -> Panel:
    least, front = float("inf"), set()
    for entry in sorted(group, key=lambda entry: (entry.values[f"{phase}_s"], entry.values[column])):
        if entry.values[column] < least:
            least = entry.values[column]
            front.add(entry.index)
    first, *others = (entry.variant for entry in group if entry.index in front)
    return Panel(
        title=" · ".join(filter(None, (table.title(where), f"memory: {meaning}"))),
        where=where,
        points=[{"row": entry.index, "front": entry.index in front} for entry in group],
        fields={"seconds": f"{phase}_s", "bytes": column},
        names={"variants": [entry.variant for entry in group], "meaning": f"memory ({meaning})"},
        notes=[] if others else [f"Nobody here is faster than {first}, and nobody leaner."],
    )


def _spec() -> Spec:
    x = {"field": "seconds", **log_x("time per call", SECONDS)}
    y = {"field": "bytes", **log_y("$meaning", MEBIBYTES, base=2)}
    transform: list[Spec] = [
        *mebibytes("bytes"),
        {"calculate": text_of("seconds", SECONDS), "as": "time"},
        {"calculate": text_of("bytes", MEBIBYTES), "as": "memory"},
    ]
    line = {"type": "line", "interpolate": "step-after", "color": "$muted", "strokeDash": [4, 3], "strokeWidth": 1.2}
    dots = {"type": "point", "filled": True, "size": 90, "opacity": 1}
    tooltip = hint(framework="variant", time="time", memory="memory")
    layers: list[Spec] = [
        {"transform": [{"filter": "datum.front"}], "mark": line, "encoding": {"x": x, "y": y}},
        {"mark": dots, "encoding": {"x": x, "y": y, **coloured(True), "tooltip": tooltip}},
    ]
    return plane(layers, transform, height=260)
