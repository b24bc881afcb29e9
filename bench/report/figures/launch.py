"""Launch-bound or not: is the time spent on issuing work rather than on the work?"""

from .figure import Entry, Figure, Panel, Table, by_phase
from .spec import BY_VARIANT, hint, rows_of_dots

TEXT = (
    "Does a call's time go into issuing work rather than into the work? The upper share is the same framework's time with the "
    "fewest neurons measured, its reference, over the cell's: both issue the same operations. From 80 % on the answer is yes, "
    "below 50 % no. On a GPU the share after which the call returned is told as well: above 90 % the device waits for Python."
)
BOUND, NOT_BOUND, RETURNED = 0.8, 0.5, 0.9
"""Shares of the time: from which on its smallest size, from which on it is not, and from which on the return, says so."""
FILLED = {"yes": 0.55, "partly": 0.22, "no": 0.04, "reference": 0.0}


def launch(table: Table) -> Figure:
    panels = []
    for phase, where, group in by_phase(table, ("neurons",)):
        smallest: dict[str, Entry] = {}
        for entry in group:
            known = smallest.get(entry.variant, entry)
            smallest[entry.variant] = min(known, entry, key=lambda found: found.values["neurons"])
        points = [_point(entry, smallest[entry.variant], phase) for entry in group]
        if any(point["verdict"] != "reference" for point in points):
            variants = list(dict.fromkeys(entry.variant for entry in group))
            names = {"variants": variants, "row": 48 if any(point["returned"] for point in points) else 34}
            panels.append(Panel(table.title(where), where, points, {"neurons": "neurons", "seconds": f"{phase}_s"}, names))
    missing = "On a CPU only the times at a smaller size could tell, and no framework was measured at two numbers of neurons."
    return Figure("launch", "Launch-bound?", TEXT, _spec(), panels, missing)


def _point(entry: Entry, small: Entry, phase: str) -> dict:
    values = entry.values
    seconds, enqueue = values[f"{phase}_s"], values[f"{phase}_enqueue_s"]
    bound = small.values[f"{phase}_s"] / seconds if small is not entry else None
    returned = enqueue / seconds if values["device"].startswith("cuda") and enqueue is not None else None
    return {"row": entry.index, "bound": bound, "returned": returned, "verdict": verdict(bound, returned)}


def verdict(bound: float | None, returned: float | None) -> str:
    """Launch-bound: `yes`, `partly` or `no`, from the share that issuing takes at most, and that until the return."""
    if bound is None and returned is None:
        return "reference"
    if bound is not None and bound < NOT_BOUND:
        return "no"
    if (returned is not None and returned >= RETURNED) or (returned is None and bound is not None and bound >= BOUND):
        return "yes"
    return "no" if returned is not None and returned < NOT_BOUND else "partly"


def _spec() -> dict:
    transform = [
        {"calculate": "isValid(datum.bound) ? format(datum.bound, '.0%') : ''", "as": "share"},
        {"calculate": "isValid(datum.returned) ? format(datum.returned, '.0%') : ''", "as": "until_return"},
        {"calculate": f"{FILLED}[datum.verdict]", "as": "filled"},
        {"calculate": "[datum.share, datum.until_return ? 'back at ' + datum.until_return : '']", "as": "shares"},
    ]
    fill = {"field": "filled", "type": "quantitative", "scale": None}
    tooltip = hint(framework="variant", neurons="neurons", launch_bound="verdict", share="share", until_the_return="until_return")
    x = {"field": "neurons", "type": "ordinal", "axis": {"title": "neurons N", "labelAngle": 0, "grid": False}}
    text = {"type": "text", "align": "center", "lineHeight": 13}
    lines = {**BY_VARIANT, "axis": {**BY_VARIANT["axis"], "grid": False}}
    layers = [
        {"mark": {"type": "rect", "color": "$accent", "stroke": "$grid"}, "encoding": {"fillOpacity": fill}},
        {
            "transform": [{"filter": "datum.verdict === 'reference'"}],
            "mark": {**text, "color": "$muted", "baseline": "middle"},
            "encoding": {"text": {"field": "verdict"}},
        },
        {
            "transform": [{"filter": "datum.verdict !== 'reference'"}],
            "mark": {**text, "fontWeight": "bold", "baseline": "top", "dy": {"expr": "-bandwidth('y') / 2 + 4"}},
            "encoding": {"text": {"field": "verdict"}},
        },
        {
            "transform": [{"filter": "datum.verdict !== 'reference'"}],
            "mark": {**text, "baseline": "top", "dy": {"expr": "-bandwidth('y') / 2 + 17"}},
            "encoding": {"text": {"field": "shares"}},
        },
    ]
    return rows_of_dots(layers, transform, encoding={"x": x, "y": lines, "tooltip": tooltip})
