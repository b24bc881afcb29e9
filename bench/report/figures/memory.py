"""Memory of one call: one panel for each meaning of the number, because only the same quantity may be compared."""

from ..metric import STEP_FIRST, Entry
from ..table import Table
from .figure import Figure, Panel
from .spec import MEBIBYTES, Spec, beside, coloured, hint, log_x, mebibytes, rows_of_dots, text_of

TEXT = (
    "Filled: everything in use at the worst moment. Hollow: beyond arguments and results, which nobody can avoid. "
    "Weighed in the first round, while nothing is timed."
)


def memory(table: Table) -> Figure:
    panels = []
    for where, group in table.groups():
        for phase in STEP_FIRST:
            meanings: dict[str, list[Entry]] = {}
            for entry in group:
                if entry.shows(phase) and entry.values[f"{phase}_peak_memory_bytes"]:
                    meanings.setdefault(entry.values["memory_meaning"] or "unknown", []).append(entry)
            panels += [_panel(table, where | {"phase": phase}, phase, meaning, same) for meaning, same in meanings.items()]
    return Figure("memory", "Memory", TEXT, _spec(), panels, "No memory was weighed.")


def _panel(table: Table, where: dict[str, str], phase: str, meaning: str, group: list[Entry]) -> Panel:
    peak, extra = (f"{phase}_{kind}_memory_bytes" for kind in ("peak", "extra"))
    group = sorted(group, key=lambda entry: entry.values[peak])
    names = {"variants": [entry.variant for entry in group], "meaning": f"memory ({meaning})"}
    title = " · ".join(filter(None, (table.title(where), f"memory: {meaning}")))
    return Panel(title, where, [{"row": entry.index} for entry in group], {"peak": peak, "extra": extra}, names)


def _spec() -> Spec:
    transform: list[Spec] = [
        *mebibytes("peak", "extra"),
        {"calculate": text_of("peak", MEBIBYTES), "as": "most"},
        {"calculate": f"isValid(datum.extra) ? {text_of('extra', MEBIBYTES)} : ''", "as": "beyond"},
    ]
    x = log_x("$meaning", MEBIBYTES, base=2)
    tooltip = hint(framework="variant", most_in_use="most", beyond_arguments_and_results="beyond")
    both = {"color": coloured(False)["color"], "tooltip": tooltip}
    point = {"type": "point", "size": 70, "opacity": 1}
    known = [{"filter": "datum.extra > 0"}]
    span = {"x": {**x, "field": "extra"}, "x2": {"field": "peak"}, "color": both["color"]}
    layers: list[Spec] = [
        {"transform": known, "mark": {"type": "rule", "strokeDash": [2, 2]}, "encoding": span},
        {
            "transform": known,
            "mark": {**point, "filled": False, "strokeWidth": 2},
            "encoding": {"x": {**x, "field": "extra"}, **both},
        },
        {"mark": {**point, "filled": True}, "encoding": {"x": {**x, "field": "peak"}, **both}},
        beside("most"),
    ]
    return rows_of_dots(layers, transform)
