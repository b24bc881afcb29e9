"""The proof in pictures: differing spikes, gradient error and firing rate of every case."""

from typing import Any

from ...proof.limits import limits_of
from ...workloads import WORKLOADS, workload_of
from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, Panel, panel_of
from .spec import COLOUR, CROSS, Spec, calculated, hint, layer, limit, log_axis, rows_of_dots

TEXT = (
    "Each dot is a case at its own size. Spike mismatch compares with a free-running oracle, in "
    "which one flip spreads; it decides nothing. Gradient error, the largest relative L2 of "
    "weight, bias and input, and wrong decisions decide. The dashed line is the widest limit of "
    "the cases shown. Dots at the left edge, beside “0”, are exactly zero; crosses are refused "
    "networks."
)
MEASURES = {
    "grad_error": "gradient error",
    "spike_mismatch": "spikes that differ",
    "firing_rate": "firing rate",
}
SIZES = (
    *("neurons", "time_steps", "batch", "layers", "input", "bias", "input_grad", "seed"),
    *("workload", "threads", "width", "image", "inputs", "outputs", "classes", "norm"),
    *("loss", "optimizer", "recurrent", "readout", "heads"),
)
"""Axes in which the cases of a panel may differ; a panel has one neuron and one precision."""
OF_DATA = (
    "Proved deliveries have no errors to draw: frames and labels equal tonic's, element by element."
)
LEAST_SPAN = 100
"""Least ratio of a logarithmic axis; a shorter one would magnify noise."""
KEY = "Dashed line: the widest limit of the cases shown. 0: exactly zero. Crosses: refused."


def proof(table: Table) -> Figure:
    panels = []
    for where, group in table.groups(SIZES):
        for column, words in MEASURES.items():
            known = [entry for entry in group if entry.values[column] is not None]
            if known:
                panels.append(_panel(table, where, column, words, known))
    return Figure("proof", "Proof", TEXT, _spec(), panels, _missing(table), key=KEY)


def _missing(table: Table) -> str:
    proved = [entry.row for entry in table.entries if entry.row.first.proof]
    if not proved:
        return "No proof was tried."
    return (
        OF_DATA
        if all(row.case.delivers_data for row in proved)
        else "No proof came as far as its own size."
    )


def _panel(
    table: Table, where: dict[str, str], column: str, words: str, group: list[Entry]
) -> Panel:
    points = [
        {"row": entry.index, "right": entry.row.proved, "sizes": table.conditions.short(entry.row)}
        for entry in group
    ]
    limited = [  # the limits of networks that only a config knows are not known here
        entry
        for entry in group
        if entry.row.case.workload in WORKLOADS and entry.row.case.network is None
    ]
    limits = [_limit(entry) for entry in limited] if column == "grad_error" else []
    most = [max(limits)] if limits else []
    names: dict[str, Any] = {
        "measure": words,
        "domain": _domain(column, group, most),
        "limit": [{"value": x} for x in most],
    }
    names["variants"] = sorted({entry.variant for entry in group})
    return panel_of(table, where, group, {"value": column}, points, before=words, **names)


def _limit(entry: Entry) -> float:
    """Returns the largest relative error permitted for any gradient of a case."""
    case = entry.row.case
    network = workload_of(case).network(case)
    biased = any("bias" in shapes for shapes in network.parameters.values())
    return max(
        limit.bias_gradient if biased else limit.gradient
        for limit in limits_of(case, network).values()
    )


def _domain(column: str, group: list[Entry], more: list[float]) -> list[float]:
    """Returns the range of positive values and `more`, with a decade at the left for zeros."""
    values = [*more, *(entry.values[column] for entry in group if entry.values[column] > 0)] or [
        1e-6
    ]
    low, high = min(values), max(values)
    room = max((LEAST_SPAN * low / high) ** 0.5, 1.2)
    zero = 10 if any(entry.values[column] == 0 for entry in group) else 1
    return [low / room / zero, high * room]


def _spec() -> Spec:
    number = (
        "datum.value >= 0.001 ? format(100 * datum.value, '.3~g') + ' %' : format(datum.value, "
        "'.2~e')"
    )
    x = log_axis("value", "$measure", number, domain="$domain")
    shape = {"condition": {"test": "datum.right", "value": "circle"}, "value": CROSS}
    tooltip = hint(framework="variant", value="said", case="sizes")
    seen = {"shape": shape, **COLOUR, "tooltip": tooltip}
    look = {"filled": False, "size": 60, "strokeWidth": 2, "opacity": 0.9}
    zero = layer(
        "text", {"x": {"value": 16}}, "datum.value === 0", text="0", align="left", fontWeight="bold"
    )
    # One text for all cases of a line.
    zero["transform"] += [{"aggregate": [{"op": "count", "as": "cases"}], "groupby": ["variant"]}]
    layers = [
        limit(x, "$limit", tooltip=hint(limit="value")),
        layer("point", {"x": x, **seen}, "datum.value > 0", **look),
        layer("point", {"x": {"value": 8}, **seen}, "datum.value === 0", **look),
        zero,
    ]
    return rows_of_dots(layers, calculated(said=f"datum.value === 0 ? '0' : {number}"))
