"""The page of an examined model: one file without scripts that opens offline, with its figures as
pictures in light and dark."""

import base64
from collections.abc import Iterable, Sequence
from typing import Any

import vl_convert
from markupsafe import Markup

from ..colours import config, named
from ..figures.figure import substituted
from ..figures.spec import (
    APART,
    LEGEND,
    ROW,
    Spec,
    layer,
    nominal,
    plane,
    rows_of_dots,
    stacked_bars,
)
from .page import HERE, TEMPLATES

WIDTH = 400
"""Pixels: what a phone still shows without smaller type than 10."""
UNITS = {
    "time": [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)],
    "memory": [("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10)],
}
"""Units of an axis, the largest first."""
MOST_LAYERS = 11
"""Layers in a figure: the palette has so many colours."""
WORDS = {
    "soft": "a spike subtracts the threshold from the potential",
    "soft-undecayed": "a spike subtracts the threshold one step later, after the decay",
    "hard": "a spike sets the potential to 0",
    "hard-straight": "a spike sets the potential to 0, and backward does not see that",
    "no reset": "a spike leaves the potential as it is",
    "attached": "gradients go through the reset",
    "detached": "no gradient goes through the reset",
    "decay": "share of the potential that is left after a step",
    "synapse": "share of the synaptic current that is left after a step",
    "currents": "factor on what the layer before gives",
    "surrogate": "the derivative that backward takes for that of the spike",
    "recurrent": "spikes come back as currents of the next step",
}
"""What the parts of an equation mean, by their first word."""


def examined_html(examined: dict[str, Any], costs: Sequence[str]) -> str:
    """Returns the page of an examination as `snnbench examine --json` prints it, with sentences on
    what it costs."""
    neurons = examined["neurons"]
    known = {neuron["module"]: neuron for neuron in neurons[:MOST_LAYERS]}
    figures = [
        _over_time("Spikes per neuron and step", known, "rates", "spikes per neuron", log=False),
        _over_time(
            "Gradient by the spikes of a step", known, "gradients", "norm of the gradient", log=True
        ),
        _by_module(
            "Time of a training step",
            examined["parts"],
            {"forward": "forward_s", "backward": "backward_s"},
            "time",
        ),
        _by_module("Memory kept for backward", examined["parts"], {"kept": "kept_bytes"}, "memory"),
    ]
    style = Markup((HERE / "report.css").read_text(encoding="utf-8"))
    return TEMPLATES.get_template("examined.html.j2").render(
        style=style,
        examined=examined,
        costs=costs,
        words=_words([neuron["equation"] for neuron in neurons]),
        figures=[(title, *_pictures(spec)) for title, spec in figures if spec],
        left_out=len(neurons) - len(known),
    )


def _words(equations: Iterable[str]) -> dict[str, str]:
    """Returns the meaning of the parts that equations have."""
    parts = {part for equation in equations for part in equation.split(", ")}
    names = parts | {part.partition(" ")[0] for part in parts}
    return {name: meaning for name, meaning in WORDS.items() if name in names}


def _over_time(
    title: str, neurons: dict[str, Any], field: str, words: str, log: bool
) -> tuple[str, Spec | None]:
    """Returns a line over time steps for each neuron."""
    points = [
        {"layer": name, "step": step, "value": value}
        for name, neuron in neurons.items()
        for step, value in enumerate(neuron[field])
        if value > 0 or not log
    ]
    if not points:
        return title, None
    scale: Spec = {"type": "log"} if log else {"zero": True}
    axis = {"title": words, "tickCount": 5, **({"format": "~g"} if log else {})}
    x = {"title": "time step", "tickCount": 6, "tickMinStep": 1, **APART}
    names = {"domain": [*neurons], "range": "$palette"}
    line = layer(
        "line",
        {
            "x": {"field": "step", "type": "quantitative", "axis": x},
            "y": {"field": "value", "type": "quantitative", "scale": scale, "axis": axis},
            "color": nominal("layer", scale=names, legend={**LEGEND, "columns": 3}),
        },
        strokeWidth=1.5,
        point={"size": 12} if max(point["step"] for point in points) < WIDTH / 8 else False,
    )
    return title, substituted(plane([line], height=220), {"points": points})


def _by_module(
    title: str, parts: list[dict[str, Any]], fields: dict[str, str], what: str
) -> tuple[str, Spec | None]:
    """Returns a bar for each module, the largest first."""
    amounts = {one["module"]: sum(one[name] for name in fields.values()) for one in parts}
    order = sorted((name for name in amounts if amounts[name]), key=lambda name: -amounts[name])
    size = max(amounts.values(), default=0)
    name_of, least = next(
        unit for unit in UNITS[what] if size >= unit[1] or unit is UNITS[what][-1]
    )
    points = [
        {"variant": one["module"], "part": part, "place": place, "amount": one[name] / least}
        for one in parts
        if one["module"] in order
        for place, (part, name) in enumerate(fields.items())
    ]
    if not points:
        return title, None
    legend: Spec = {**LEGEND, "columns": 3}
    bars = stacked_bars(
        "amount", f"{what} in {name_of}", "datum.label", [*fields], "$parts", legend, []
    )
    bars["encoding"]["x"]["axis"] |= {"labelBound": True, "tickCount": 5}
    values = {"points": points, "variants": order, "names_width": 110, "height": ROW * len(order)}
    return title, substituted(rows_of_dots([bars]), values)


def _pictures(spec: Spec) -> Iterable[str]:
    """Yields a specification as SVG in an address, light and dark."""
    for theme in ("light", "dark"):
        values = {**named(theme), "width": WIDTH}
        drawn = {**substituted(spec, values), "config": config(theme)}
        svg = vl_convert.vegalite_to_svg(drawn).encode()
        yield f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
