"""Pieces of Vega-Lite specifications that several figures share: axes, scales, and the plot of one dot per framework."""

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

SECONDS = "replace(format(datum.value, '.3~s'), regexp('([a-zµ]?)$'), ' $1s')"
MEBIBYTES = (
    "datum.value >= 1024 ? format(datum.value / 1024, '.3~r') + ' GiB' : "
    "datum.value >= 1 ? format(datum.value, '.3~r') + ' MiB' : format(datum.value * 1024, '.3~r') + ' KiB'"
)
ROUND = "indexof([1, 2, 5], round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) >= 0"
"""Of the ticks of a logarithmic axis these get a line, and on a long axis a label: all digits together are a fence."""
ROW = 30
"""Height of a framework's line."""
LONG = 8
"""How many times its beginning the end of a long axis is."""


def text_of(field: str, expression: str) -> str:
    """The expression of an axis label, applied to a field of the data."""
    return expression.replace("datum.value", f"datum['{field}']")


def mebibytes(*fields: str) -> list[Spec]:
    """Transforms from bytes: on an axis in MiB, and only there, round numbers are round."""
    return [{"calculate": f"isValid(datum.{name}) ? datum.{name} / 1048576 : null", "as": name} for name in fields]


def log_x(title: str, labels: str, domain: str | None = None, base: int = 10) -> Spec:
    """A horizontal logarithmic axis with few labels, none of them cut off. Bars would need a zero that there is not."""
    return _log("x", title, labels, domain, base)


def log_y(title: str, labels: str, base: int = 10) -> Spec:
    """As `log_x`, upwards."""
    return _log("y", title, labels, None, base)


def _log(channel: str, title: str, labels: str, domain: str | None, base: int) -> Spec:
    scale = {"type": "log", "base": base, "nice": False, "padding": 10, **({"domain": domain} if domain else {})}
    short = f"domain('{channel}')[1] < {LONG} * domain('{channel}')[0]"
    axis = {
        "title": title,
        "labelExpr": labels if base == 2 else f"{short} || {ROUND} ? ({labels}) : ''",
        "tickCount": 5,
        "labelBound": True,
        "labelOverlap": "greedy",
        "labelSeparation": 8,
        "gridOpacity": {"condition": {"test": ROUND if base == 10 else "true", "value": 1}, "value": 0},
    }
    return {"type": "quantitative", "scale": scale, "axis": axis}


BY_VARIANT: Spec = {
    "field": "variant",
    "type": "nominal",
    "sort": None,
    "scale": {"domain": "$variants"},
    "axis": {
        "title": None,
        "labelExpr": "split(replace(datum.label, ':', ':|'), '|')",
        "labelLimit": "$names_width",
        "ticks": False,
    },
}
"""One line for each framework variant, in the panel's order; a long name takes two lines of text."""


def coloured(legend: bool, labels: str = "$variants") -> Spec:
    """Colour and shape (and dashes, where a line is drawn) tell variants apart: each alone would do."""
    field = "label" if labels == "$labels" else "variant"
    kind = {"field": field, "type": "nominal", "sort": None}
    place = {"orient": "bottom", "title": None, "columns": "$columns", "labelLimit": 190, "symbolSize": 60} if legend else None
    return {
        channel: {**kind, "scale": {"domain": labels, "range": f"${name}"}, "legend": place}
        for channel, name in (("color", "colours"), ("shape", "shapes"))
    }


DASHED: Spec = {
    "field": "variant",
    "type": "nominal",
    "sort": None,
    "scale": {"domain": "$variants", "range": "$dashes"},
    "legend": None,
}
"""Dashes for a line, besides its colour."""


def beside(text: str) -> Spec:
    """A text in the column to the right of the plot."""
    return {
        "mark": {"type": "text", "align": "left", "baseline": "middle"},
        "encoding": {"x": {"value": {"expr": "width + 8"}}, "text": {"field": text, "type": "nominal"}},
    }


def rows_of_dots(layers: Sequence[Spec], transform: Sequence[Spec] = (), **more: Any) -> Spec:
    """A specification with one line per framework variant; `layers` say what is on it."""
    return {
        "$schema": SCHEMA,
        "width": "$width",
        "height": "$height",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": "$points"},
        "transform": list(transform),
        "encoding": {"y": BY_VARIANT},
        "layer": list(layers),
        **more,
    }


def plane(layers: Sequence[Spec], transform: Sequence[Spec] = (), height: int = 300, **more: Any) -> Spec:
    """A specification with two quantitative axes."""
    return {
        "$schema": SCHEMA,
        "width": "$width",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": "$points"},
        "transform": list(transform),
        "layer": list(layers),
        **more,
    }


def hint(**fields: str) -> list[Spec]:
    """A tooltip of fields of the data, by their names in words."""
    return [{"field": field, "type": "nominal", "title": words.replace("_", " ")} for words, field in fields.items()]
