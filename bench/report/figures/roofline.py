"""Roofline: a call's time against the least time of the measured hardware."""

from ..table import Table
from .figure import Figure, by_phase, panel_of
from .spec import (
    COLOUR_AND_SHAPE,
    SECONDS,
    TIME,
    Spec,
    beside,
    calculated,
    dots,
    hint,
    limit,
    log_axis,
    rows_of_dots,
    text_of,
)

TEXT = (
    "The floor is the least time for the call: bytes that must move, or products that must be "
    "computed, at the best rate measured here, in the fastest number format. Products with spikes "
    "or zeros are not counted, so a dense product of spikes cannot reach the floor, nor can fp32 "
    "where short formats are much faster. More than 100 % means that the machine was faster during "
    "the samples; a time below 0.9 of its floor on a GPU, 0.5 on a CPU, is refused as implausible."
)
KEY = "Dashed line: the floor, as fast as the hardware was measured to be."


def roofline(table: Table) -> Figure:
    panels = []
    for phase, where, group in by_phase(table):
        group = [entry for entry in group if entry.values[f"{phase}_floor_s"]]
        group.sort(key=lambda entry: entry.values[f"{phase}_s"])
        if group:
            fields = {"seconds": f"{phase}_s", "floor": f"{phase}_floor_s"}
            panels.append(panel_of(table, where, group, fields))
    title, missing = "Share of the hardware's best", "No floor was measured."
    return Figure("roofline", title, TEXT, _spec(), panels, missing, key=KEY)


def _spec() -> Spec:
    transform = calculated(
        share="datum.floor / datum.seconds",
        percent="format(datum.share, datum.share < 0.095 ? '.1~%' : '.0%')",
        time=TIME,
        least=text_of("floor", SECONDS),
    )
    x = log_axis("share", "floor ÷ time", "format(datum.value, '~%')")
    tooltip = hint(framework="variant", time="time", floor="least", share="percent")
    layers = [
        limit(x, [{"share": 1}]),
        dots({"x": x, **COLOUR_AND_SHAPE, "tooltip": tooltip}),
        beside("percent"),
    ]
    return rows_of_dots(layers, transform)
