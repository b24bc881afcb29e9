"""Time per call: one dot with its interval for each framework of a comparison group, and its ratio to a baseline."""

from typing import Any

from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_phase, panel_of
from .spec import SECONDS, TIMED, Spec, beside, calculated, dots_with_intervals, hint, layer, log_axis, rows_of_dots, span

TEXT = (
    "A dot is the median of the rounds' medians, the line its 95 % interval. To the right: how many times the baseline's time. "
    "The grey band is the baseline's own interval: a line that reaches into it is not clearly slower or faster. "
    "Where a chosen baseline was not measured the fastest, 1.00×, takes its place."
)


def times(table: Table) -> Figure:
    panels = [_panel(table, *group) for group in by_phase(table)]
    return Figure("times", "Time per call", TEXT, _spec(), panels, "No network was proved and timed.")


def _panel(table: Table, phase: str, where: dict[str, str], group: list[Entry]) -> Panel:
    group = sorted(group, key=lambda entry: entry.values[f"{phase}_s"])
    base = next((entry for entry in group if entry.variant == table.baseline), group[0])
    points: list[dict[str, Any]] = [{"row": entry.index} for entry in group]
    for entry, point in zip(group, points, strict=True):
        if phase == "step" and entry is not base:  # the baseline's ratio has no interval
            _, point["ratio_low"], point["ratio_high"] = table.step_ratio(entry, base)
    fields = {"seconds": f"{phase}_s", "low": f"{phase}_lo_s", "high": f"{phase}_hi_s"}
    return panel_of(table, where, group, fields, points, baseline=table.baseline, against=base.variant)


def _spec() -> Spec:
    figures = ("seconds", "low", "high")
    known = "isValid(datum.ratio_low) && against === datum.base"
    ratio_interval = "' (' + format(datum.ratio_low, '.2f') + ' – ' + format(datum.ratio_high, '.2f') + ')'"
    transform: list[Spec] = [
        {"joinaggregate": [{"op": "argmin", "field": "seconds", "as": "fastest"}]},
        *calculated(chosen="datum.variant === baseline ? 1 : 0"),
        {"joinaggregate": [{"op": "max", "field": "chosen", "as": "any_chosen"}]},
        *calculated(base="datum.any_chosen ? baseline : datum.fastest.variant"),
        *calculated(**{f"own_{name}": f"datum.variant === datum.base ? datum.{name} : null" for name in figures}),
        {"joinaggregate": [{"op": "max", "field": f"own_{name}", "as": f"base_{name}"} for name in figures]},
        *calculated(ratio="format(datum.seconds / datum.base_seconds, '.2f') + '×'"),
        *calculated(ratio_said=f"datum.ratio + ({known} ? {ratio_interval} : '') + ' ' + datum.base"),
        *TIMED,
    ]
    x = log_axis("seconds", "time per call", SECONDS)
    place = {**span(x), "y": {"value": 0}, "y2": {"value": "height"}}
    tooltip = hint(framework="variant", time="time", interval="interval", ratio="ratio_said")
    band = layer("rect", place, "datum.variant === datum.base", color="$band")
    layers = [band, *dots_with_intervals(x, tooltip), beside("ratio")]
    return rows_of_dots(layers, transform, params=[{"name": name, "value": f"${name}"} for name in ("baseline", "against")])
