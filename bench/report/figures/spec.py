"""Shared parts of Vega-Lite specifications: axes, scales, and plots of one dot per framework."""

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

SECONDS = "replace(format(datum.value, '.3~s'), regexp('([a-zµ]?)$'), ' $1s')"
MEBIBYTES = (
    "datum.value >= 1024 ? format(datum.value / 1024, '.3~r') + ' GiB' : datum.value >= 1000 ? "
    "format(datum.value, '.0f') + ' MiB' : datum.value >= 1 ? format(datum.value, '.3~r') + ' "
    "MiB' : datum.value * 1024 >= 1000 ? format(datum.value * 1024, '.0f') + ' KiB' : "
    "format(datum.value * 1024, '.3~r') + ' KiB'"
)
"""Writes bytes as units.size does: from a thousand on no digit is rounded away."""
ROUND = (
    "indexof([1, 2, 5], round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) >= 0"
)
"""Ticks of a logarithmic axis with a line and, on a long axis, a label."""
APART = {"labelFlush": False, "labelOverlap": "greedy", "labelSeparation": 6}
"""Settings of a linear axis: labels stay in place, and those without room are dropped."""
CROSS = "M-1,-1L1,1M-1,1L1,-1"
"""A shape."""
ROW = 30
"""Height of a framework's line."""
BEYOND = 5
"""Pixels by which a label may exceed the ends of an axis; one that is longer is left out."""
LONG = 5
"""Ratio of the ends of a long axis: two of 1, 2, 5 and 10 lie on it."""


def text_of(field: str, expression: str) -> str:
    """Applies the expression of an axis label to a field of the data. An axis leaves out zeros at
    the end, a text has all digits, as in tables."""
    return expression.replace("datum.value", f"datum['{field}']").replace("~", "")


def mebibytes(*fields: str) -> list[Spec]:
    """Returns transforms from bytes to MiB, in which an axis has round numbers."""
    return calculated(
        **{name: f"isValid(datum.{name}) ? datum.{name} / 1048576 : null" for name in fields}
    )


def calculated(**fields: str) -> list[Spec]:
    """Returns transforms that add `fields` to the data, each by its expression."""
    return [{"calculate": expression, "as": name} for name, expression in fields.items()]


TIME = text_of("seconds", SECONDS)
INTERVAL = (
    f"isValid(datum.low) ? {text_of('low', SECONDS)} + ' – ' + {text_of('high', SECONDS)} : "
    "'unknown'"
)
TIMED = calculated(time=TIME, interval=INTERVAL)
"""Transforms that add a time in words and its interval to the data."""


def ratio_text(ratio: str, low: str, high: str) -> tuple[str, str]:
    """Returns expressions for a ratio and its bracketed interval, with the decimals of
    `units.ratio`."""
    digits = f"'.' + max(2, 2 - floor(log({ratio}) / LN10)) + 'f'"
    texts = [f"format({field}, {digits})" for field in (ratio, low, high)]
    return f"{texts[0]} + '×'", f"'(' + {texts[1]} + '–' + {texts[2]} + ')'"


def log_axis(
    field: str,
    title: str,
    labels: str,
    base: int = 10,
    domain: str | None = None,
    channel: str = "x",
) -> Spec:
    """Returns `field` along a logarithmic axis, x or y, with at least two labels. Bars would need a
    zero."""
    scale = {
        "type": "log",
        "base": base,
        "nice": False,
        "padding": 10,
        **({"domain": domain} if domain else {}),
    }
    short = f"domain('{channel}')[1] < {LONG} * domain('{channel}')[0]"
    axis = {
        "title": title,
        "labelExpr": labels if base == 2 else f"{short} || {ROUND} ? ({labels}) : ''",
        "tickCount": 9,
        "labelBound": BEYOND,
        "labelOverlap": "greedy",
        "labelSeparation": 4,
        "gridOpacity": {
            "condition": {"test": ROUND if base == 10 else "true", "value": 1},
            "value": 0,
        },
    }
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def ticked(axis: Spec, values: str, **more: Any) -> Spec:
    """Returns the axis with a line and a label at each of `values`, and no other."""
    ticks = {"values": values, "gridOpacity": 1, "labelBound": False, **more}
    return {**axis, "axis": axis["axis"] | ticks}


def span(x: Spec, low: str = "low", high: str = "high") -> Spec:
    """Returns the span between two fields along the axis `x`."""
    return {"x": {**x, "field": low}, "x2": {"field": high}}


def nominal(field: str, **more: Any) -> Spec:
    """Returns a field of names, in the order of the data."""
    return {"field": field, "type": "nominal", "sort": None, **more}


