"""Time over the firing rate of the input: gains from zeros, and the kernels' choice of product."""

from typing import Any

from ...common import units
from ...core.case import SPIKE_SHARE
from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_phase, panel_of, timed_columns
from .labels import along, column, labelled_lines
from .spec import (
    SECONDS,
    TIMED,
    Spec,
    calculated,
    hint,
    log_axis,
    plane,
    ticked,
)

TEXT = (
    "The share of ones in the input, the same for every framework. A flat line multiplies zeros "
    "and ones alike; a line that falls to the left skips zeros. If a kernel chooses between "
    "products, its choice is named."
)


def firing(table: Table) -> Figure:
    panels = []
    for phase, where, group in by_phase(table, ("firing",)):
        group = [entry for entry in group if entry.values["input"] == "spikes"]
        if len({entry.values["firing"] for entry in group}) > 1:
            panels.append(_panel(table, where, phase, group))
    return Figure(
        "firing",
        "Time over firing rate",
        TEXT,
        _spec(),
        panels,
        "The input fires at one rate in all cases.",
    )


def _panel(table: Table, where: dict[str, str], phase: str, group: list[Entry]) -> Panel:
    rates = {entry.index: entry.values["firing"] or SPIKE_SHARE for entry in group}
    slowest_last = sorted(
        group,
        key=lambda entry: (-max(rates.values()) == -rates[entry.index], entry.values[f"{phase}_s"]),
    )
    order = list(dict.fromkeys(entry.variant for entry in reversed(slowest_last)))
    entries = sorted(group, key=lambda entry: (order.index(entry.variant), rates[entry.index]))
    points: list[dict[str, Any]] = [
        {"row": entry.index, "rate": rates[entry.index]} for entry in entries
    ]
    ends = {
        entry.variant: (entry.values[f"{phase}_s"], point)
        for entry, point in zip(entries, points, strict=True)
    }
    times = timed_columns(phase)
    drawn = [entry.values[name] for entry in group for name in times.values()]
    labels = column({name: seconds for name, (seconds, _) in ends.items()}, drawn)
    for name, (seconds, point) in ends.items():
        text = f"{name} · {units.seconds(seconds)}"
        point |= {"place": labels.places[name], "brief": text, "text": text}
    products: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        if took := entry.values["product"]:
            products.setdefault((entry.variant, took), []).append(units.share(rates[entry.index]))
    notes = [
        f"{variant} took the product {took} at {', '.join(at)}."
        for (variant, took), at in products.items()
    ]
    fields = times | {"product": "product"}
    names = {"sizes": sorted({*rates.values()}), **labels.names}
    return panel_of(table, where, entries, fields, points, notes=notes, **names)


def _spec() -> Spec:
    share = "format(datum.value, '.3~%')"
    x = ticked(log_axis("rate", "firing rate of the input", ""), "$sizes", labelExpr=share)
    y = along("seconds", "time per call", SECONDS)
    transform = [*TIMED, *calculated(fires="format(datum.rate, '.3~%')")]
    tooltip = hint(
        framework="variant", firing="fires", time="time", interval="interval", product="product"
    )
    return plane(labelled_lines(x, y, tooltip), transform, "$tall")
