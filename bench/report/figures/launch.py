"""Launch-bound or not: is the time spent on issuing work rather than on the work?"""

from .figure import Entry, Figure, Panel, Table, by_phase
from .spec import BY_VARIANT, hint, rows_of_dots

TEXT = (
    "Does a call's time go into issuing work rather than into the work? Fewer neurons are as much to issue, so that the share "
    "told is at most the time with the fewest neurons over the cell's: from 80 % on yes, below 50 % no. With the fewest "
    "themselves it is at least (≥) what is left if the work grows no slower than N. A question mark: the share's 95 % interval "
    "reaches over a limit. On a GPU the share after which the call came back is told too: from 90 % on the device waits for "
    "Python."
)
BOUND, NOT_BOUND, RETURNED = 0.8, 0.5, 0.9
"""Shares of the time: from which on its smallest size, from which on it is not, and from which on the return, says so."""
FILLED = {"yes": 0.55, "partly": 0.22, "no": 0.04, "unclear": 0.0}


def launch(table: Table) -> Figure:
    panels = []
    for phase, where, group in by_phase(table, ("neurons",)):
        lines: dict[str, list[Entry]] = {}
        for entry in sorted(group, key=lambda entry: entry.values["neurons"]):
            lines.setdefault(entry.variant, []).append(entry)
        points = [_point(table, entry, lines[entry.variant], phase) for entry in group]
        if any(point["verdict"] != "unclear" for point in points):
            variants = list(dict.fromkeys(entry.variant for entry in group))
            names = {"variants": variants, "row": 48 if any(point["returned"] for point in points) else 34}
            panels.append(Panel(table.title(where), where, points, {"neurons": "neurons", "seconds": f"{phase}_s"}, names))
    missing = "On a CPU only the times at another size could tell, and no framework was measured at two numbers of neurons."
    return Figure("launch", "Launch-bound?", TEXT, _spec(), panels, missing)


def _point(table: Table, entry: Entry, line: list[Entry], phase: str) -> dict:
    """`line`: the same framework's entries, of the fewest neurons first."""
    values, small = entry.values, line[0]
    seconds, enqueue = values[f"{phase}_s"], values[f"{phase}_enqueue_s"]
    returned = enqueue / seconds if values["device"].startswith("cuda") and enqueue is not None else None
    most = least = None
    interval: tuple[float, ...] = ()
    if entry is not small:
        most, *interval = _ratio(table, small, entry, phase)
    elif len(line) > 1:
        least, *interval = (_left(ratio, small, line[1]) for ratio in _ratio(table, line[1], small, phase))
    return {
        "row": entry.index,
        "share": most if least is None else least,
        "at_least": least is not None,
        "returned": returned,
        "verdict": verdict(most, returned, least),
        "unsure": any(min(interval) < limit < max(interval) for limit in (BOUND, NOT_BOUND)) if interval else False,
    }


def _ratio(table: Table, entry: Entry, base: Entry, phase: str) -> tuple[float, ...]:
    """Of two times, and for steps its interval."""
    return table.step_ratio(entry, base) if phase == "step" else (entry.values[f"{phase}_s"] / base.values[f"{phase}_s"],)


def _left(ratio: float, small: Entry, next_size: Entry) -> float:
    """The share of the smaller size's time that is not work, if work grows with N at least, from the larger's time over it."""
    return 1 - (ratio - 1) / (next_size.values["neurons"] / small.values["neurons"] - 1)


def verdict(most: float | None, returned: float | None, least: float | None = None) -> str:
    """Launch-bound: `yes`, `partly`, `no` or `unclear`, from the most and the least that issuing may take, and the share until
    the return."""
    if least is not None and least >= BOUND:
        return "yes"
    if most is not None and most < NOT_BOUND:
        return "no"
    if returned is not None:
        return "yes" if returned >= RETURNED else "no" if returned < NOT_BOUND else "partly"
    if most is not None:
        return "yes" if most >= BOUND else "partly"
    return "partly" if least is not None and least >= NOT_BOUND else "unclear"


def _spec() -> dict:
    transform = [
        {"calculate": "datum.at_least ? '≥ ' : ''", "as": "sign"},
        {"calculate": "isValid(datum.share) ? datum.sign + format(clamp(datum.share, 0, 1), '.0%') : ''", "as": "part"},
        {"calculate": "isValid(datum.returned) ? format(datum.returned, '.0%') : ''", "as": "until_return"},
        {"calculate": f"{FILLED}[datum.verdict]", "as": "filled"},
        {"calculate": "datum.verdict + (datum.unsure && datum.verdict !== 'unclear' ? '?' : '')", "as": "word"},
        {"calculate": "[datum.part, datum.until_return ? 'back at ' + datum.until_return : '']", "as": "shares"},
    ]
    fill = {"field": "filled", "type": "quantitative", "scale": None}
    tooltip = hint(framework="variant", neurons="neurons", launch_bound="word", share="part", until_the_return="until_return")
    x = {"field": "neurons", "type": "ordinal", "axis": {"title": "neurons N", "labelAngle": 0, "grid": False}}
    text = {"type": "text", "align": "center", "lineHeight": 13}
    clear = [{"filter": "datum.verdict !== 'unclear'"}]
    lines = {**BY_VARIANT, "axis": {**BY_VARIANT["axis"], "grid": False}}
    layers = [
        {"mark": {"type": "rect", "color": "$accent", "stroke": "$grid"}, "encoding": {"fillOpacity": fill}},
        {
            "transform": [{"filter": "datum.verdict === 'unclear'"}],
            "mark": {**text, "color": "$muted", "baseline": "middle"},
            "encoding": {"text": {"field": "verdict"}},
        },
        {
            "transform": clear,
            "mark": {**text, "fontWeight": "bold", "baseline": "top", "dy": {"expr": "-bandwidth('y') / 2 + 4"}},
            "encoding": {"text": {"field": "word"}},
        },
        {
            "transform": clear,
            "mark": {**text, "baseline": "top", "dy": {"expr": "-bandwidth('y') / 2 + 17"}},
            "encoding": {"text": {"field": "shares"}},
        },
    ]
    return rows_of_dots(layers, transform, encoding={"x": x, "y": lines, "tooltip": tooltip})
