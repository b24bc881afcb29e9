"""Time over the firing rate of the input: who gains from zeros, and which product a kernel took."""

from snnbench.adapters.base.case import SPIKE_SHARE

from ... import units
from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_phase, panel_of
from .spec import DASHES, SECONDS, TIMED, Spec, calculated, coloured, dots, hint, layer, log_axis, plane

TEXT = (
    "The share of ones in the input, the same numbers for every framework. A flat line multiplies with zeros and ones alike; one "
    "that falls to the left leaves zeros out. Where a kernel chooses between products, what it took is named."
)


def firing(table: Table) -> Figure:
    panels = []
    for phase, where, group in by_phase(table, ("firing",)):
        group = [entry for entry in group if entry.values["input"] == "spikes"]
        if len({entry.values["firing"] for entry in group}) > 1:
            panels.append(_panel(table, where, phase, group))
    return Figure("firing", "Time over firing rate", TEXT, _spec(), panels, "The input fires at one rate in all cases.")


def _panel(table: Table, where: dict[str, str], phase: str, group: list[Entry]) -> Panel:
    rates = {entry.index: entry.values["firing"] or SPIKE_SHARE for entry in group}
    slowest_last = sorted(group, key=lambda entry: (-max(rates.values()) == -rates[entry.index], entry.values[f"{phase}_s"]))
    order = list(dict.fromkeys(entry.variant for entry in reversed(slowest_last)))
    entries = sorted(group, key=lambda entry: (order.index(entry.variant), rates[entry.index]))
    points = [{"row": entry.index, "rate": rates[entry.index]} for entry in entries]
    products: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        if took := entry.values["product"]:
            products.setdefault((entry.variant, took), []).append(units.share(rates[entry.index]))
    notes = [f"{variant} took the product {took} at {', '.join(at)}." for (variant, took), at in products.items()]
    fields = {"seconds": f"{phase}_s", "low": f"{phase}_lo_s", "high": f"{phase}_hi_s", "product": "product"}
    return panel_of(table, where, entries, fields, points, notes=notes, sizes=sorted({*rates.values()}))


def _spec() -> Spec:
    x = log_axis("rate", "firing rate of the input", "")
    x["axis"] |= {"values": "$sizes", "labelExpr": "format(datum.value, '.3~%')", "gridOpacity": 1, "labelBound": False}
    place, looks = {"x": x, "y": log_axis("seconds", "time per call", SECONDS, channel="y")}, coloured("$variants")
    colour = {"color": looks["color"]}
    transform = [*TIMED, *calculated(fires="format(datum.rate, '.3~%')")]
    tooltip = hint(framework="variant", firing="fires", time="time", interval="interval", product="product")
    span = {"y": {**place["y"], "field": "low"}, "y2": {"field": "high"}}
    layers = [
        layer("line", {**place, **colour, **DASHES}, strokeWidth=1.5),
        layer("rule", {"x": x, **span, **colour}, "isValid(datum.low)", strokeWidth=1),
        dots({**place, **looks, "tooltip": tooltip}, size=60),
    ]
    return plane(layers, transform)
