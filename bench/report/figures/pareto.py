"""Time against memory, with the front on which less of one costs more of the other."""

from typing import Any

from ...common import units
from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_meaning, panel_of
from .labels import along, column, labelled
from .spec import (
    COLOUR_AND_SHAPE,
    MEBIBYTES,
    SECONDS,
    TIME,
    Spec,
    calculated,
    dots,
    hint,
    layer,
    log_axis,
    mebibytes,
    plane,
    text_of,
)

TEXT = (
    "Left is faster, down is leaner. The stepped line is the front: everything right of or above "
    "it is worse in both time and memory. Memory of different meaning is a different quantity and "
    "has panels of its own."
)

EPOCHS = (
    "The time of steps for all samples of the network's data set, and the memory of a step. "
    "Reading the data is not included. Left is faster, down is leaner, the stepped line is the "
    "front."
)
KEY = "Dashed line: the front, where less of one costs more of the other."


def pareto(table: Table) -> Figure:
    panels = [_panel(table, *compared) for compared in by_meaning(table) if len(compared[-1]) > 1]
    missing = (
        "Nowhere were time and memory, in the same meaning, measured of two frameworks in the "
        "same conditions."
    )
    return Figure("pareto", "Time and memory", TEXT, _spec(), panels, missing, key=KEY)


def epochs(table: Table) -> Figure:
    panels = [
        _panel(table, phase, where, meaning, trained, "epoch_s")
        for phase, where, meaning, group in by_meaning(table)
        if phase == "step"
        and (
            trained := [entry for entry in group if entry.row.case.loss and entry.values["epoch_s"]]
        )
    ]
    missing = "No case trains, with a loss, a network that was published with a data set."
    return Figure(
        "epochs", "Epochs and memory", EPOCHS, _spec("time per epoch"), panels, missing, key=KEY
    )


def _panel(
    table: Table,
    phase: str,
    where: dict[str, str],
    meaning: str,
    group: list[Entry],
    time: str = "",
) -> Panel:
    time, weight = time or f"{phase}_s", f"{phase}_peak_memory_bytes"
    least, front = float("inf"), set()
    for entry in sorted(group, key=lambda entry: (entry.values[time], entry.values[weight])):
        if entry.values[weight] < least:
            least = entry.values[weight]
            front.add(entry.index)
    first, *others = (entry.variant for entry in group if entry.index in front)
    notes = [] if others else [f"{first} took the least time and the least memory here."]
    heights = {entry.variant: entry.values[weight] / 2**20 for entry in group}
    labels = column(heights, heights.values())
    points: list[dict[str, Any]] = []
    for entry in group:
        seconds, weighs = units.seconds(entry.values[time]), units.size(entry.values[weight])
        brief = f"{entry.variant} · {seconds}"
        place = {"front": entry.index in front, "place": labels.places[entry.variant]}
        texts = {"brief": brief, "text": f"{brief} · {weighs}"}
        points.append({"row": entry.index, **place, **texts})
    fields = {"seconds": time, "bytes": weight}
    names = {"behind": f"memory: {meaning}", "meaning": f"memory ({meaning})"}
    return panel_of(table, where, group, fields, points, notes=notes, **names, **labels.names)


def _spec(time: str = "time per call") -> Spec:
    x, y = log_axis("seconds", time, SECONDS), along("bytes", "$meaning", MEBIBYTES, base=2)
    place = {"x": x, "y": y}
    texts = calculated(time=TIME, memory=text_of("bytes", MEBIBYTES))
    dashed = {"color": "$muted", "strokeDash": [4, 3], "strokeWidth": 1.2}
    line = {"interpolate": "step-after", **dashed}
    tooltip = hint(framework="variant", time="time", memory="memory")
    marks = dots({**place, **COLOUR_AND_SHAPE, "tooltip": tooltip}, size=90)
    layers = [layer("line", place, "datum.front", **line), *labelled(x, y), marks]
    return plane(layers, [*mebibytes("bytes"), *texts], "$tall")
