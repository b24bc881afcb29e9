"""Cold start: time before the first result, and calls until a slow start is amortised."""

from math import ceil, inf
from typing import Any

from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, least_first, paid_off_after, panel_of
from .spec import (
    LEGEND,
    SECONDS,
    TIME,
    Spec,
    beside,
    calculated,
    hint,
    rows_of_dots,
    stacked_bars,
    text_of,
)

TEXT = (
    "Seconds from an empty process and an empty compiler cache to the first result. “Compile” is "
    "all tracing and compiling of the case's own network, including warm-up. To the right: the "
    "sum, and the number of steps, or epochs of delivered data, after which a framework has caught "
    "up with the quickest starter. It may not catch up: which step takes longer is not decided."
)
FIELDS = {"import": "import_s", "build": "build_s", "compile": "compile_s"}
PARTS = ("import", "build", "compile", "first call besides")
KEY = "Ahead after n: steps or epochs until a later start is amortised."


def cold_start(table: Table) -> Figure:
    panels = []
    for where, group in table.groups():
        phase = group[0].row.ranked
        started = least_first([entry for entry in group if entry.shows(phase)], seconds_to_start)
        if started:
            (quickest, least), *others = started
            seconds, slower = quickest.values[f"{phase}_s"], [entry for entry, _ in others]
            points = [_point(quickest, least, "starts first")]
            for (entry, total), comparison in zip(
                others, table.compared(phase, quickest, slower), strict=True
            ):
                after = paid_off_after(total - least, seconds, comparison)
                points.append(_point(entry, total, _in_words(after)))
            fields = FIELDS | {"step": f"{phase}_s"}
            panels.append(panel_of(table, where, [quickest, *slower], fields, points))
    return Figure(
        "cold-start", "Cold start", TEXT, _spec(), panels, "No first call was timed.", key=KEY
    )


def _parts(entry: Entry) -> list[float | None]:
    compiling, first = entry.values["compile_s"] or 0.0, entry.values["first_call_s"]
    besides = None if first is None else max(first - compiling, 0.0)
    return [entry.values["import_s"], entry.values["build_s"], compiling, besides]


def seconds_to_start(entry: Entry) -> float | None:
    """Returns the seconds to the first result, None if a part is unknown."""
    known = [part for part in _parts(entry) if part is not None]
    return sum(known) if len(known) == len(PARTS) else None


def _point(entry: Entry, total: float, pays: str) -> dict[str, Any]:
    return {"row": entry.index, "besides_s": _parts(entry)[3], "total": total, "pays": pays}


def _in_words(calls: float | None) -> str:
    if calls is None:
        return "may not catch up"
    return "never ahead" if calls == inf else f"ahead after {ceil(calls):,}"


def _spec() -> Spec:
    transform: list[Spec] = [
        {"calculate": "datum.besides_s", "as": "first call besides"},
        {"fold": list(PARTS), "as": ["part", "seconds"]},
        *calculated(place=f"indexof({list(PARTS)}, datum.part)", time=TIME),
        *calculated(after=text_of("total", SECONDS) + " + ', ' + datum.pays"),
        {"filter": "isValid(datum.seconds)"},
    ]
    tooltip = hint(framework="variant", part="part", time="time", steps="pays")
    bars = stacked_bars("seconds", "seconds", SECONDS, list(PARTS), "$ramp", LEGEND, tooltip)
    return rows_of_dots([bars, beside("after", "datum.place === 0")], transform)
