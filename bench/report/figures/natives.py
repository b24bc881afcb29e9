"""Tutorials' neurons: measured and never ranked, because each framework computes another
network."""

from ..table import Table
from ..words import per_call
from .figure import Figure, panel_of, timed_columns
from .spec import (
    SECONDS,
    TIME,
    Spec,
    beside,
    calculated,
    dots_with_intervals,
    hint,
    log_axis,
    rows_of_dots,
)

TEXT = (
    "The neuron of each framework's own tutorial. These are different networks with different "
    "gradients: the times show what a beginner gets, and cannot be compared. To the right: the "
    "share of neurons that fire per step, which differs, too."
)


def natives(table: Table) -> Figure:
    panels = []
    for where, group in table.groups(native=True):
        group = sorted(
            (e for e in group if e.row.status == "ok" and e.values[f"{e.row.ranked}_s"]),
            key=lambda entry: entry.variant,
        )
        if group:
            phase = group[0].row.ranked
            fields = timed_columns(phase) | {"rate": "firing_rate"}
            notes = [
                f"{entry.variant}: {entry.values['native']}"
                for entry in group
                if entry.values["native"]
            ]
            panels.append(panel_of(table, where, group, fields, notes=notes))
    missing = (
        'No framework was measured with its tutorial\'s neuron (neuron = ["native"] in a config).'
    )
    spec = _spec(per_call(table.timed).split()[1])
    return Figure("natives", "Tutorials' own neurons, never ranked", TEXT, spec, panels, missing)


def _spec(call: str) -> Spec:
    fires = "isValid(datum.rate) ? format(datum.rate, '.1%') + ' fire' : ''"
    x = log_axis("seconds", f"time per {call}", SECONDS)
    tooltip = hint(framework="variant", time="time", firing_rate="fires")
    return rows_of_dots(
        [*dots_with_intervals(x, tooltip), beside("fires")], calculated(time=TIME, fires=fires)
    )
