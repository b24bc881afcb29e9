"""Cold start: time before the first result, and calls until a slow start is amortised."""

from math import ceil, inf
from typing import Any

from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, paid_off_after, panel_of
from .spec import (
    APART,
    LEGEND,
    SECONDS,
    TIME,
    Spec,
    beside,
    calculated,
    hint,
    layer,
    nominal,
    rows_of_dots,
    text_of,
)

TEXT = (
    "Seconds from an empty process and an empty compiler cache to the first result. “Compile” is "
    "all tracing and compiling of the case's own network, including warm-up. To the right: the "
    "sum, and the number of steps, or epochs of delivered data, after which a framework has caught "
    "up with the quickest starter."
)
FIELDS = {"import": "import_s", "build": "build_s", "compile": "compile_s"}
PARTS = ("import", "build", "compile", "first call besides")
KEY = "Ahead after n: steps or epochs until a later start is amortised."


def cold_start(table: Table) -> Figure:
    panels = []
    for where, group in table.groups():
        phase = group[0].row.ranked
        totals = {
            entry.index: total
            for entry in group
            if entry.shows(phase) and (total := _total(entry)) is not None
        }
        started = sorted(
            (entry for entry in group if entry.index in totals),
            key=lambda entry: totals[entry.index],
        )
        if started:
            quickest, *others = started
            pays = ["starts first"]
            for entry, comparison in zip(
                others, table.compared(phase, quickest, others), strict=True
            ):
                later = totals[entry.index] - totals[quickest.index]
                seconds = quickest.values[f"{phase}_s"]
                pays.append(_in_words(paid_off_after(later, seconds, comparison)))
            points = [
                _point(entry, totals[entry.index], after)
                for entry, after in zip(started, pays, strict=True)
            ]
            fields = FIELDS | {"step": f"{phase}_s"}
            panels.append(panel_of(table, where, started, fields, points))
    return Figure(
        "cold-start", "Cold start", TEXT, _spec(), panels, "No first call was timed.", key=KEY
    )


def _parts(entry: Entry) -> list[float | None]:
    compiling, first = entry.values["compile_s"] or 0.0, entry.values["first_call_s"]
    besides = None if first is None else max(first - compiling, 0.0)
    return [entry.values["import_s"], entry.values["build_s"], compiling, besides]


def _total(entry: Entry) -> float | None:
    """Returns the seconds to the first result, None if a part is unknown."""
    known = [part for part in _parts(entry) if part is not None]
    return sum(known) if len(known) == len(PARTS) else None


def _point(entry: Entry, total: float, pays: str) -> dict[str, Any]:
    return {"row": entry.index, "besides_s": _parts(entry)[3], "total": total, "pays": pays}


def _in_words(calls: float | None) -> str:
    if calls is None:
        return "ahead: not decided"
    return "never ahead" if calls == inf else f"ahead after {ceil(calls):,}"


def _spec() -> Spec:
    transform: list[Spec] = [
        {"calculate": "datum.besides_s", "as": "first call besides"},
        {"fold": list(PARTS), "as": ["part", "seconds"]},
        *calculated(place=f"indexof({list(PARTS)}, datum.part)", time=TIME),
        *calculated(after=text_of("total", SECONDS) + " + ', ' + datum.pays"),
        {"filter": "isValid(datum.seconds)"},
    ]
    axis = {"title": "seconds", "tickCount": 5, "labelExpr": SECONDS, **APART}
    encoding = {
        "x": {"field": "seconds", "type": "quantitative", "stack": "zero", "axis": axis},
        "color": nominal(
            "part",
            scale={"domain": list(PARTS), "range": "$ramp"},
            legend={**LEGEND, "symbolType": "square"},
        ),
        "order": {"field": "place", "type": "quantitative"},
        "tooltip": hint(framework="variant", part="part", time="time", steps="pays"),
    }
    bars = layer("bar", encoding, height={"band": 0.62}, stroke="$page", strokeWidth=1)
    return rows_of_dots([bars, beside("after", "datum.place === 0")], transform)
