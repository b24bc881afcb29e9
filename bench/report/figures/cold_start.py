"""Cold start: what passes before the first result, and after how many calls a slow start has paid off."""

from math import ceil

from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel
from .spec import SCHEMA, SECONDS, beside, hint, rows_of_dots, said

TEXT = (
    "Seconds from an empty process and an empty compiler cache to the first result. “Compile” is all tracing and compiling of "
    "the case's own network, that of warm-up included. To the right: the sum, and after how many steps a framework has made up "
    "for starting later than the quickest starter of all."
)
PARTS = ("import", "build", "compile", "first call besides")


def cold_start(table: Table) -> Figure:
    panels = []
    for where, group in table.groups():
        whole = [entry for entry in group if entry.shows("step") and _total(entry) is not None]
        if whole:
            panels.append(_panel(table, where, sorted(whole, key=_total)))
    return Figure("cold-start", "Cold start", TEXT, _spec(), panels, "No first call was timed.")


def _parts(entry: Entry) -> list[float | None]:
    compiling, first = entry.values["compile_s"] or 0.0, entry.values["first_call_s"]
    besides = None if first is None else max(first - compiling, 0.0)
    return [entry.values["import_s"], entry.values["build_s"], compiling, besides]


def _total(entry: Entry) -> float | None:
    parts = _parts(entry)
    return None if None in parts else sum(parts)


def _panel(table: Table, where: dict, group: list[Entry]) -> Panel:
    points = [
        {"row": entry.index, "besides_s": _parts(entry)[3], "total": _total(entry), "pays": pays_off(entry, group[0])}
        for entry in group
    ]
    fields = {name: f"{name}_s" for name in ("import", "build", "compile")} | {"step": "step_s"}
    return Panel(table.title(where), where, points, fields, {"variants": [entry.variant for entry in group]})


def pays_off(entry: Entry, quickest: Entry) -> str:
    """After how many steps `entry` has made up for its later start."""
    if entry is quickest:
        return "starts first"
    gain = quickest.values["step_s"] - entry.values["step_s"]
    if gain <= 0:
        return "never ahead"
    return f"ahead after {ceil((_total(entry) - _total(quickest)) / gain):,}".replace(",", "\u202f")


def _spec() -> dict:
    transform = [
        {"calculate": "datum.besides_s", "as": "first call besides"},
        {"fold": list(PARTS), "as": ["part", "seconds"]},
        {"calculate": f"indexof({list(PARTS)}, datum.part)", "as": "place"},
        {"calculate": said("seconds", SECONDS), "as": "time"},
        {"calculate": said("total", SECONDS) + " + ', ' + datum.pays", "as": "after"},
        {"filter": "isValid(datum.seconds)"},
    ]
    colour = {
        "field": "part",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(PARTS), "range": "$ramp"},
        "legend": {"orient": "bottom", "title": None, "columns": "$columns", "symbolType": "square"},
    }
    x = {
        "field": "seconds",
        "type": "quantitative",
        "stack": "zero",
        "axis": {"title": "seconds", "tickCount": 5, "labelExpr": SECONDS},
    }
    bars = {
        "mark": {"type": "bar", "height": {"band": 0.62}, "stroke": "$page", "strokeWidth": 1},
        "encoding": {
            "x": x,
            "color": colour,
            "order": {"field": "place", "type": "quantitative"},
            "tooltip": hint(framework="variant", part="part", time="time", steps="pays"),
        },
    }
    label = beside("after")
    label["transform"] = [{"filter": "datum.place === 0"}]
    return {**rows_of_dots([bars, label], transform), "$schema": SCHEMA}
