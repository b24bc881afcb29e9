"""Time per call: a dot with its interval for each framework of a group, and its ratio to a
baseline."""

from math import isfinite
from typing import Any

from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_phase, by_speed, panel_of, short, timed_columns
from .spec import (
    SECONDS,
    TIMED,
    Spec,
    beside,
    calculated,
    dots_with_intervals,
    hint,
    layer,
    log_axis,
    ratio_text,
    rows_of_dots,
)

TEXT = (
    "A dot is the geometric mean over blocks of each block's median, the line its 95 % interval in "
    "this run; a time of one block, or of disturbed slots, has no line. To the right: the time, "
    "and its ratio to the baseline. The ratio's interval is mostly narrower, because what slows a "
    "whole pass cancels out. Grey ground: not shown to be slower than the fastest at a step. If a "
    "chosen baseline was not measured, the fastest takes its place."
)
KEY = "Line: 95 % interval. Grey ground: not shown to be slower than the fastest."


def times(table: Table) -> Figure:
    panels = [_panel(table, *group) for group in by_phase(table)]
    call = "call" if table.step == "step" else table.step
    timed = {"step": "a step", "epoch": "an epoch"}.get(table.timed, table.timed)
    text, missing = TEXT.replace("a step", timed), "No network was proved and timed."
    return Figure("times", f"Time per {call}", text, _spec(call), panels, missing, key=KEY)


def _panel(table: Table, phase: str, where: dict[str, str], group: list[Entry]) -> Panel:
    group = by_speed(group, phase)
    base = next((entry for entry in group if entry.variant == table.baseline), group[0])
    points: list[dict[str, Any]] = []
    for entry in group:
        standing = entry.row.standing if phase == entry.row.ranked else None
        point = {
            "row": entry.index,
            "slower": ", ".join(entry.row.surely_slower) if standing else "",
        }
        points.append(point | {"leading": standing is not None and standing.best == 1})
    _add_ratios(table, phase, base, group, points)
    names = {"baseline": table.baseline, "against": base.variant, "fastest": group[0].variant}
    return panel_of(table, where, group, timed_columns(phase), points, **names)


def _add_ratios(
    table: Table, phase: str, base: Entry, group: list[Entry], points: list[dict[str, Any]]
) -> None:
    """Adds every ratio to the baseline with its interval, as in results.csv for the phase that
    ranks against the fastest."""
    others = [
        (entry, point) for entry, point in zip(group, points, strict=True) if entry is not base
    ]
    if phase == base.row.ranked and base.row.standing and base.row.standing.place == 1:
        ratios = [
            tuple(entry.values[name] for name in ("ratio", "ratio_low", "ratio_high"))
            for entry, _ in others
        ]
    else:
        comparisons = table.compared(phase, base, [entry for entry, _ in others])
        short_ratios = (tuple(map(short, comparison.ratio)) for comparison in comparisons)
        ratios = [ratio if isfinite(ratio[2]) else (ratio[0], None, None) for ratio in short_ratios]
    for (_, point), (ratio, low, high) in zip(others, ratios, strict=True):
        point |= {"against_base": ratio, "ratio_low": low, "ratio_high": high}


def _spec(call: str) -> Spec:
    known = "isValid(datum.against_base) && against === datum.base"
    ratio, interval = ratio_text("datum.quotient", "datum.ratio_low", "datum.ratio_high")
    transform: list[Spec] = [
        {"joinaggregate": [{"op": "argmin", "field": "seconds", "as": "quickest"}]},
        *calculated(chosen="datum.variant === baseline ? 2 : datum.variant === fastest ? 1 : 0"),
        {"joinaggregate": [{"op": "max", "field": "chosen", "as": "there"}]},
        *calculated(base="[datum.quickest.variant, fastest, baseline][datum.there]"),
        *calculated(own_seconds="datum.variant === datum.base ? datum.seconds : null"),
        {"joinaggregate": [{"op": "max", "field": "own_seconds", "as": "base_seconds"}]},
        *calculated(
            known=known,
            quotient="datum.known ? datum.against_base : datum.seconds / datum.base_seconds",
        ),
        *calculated(
            ratio=ratio,
            ratio_interval=f"datum.known && isValid(datum.ratio_high) ? {interval} : ''",
        ),
        *calculated(ratio_said="datum.ratio + ' ' + datum.ratio_interval + ' ' + datum.base"),
        *TIMED,
        *calculated(
            one_line="datum.time + ' · ' + datum.ratio",
            two_lines="[datum.one_line, datum.ratio_interval]",
        ),
    ]
    x = log_axis("seconds", f"time per {call}", SECONDS)
    tooltip = hint(
        framework="variant",
        time="time",
        interval="interval",
        ratio="ratio_said",
        surely_slower="slower",
    )
    ground = {"x": {"value": 0}, "x2": {"value": "width"}}
    layers = [
        layer("rect", ground, "datum.leading", color="$band", opacity=0.7, height={"band": 1}),
        *dots_with_intervals(x, tooltip),
        beside("one_line", "!datum.ratio_interval"),
        beside("two_lines", "datum.ratio_interval", dy=-6, lineHeight=12),
    ]
    return rows_of_dots(
        layers,
        transform,
        params=[{"name": name, "value": f"${name}"} for name in ("baseline", "against", "fastest")],
    )
