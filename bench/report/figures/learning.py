"""The loss over training steps: frameworks that compute the same network learn the same."""

from typing import Any

from ...common import units
from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, Panel, panel_of
from .spec import APART, LEGENDED, Spec, calculated, dots, hint, layer, plane

TEXT = (
    "The loss of real training steps on a synthetic task, from the same parameters and on the same "
    "batches. Rounding changes single decisions of neurons, and curves part slowly from then on; "
    "another gradient, loss or optimizer parts them at once."
)
FIRST = 10
"""Steps in which curves of one network hardly part."""


def learning(table: Table) -> Figure:
    panels = []
    for where, group in table.groups():
        trained = [entry for entry in group if entry.row.proved and entry.row.first.learning]
        if trained:
            panels.append(_panel(table, where, trained))
    missing = "Nothing was trained: no case has a loss."
    return Figure("learning", "Learning curves", TEXT, _spec(), panels, missing)


def _panel(table: Table, where: dict[str, str], entries: list[Entry]) -> Panel:
    curves = {entry.index: _curve(entry) for entry in entries}
    points: list[dict[str, Any]] = [
        {"row": index, "step": step, "loss": loss}
        for index, curve in curves.items()
        for step, loss in enumerate(curve, start=1)
    ]
    notes = [*_agreement([*curves.values()]), *_rightness(entries)]
    return panel_of(table, where, entries, {"accuracy": "accuracy"}, points, notes=notes)


def _curve(entry: Entry) -> list[float]:
    curve: list[float] = entry.row.first.learning["loss"] if entry.row.first.learning else []
    return curve


def _agreement(curves: list[list[float]]) -> list[str]:
    """Returns a sentence on the largest distance of curves, over the first steps and over all."""
    steps = min(map(len, curves))
    if len(curves) < 2 or not steps:
        return []
    apart = [
        (max(losses) - min(losses)) / abs(curves[0][0] or 1)
        for losses in zip(*curves, strict=False)
    ]
    spans = [
        f"{units.small_share(max(apart[:count]))} over {count}"
        for count in dict.fromkeys((min(FIRST, steps), steps))
    ]
    return [
        (
            f"The curves are apart by at most {' and '.join(spans)} steps, in per cent of the "
            "first loss."
        )
    ]


def _rightness(entries: list[Entry]) -> list[str]:
    """Returns a sentence on the shares of new samples classified correctly afterwards."""
    shares = sorted(entry.values["accuracy"] for entry in entries)
    ends = dict.fromkeys(map(units.share, (shares[0], shares[-1])))
    return [f"After training, {' to '.join(ends)} of new samples are classified correctly."]


def _spec() -> Spec:
    x = {
        "field": "step",
        "type": "quantitative",
        "axis": {"title": "training step", "tickCount": 6, **APART},
    }
    y = {
        "field": "loss",
        "type": "quantitative",
        "scale": {"zero": True},
        "axis": {"title": "loss", "tickCount": 5},
    }
    transform = calculated(said="format(datum.loss, '.4~g')", right="format(datum.accuracy, '.0%')")
    tooltip = hint(framework="variant", step="step", loss="said", right_afterwards="right")
    place = {"x": x, "y": y}
    layers = [
        layer("line", {**place, "color": LEGENDED["color"]}, strokeWidth=1.5),
        dots({**place, **LEGENDED, "tooltip": tooltip}, size=22),
    ]
    return plane(layers, transform)