def by_variant(field: str = "variant", **axis: Any) -> Spec:
    """Returns one line per framework variant, in the panel's order; long names take two lines."""
    labels = {
        "labelExpr": "split(replace(datum.label, ':', ':|'), '|')",
        "labelLimit": "$names_width",
    }
    return nominal(
        field,
        scale={"domain": "$variants"},
        axis={"title": None, **labels, "ticks": False, "zindex": 0, **axis},
    )


LEGEND: Spec = {"orient": "bottom", "title": None, "columns": "$columns"}
THERE: Spec = {**LEGEND, "values": "$there"}
"""A legend of the parts in a panel, in the colours of all panels."""


def _looks(field: str, names: str, legend: Spec | None, **ranges: str) -> Spec:
    return {
        channel: nominal(field, scale={"domain": names, "range": values}, legend=legend)
        for channel, values in ranges.items()
    }


NAMED = {**LEGEND, "labelLimit": 190, "symbolSize": 60}
LEGENDED = _looks("variant", "$variants", NAMED, color="$colours", shape="$shapes")
"""Looks of a variant named in a legend, which all layers of a plot must share."""
COLOUR = _looks("variant", "$variants", None, color="$colours")
COLOUR_AND_SHAPE = _looks("variant", "$variants", None, color="$colours", shape="$shapes")
DASHES = _looks("variant", "$variants", None, strokeDash="$dashes")
"""Looks of a variant without a legend."""


def layer(mark: str, encoding: Spec, where: str = "", **look: Any) -> Spec:
    """Returns marks of one kind for the data on which the expression `where` is true."""
    return {
        "mark": {"type": mark, **look},
        "encoding": encoding,
        **({"transform": [{"filter": where}]} if where else {}),
    }


def dots(encoding: Spec, where: str = "", **look: Any) -> Spec:
    """Returns a layer of filled points."""
    return layer("point", encoding, where, **{"filled": True, "size": 70, "opacity": 1, **look})


def dots_with_intervals(x: Spec, tooltip: list[Spec]) -> list[Spec]:
    """Returns layers of a variant's dot and its interval, along the axis `x`."""
    whisker = layer("rule", {**span(x), **COLOUR}, "isValid(datum.low)", strokeWidth=2)
    return [whisker, dots({"x": x, **COLOUR_AND_SHAPE, "tooltip": tooltip})]


def stacked_bars(
    field: str, title: str, labels: str, parts: list[str], colours: str, legend: Spec, hints: Any
) -> Spec:
    """Returns a bar of the amounts `field` of each variant's `parts`, which have the places
    `place`."""
    axis = {"title": title, "tickCount": 9, "labelExpr": labels, **APART, "labelBound": BEYOND}
    encoding = {
        "x": {"field": field, "type": "quantitative", "stack": "zero", "axis": axis},
        "color": nominal(
            "part",
            scale={"domain": parts, "range": colours},
            legend={**legend, "symbolType": "square"},
        ),
        "order": {"field": "place", "type": "quantitative"},
        "tooltip": hints,
    }
    return layer("bar", encoding, height={"band": 0.62}, stroke="$page", strokeWidth=1)


def limit(x: Spec, data: str | list[Spec], **more: Any) -> Spec:
    """Returns a dashed vertical line at the places of its own data."""
    encoding = {"x": x, "y": {"value": 0}, "y2": {"value": "height"}, **more}
    return {"data": {"values": data}, **layer("rule", encoding, color="$muted", strokeDash=[4, 3])}


def beside(text: str, where: str = "", **look: Any) -> Spec:
    """Returns a text in the column to the right of the plot."""
    encoding = {"x": {"value": {"expr": "width + 8"}}, "text": {"field": text, "type": "nominal"}}
    return layer("text", encoding, where, align="left", baseline="middle", **look)


def drawing(layers: Sequence[Spec], transform: Sequence[Spec] = (), **more: Any) -> Spec:
    """Returns a whole specification of a panel's points."""
    return {
        "$schema": SCHEMA,
        "data": {"values": "$points"},
        "transform": list(transform),
        "layer": list(layers),
        **more,
    }


def plane(
    layers: Sequence[Spec], transform: Sequence[Spec] = (), height: int | str = 300, **more: Any
) -> Spec:
    """Returns a specification with two quantitative axes."""
    fitted = {
        "width": "$width",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
    }
    return drawing(layers, transform, **fitted, **more)


def rows_of_dots(layers: Sequence[Spec], transform: Sequence[Spec] = (), **more: Any) -> Spec:
    """Returns a specification with one line per framework variant that shows `layers`."""
    return plane(layers, transform, "$height", **{"encoding": {"y": by_variant()}, **more})


def hint(**fields: str) -> list[Spec]:
    """Returns a tooltip of fields of the data, by their names in words."""
    return [
        {"field": field, "type": "nominal", "title": words.replace("_", " ")}
        for words, field in fields.items()
    ]
