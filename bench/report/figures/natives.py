"""Tutorials' own neurons: measured, shown apart, never ranked, because each framework computes another network."""

from ..table import Table
from .figure import Figure, Panel
from .spec import SECONDS, Spec, beside, coloured, hint, log_x, rows_of_dots, text_of

TEXT = (
    "What each framework's own tutorial gives. These are different networks with different gradients: the times say what a "
    "beginner gets, and cannot be compared. To the right: the share of neurons that fire per step, which differs as well."
)


def natives(table: Table) -> Figure:
    panels = []
    for where, group in table.groups(native=True):
        group = sorted((e for e in group if e.row.status == "ok" and e.values["step_s"]), key=lambda entry: entry.variant)
        if group:
            fields = {"seconds": "step_s", "low": "step_lo_s", "high": "step_hi_s", "rate": "firing_rate"}
            points = [{"row": entry.index} for entry in group]
            names = {"variants": [entry.variant for entry in group]}
            notes = [f"{entry.variant}: {entry.values['native']}" for entry in group if entry.values["native"]]
            panels.append(Panel(table.title(where), where, points, fields, names, notes))
    missing = 'No framework was measured with its tutorial\'s neuron (neuron = ["native"] in a config).'
    return Figure("natives", "Tutorials' own neurons, never ranked", TEXT, _spec(), panels, missing)


def _spec() -> Spec:
    transform: list[Spec] = [
        {"calculate": text_of("seconds", SECONDS), "as": "time"},
        {"calculate": "isValid(datum.rate) ? format(datum.rate, '.1%') + ' fire' : ''", "as": "fires"},
    ]
    x = {"field": "seconds", **log_x("time per step", SECONDS)}
    tooltip = hint(framework="variant", time="time", firing_rate="fires")
    rule = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": coloured(False)["color"]}
    layers: list[Spec] = [
        {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": rule},
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"x": x, **coloured(False), "tooltip": tooltip},
        },
        beside("fires"),
    ]
    return rows_of_dots(layers, transform)
