"""Memory of one call: a panel for each meaning of the number, because only equal quantities
compare."""

from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_meaning, panel_of
from .spec import (
    COLOUR,
    MEBIBYTES,
    Spec,
    beside,
    calculated,
    dots,
    hint,
    layer,
    log_axis,
    mebibytes,
    rows_of_dots,
    span,
    text_of,
)

TEXT = (
    "Filled: the peak of all memory in use. Hollow: without arguments and results, which no "
    "framework can avoid. Measured in the first block, while nothing is timed."
)
KEY = "Filled: the peak of all memory in use. Hollow: without arguments and results."


def memory(table: Table) -> Figure:
    panels = [_panel(table, *group) for group in by_meaning(table, Entry.weighs)]
    return Figure("memory", "Memory", TEXT, _spec(), panels, "No memory was weighed.", key=KEY)


def _panel(
    table: Table, phase: str, where: dict[str, str], meaning: str, group: list[Entry]
) -> Panel:
    peak, extra = (f"{phase}_{kind}_memory_bytes" for kind in ("peak", "extra"))
    group = sorted(group, key=lambda entry: entry.values[peak])
    fields = {"peak": peak, "extra": extra}
    return panel_of(
        table, where, group, fields, behind=f"memory: {meaning}", meaning=f"memory ({meaning})"
    )


def _spec() -> Spec:
    beyond = f"isValid(datum.extra) ? {text_of('extra', MEBIBYTES)} : ''"
    transform = [
        *mebibytes("peak", "extra"),
        *calculated(most=text_of("peak", MEBIBYTES), beyond=beyond),
    ]
    x = log_axis("peak", "$meaning", MEBIBYTES, base=2)
    tooltip = hint(framework="variant", most_in_use="most", beyond_arguments_and_results="beyond")
    both = {**COLOUR, "tooltip": tooltip}
    known = "datum.extra > 0"
    layers = [
        layer("rule", {**span(x, "extra", "peak"), **COLOUR}, known, strokeDash=[2, 2]),
        dots({"x": {**x, "field": "extra"}, **both}, known, filled=False, strokeWidth=2),
        dots({"x": x, **both}),
        beside("most"),
    ]
    return rows_of_dots(layers, transform)
