"""Launch-bound or not: is the time spent on issuing work rather than on the work?"""

from .figure import Entry, Figure, Panel, Table, by_phase
from .spec import beside, coloured, hint, rows_of_dots

TEXT = (
    "What part of a call's time may be the issuing of work? A circle, for GPUs, is the time until the call returned: near 100 % "
    "says that the device waits for Python. (On a CPU the call itself does the work.) A diamond is a bound that holds "
    "anywhere: the same framework's time with the fewest neurons measured, which has the same operations to issue. "
    "From 80 % (90 % for a circle) a row is called launch-bound, below 50 % it is not."
)
BOUND, NOT_BOUND, RETURNED = 0.8, 0.5, 0.9
"""Shares of the time: from which on its smallest size, from which on it is not, and from which on the return, says so."""


def launch(table: Table) -> Figure:
    panels = []
    smallest = {}
    for phase, where, group in by_phase(table, ("neurons",)):
        for entry in group:
            key = (phase, entry.variant, *where.values())
            smallest[key] = min(smallest.get(key, entry), entry, key=lambda found: found.values["neurons"])
    for phase, where, group in by_phase(table):
        key = [text for axis, text in where.items() if axis != "neurons"]
        found = [(entry, smallest[phase, entry.variant, *key]) for entry in group]
        points = [point for pair in found if (point := _point(*pair, phase))]
        if points:
            order = [table.entries[point["row"]].variant for point in points]
            fields = {"seconds": f"{phase}_s", "enqueue": f"{phase}_enqueue_s"}
            panels.append(Panel(table.title(where), where, points, fields, {"variants": order}))
    missing = "On a CPU only the times at a smaller size could tell, and no framework was measured at two numbers of neurons."
    return Figure("launch", "Launch-bound or not", TEXT, _spec(), panels, missing)


def _point(entry: Entry, small: Entry, phase: str) -> dict | None:
    """None if nothing can be said."""
    values = entry.values
    asynchronous = values["device"].startswith("cuda")
    seconds, enqueue = values[f"{phase}_s"], values[f"{phase}_enqueue_s"]
    bound = small.values[f"{phase}_s"] / seconds if small is not entry else None
    returned = enqueue / seconds if asynchronous and enqueue is not None else None
    if bound is None and returned is None:
        return None
    return {
        "row": entry.index,
        "bound": bound,
        "returned": returned,
        "smallest": small.values["neurons"] if small is not entry else None,
        "verdict": verdict(bound, returned),
    }


def verdict(bound: float | None, returned: float | None) -> str:
    """`launch-bound`, `not launch-bound` or `partly`: from the share that issuing takes at most, and that until the return."""
    if bound is not None and bound < NOT_BOUND:
        return "not launch-bound"
    if (returned is not None and returned >= RETURNED) or (returned is None and bound is not None and bound >= BOUND):
        return "launch-bound"
    return "not launch-bound" if returned is not None and returned < NOT_BOUND else "partly"


def _spec() -> dict:
    transform = [
        {"calculate": "isValid(datum.bound) ? format(datum.bound, '.0%') : ''", "as": "at_most"},
        {"calculate": "isValid(datum.returned) ? format(datum.returned, '.0%') : ''", "as": "until_return"},
        {"calculate": "min(datum.bound, 1.2)", "as": "bound_drawn"},
    ]
    x = {
        "type": "quantitative",
        "scale": {"domain": [0, 1.2], "nice": False},
        "axis": {"title": "share of the call's time", "format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1]},
    }
    tooltip = hint(
        framework="variant",
        issuing_at_most="at_most",
        with_neurons="smallest",
        until_the_return="until_return",
        verdict="verdict",
    )
    both = {**coloured(False), "tooltip": tooltip}
    del both["shape"]
    zone = {
        "data": {"values": [{}]},
        "mark": {"type": "rect", "color": "$band"},
        "encoding": {"x": {"datum": BOUND, **x}, "x2": {"datum": 1.2}, "y": {"value": 0}, "y2": {"value": "height"}},
    }
    diamond = {"type": "point", "shape": "diamond", "filled": True, "size": 90, "opacity": 1}
    circle = {"type": "point", "shape": "circle", "filled": False, "size": 90, "opacity": 1, "strokeWidth": 2}
    layers = [
        zone,
        {
            "transform": [{"filter": "isValid(datum.bound)"}],
            "mark": diamond,
            "encoding": {"x": {**x, "field": "bound_drawn"}, **both},
        },
        {
            "transform": [{"filter": "isValid(datum.returned)"}],
            "mark": circle,
            "encoding": {"x": {**x, "field": "returned"}, **both},
        },
        beside("verdict"),
    ]
    return rows_of_dots(layers, transform)
