"""Cold start: what passes before the first result, and after how many calls a slow start has paid off."""

from math import ceil

from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel
from .spec import LEGEND, SECONDS, TIME, Spec, beside, calculated, hint, layer, nominal, rows_of_dots, text_of

TEXT = (
    "Seconds from an empty process and an empty compiler cache to the first result. “Compile” is all tracing and compiling of "
    "the case's own network, that of warm-up included. To the right: the sum, and after how many steps a framework has made up "
    "for starting later than the quickest starter of all."
)
PARTS = ("import", "build", "compile", "first call besides")


def cold_start(table: Table) -> Figure:
    panels = []
    for where, group in table.groups():
        totals = {entry.index: total for entry in group if entry.shows("step") and (total := _total(entry)) is not None}
        if totals:
            started = [entry for entry in group if entry.index in totals]
            panels.append(_panel(table, where, sorted(started, key=lambda entry: totals[entry.index]), totals))
    return Figure("cold-start", "Cold start", TEXT, _spec(), panels, "No first call was timed.")


def _parts(entry: Entry) -> list[float | None]:
    compiling, first = entry.values["compile_s"] or 0.0, entry.values["first_call_s"]
    besides = None if first is None else max(first - compiling, 0.0)
    return [entry.values["import_s"], entry.values["build_s"], compiling, besides]


def _total(entry: Entry) -> float | None:
    """Seconds to the first result; None where a part is unknown."""
    known = [part for part in _parts(entry) if part is not None]
    return sum(known) if len(known) == len(PARTS) else None


def _panel(table: Table, where: dict[str, str], group: list[Entry], totals: dict[int, float]) -> Panel:
    points = []
    for entry in group:
        total, later = totals[entry.index], totals[entry.index] - totals[group[0].index]
        points.append(
            {"row": entry.index, "besides_s": _parts(entry)[3], "total": total, "pays": pays_off(entry, group[0], later)}
        )
    fields = {name: f"{name}_s" for name in ("import", "build", "compile")} | {"step": "step_s"}
    return Panel(table.title(where), where, points, fields, {"variants": [entry.variant for entry in group]})


def pays_off(entry: Entry, quickest: Entry, later: float) -> str:
    """After how many steps `entry`, which starts so many seconds `later` than the `quickest`, has made up for that."""
    if entry is quickest:
        return "starts first"
    gain = quickest.values["step_s"] - entry.values["step_s"]
    if gain <= 0:
        return "never ahead"
    return f"ahead after {ceil(later / gain):,}".replace(",", "\u202f")


def _spec() -> Spec:
    transform: list[Spec] = [
        {"calculate": "datum.besides_s", "as": "first call besides"},
        {"fold": list(PARTS), "as": ["part", "seconds"]},
        *calculated(
            place=f"indexof({list(PARTS)}, datum.part)", time=TIME, after=text_of("total", SECONDS) + " + ', ' + datum.pays"
        ),
        {"filter": "isValid(datum.seconds)"},
    ]
    encoding = {
        "x": {
            "field": "seconds",
            "type": "quantitative",
            "stack": "zero",
            "axis": {"title": "seconds", "tickCount": 5, "labelExpr": SECONDS},
        },
        "color": nominal("part", scale={"domain": list(PARTS), "range": "$ramp"}, legend={**LEGEND, "symbolType": "square"}),
        "order": {"field": "place", "type": "quantitative"},
        "tooltip": hint(framework="variant", part="part", time="time", steps="pays"),
    }
    bars = layer("bar", encoding, height={"band": 0.62}, stroke="$page", strokeWidth=1)
    return rows_of_dots([bars, beside("after", "datum.place === 0")], transform)
