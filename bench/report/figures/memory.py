"""Memory of one call: one panel for each meaning of the number, because only the same quantity may be compared."""

from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_meaning, by_phase
from .spec import COLOUR, MEBIBYTES, Spec, beside, calculated, dots, hint, layer, log_x, mebibytes, rows_of_dots, span, text_of

TEXT = (
    "Filled: everything in use at the worst moment. Hollow: beyond arguments and results, which nobody can avoid. "
    "Weighed in the first round, while nothing is timed."
)


def memory(table: Table) -> Figure:
    panels = [
        _panel(table, where, phase, meaning, same)
        for phase, where, group in by_phase(table)
        for meaning, same in by_meaning(group, phase)
    ]
    return Figure("memory", "Memory", TEXT, _spec(), panels, "No memory was weighed.")


def _panel(table: Table, where: dict[str, str], phase: str, meaning: str, group: list[Entry]) -> Panel:
    peak, extra = (f"{phase}_{kind}_memory_bytes" for kind in ("peak", "extra"))
    group = sorted(group, key=lambda entry: entry.values[peak])
    names = {"variants": [entry.variant for entry in group], "meaning": f"memory ({meaning})"}
    title = table.title(where, behind=f"memory: {meaning}")
    return Panel(title, where, [{"row": entry.index} for entry in group], {"peak": peak, "extra": extra}, names)


def _spec() -> Spec:
    beyond = f"isValid(datum.extra) ? {text_of('extra', MEBIBYTES)} : ''"
    transform = [*mebibytes("peak", "extra"), *calculated(most=text_of("peak", MEBIBYTES), beyond=beyond)]
    x = log_x("$meaning", MEBIBYTES, base=2)
    both = {**COLOUR, "tooltip": hint(framework="variant", most_in_use="most", beyond_arguments_and_results="beyond")}
    known = "datum.extra > 0"
    layers = [
        layer("rule", {**span(x, "extra", "peak"), **COLOUR}, known, strokeDash=[2, 2]),
        dots({"x": {**x, "field": "extra"}, **both}, known, filled=False, strokeWidth=2),
        dots({"x": {**x, "field": "peak"}, **both}),
        beside("most"),
    ]
    return rows_of_dots(layers, transform)
