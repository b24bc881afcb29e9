"""Time against memory: who is on the front, where less of one costs more of the other."""

from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_meaning, panel_of
from .spec import MEBIBYTES, SECONDS, TIME, Spec, calculated, coloured, dots, hint, layer, log_axis, mebibytes, plane, text_of

TEXT = (
    "Left is faster, down is leaner. The stepped line is the front: whatever lies right of or above it is beaten in both time "
    "and memory. Memory figures of different meaning are other quantities and have panels of their own."
)


def pareto(table: Table) -> Figure:
    panels = [_panel(table, *compared) for compared in by_meaning(table) if len(compared[-1]) > 1]
    missing = "Nowhere were time and memory, in the same meaning, measured of two frameworks in the same conditions."
    return Figure("pareto", "Time and memory", TEXT, _spec(), panels, missing)


def _panel(table: Table, phase: str, where: dict[str, str], meaning: str, group: list[Entry]) -> Panel:
    column = f"{phase}_peak_memory_bytes"
    least, front = float("inf"), set()
    for entry in sorted(group, key=lambda entry: (entry.values[f"{phase}_s"], entry.values[column])):
        if entry.values[column] < least:
            least = entry.values[column]
            front.add(entry.index)
    first, *others = (entry.variant for entry in group if entry.index in front)
    notes = [] if others else [f"Nobody here is faster than {first}, and nobody leaner."]
    points = [{"row": entry.index, "front": entry.index in front} for entry in group]
    fields, texts = {"seconds": f"{phase}_s", "bytes": column}, {"behind": f"memory: {meaning}", "meaning": f"memory ({meaning})"}
    return panel_of(table, where, group, fields, points, notes=notes, **texts)


def _spec() -> Spec:
    place = {
        "x": log_axis("seconds", "time per call", SECONDS),
        "y": log_axis("bytes", "$meaning", MEBIBYTES, base=2, channel="y"),
    }
    texts = calculated(time=TIME, memory=text_of("bytes", MEBIBYTES))
    line = {"interpolate": "step-after", "color": "$muted", "strokeDash": [4, 3], "strokeWidth": 1.2}
    tooltip = hint(framework="variant", time="time", memory="memory")
    layers = [layer("line", place, "datum.front", **line), dots({**place, **coloured("$variants"), "tooltip": tooltip}, size=90)]
    return plane(layers, [*mebibytes("bytes"), *texts], height=260)
