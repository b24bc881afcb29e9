"""Labels beside a plot, each at the height of its point, and moved apart to avoid overlaps."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from .figure import short
from .spec import COLOUR, COLOUR_AND_SHAPE, DASHES, Spec, dots, layer, log_axis

LINE = 14
"""Height of a label, and the least distance of two."""
HEIGHT = 300
"""Height of a plot; more labels than fit increase it."""
DIGITS = 5
"""Digits of a place: a tenth of a pixel on the shortest axis."""
MARGIN = 0.05
"""Share of the axis above and below the drawn values."""
SHORTEST = 0.2
"""Least natural logarithm of the ratio of an axis' ends: DIGITS resolve no shorter one."""


@dataclass(frozen=True)
class Column:
    """Ends of a logarithmic y axis, height of the plot in pixels, and the label places on the
    axis."""

    domain: tuple[float, float]
    height: int
    places: dict[str, float]

    @property
    def names(self) -> dict[str, Any]:
        """Values of `$domain` and `$tall` in a specification."""
        return {"domain": list(self.domain), "tall": self.height}


def column(heights: Mapping[str, float], drawn: Iterable[float | None]) -> Column:
    """Returns label places near the `heights` of points, on an axis that shows all of `drawn`
    but unknown values.

    >>> column({"a": 1.0, "b": 1.0}, [1.0, 10.0]).height
    300
    """
    from scipy.optimize import isotonic_regression  # half a second that only reports need

    logs = [log(value) for value in drawn if value]
    low, high = min(logs), max(logs)
    margin = max(MARGIN * (high - low), (SHORTEST - (high - low)) / 2)
    low, high = low - margin, high + margin
    height = max(HEIGHT, LINE * (len(heights) + 1))
    order = sorted(heights, key=heights.__getitem__, reverse=True)  # pixels count from the top
    wanted = np.array([(high - log(heights[name])) / (high - low) * height for name in order])
    steps = LINE * np.arange(len(order))
    lowest = height - LINE / 2 - (len(order) - 1) * LINE
    pixels = np.clip(isotonic_regression(wanted - steps).x, LINE / 2, lowest) + steps
    at = np.exp(high - (high - low) * pixels / height)
    places = {name: short(float(place), DIGITS) for name, place in zip(order, at, strict=True)}
    return Column((float(np.exp(low)), float(np.exp(high))), height, places)


def along(field: str, title: str, labels: str, base: int = 10) -> Spec:
    """Returns the y axis of a plot with labels, exactly as long as `column` computed it."""
    axis = log_axis(field, title, labels, base, domain="$domain", channel="y")
    return {**axis, "scale": {**axis["scale"], "padding": 0}}


def labelled_lines(
    x: Spec, y: Spec, tooltip: list[Spec], size: int = 60, intervals: bool = True
) -> list[Spec]:
    """Returns layers of each variant's line, the intervals from `low` to `high`, labels, and dots
    of `size`."""
    place = {"x": x, "y": y}
    span = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **COLOUR}
    return [
        layer("line", {**place, **COLOUR, **DASHES}, strokeWidth=1.5),
        *([layer("rule", span, "isValid(datum.low)", strokeWidth=1)] if intervals else []),
        *labelled(x, y),
        dots({**place, **COLOUR_AND_SHAPE, "tooltip": tooltip}, size=size),
    ]


def labelled(x: Spec, y: Spec) -> list[Spec]:
    """Returns layers of the labels: mark, leader line, and `text` or `brief` of each point with a
    `place`."""
    at, place = "isValid(datum.place)", {**y, "field": "place"}
    leader = {
        "x": x,
        "x2": {"value": {"expr": "width + 4"}},
        "y": y,
        "y2": {"field": "place"},
        **COLOUR,
    }
    mark = {"x": {"value": {"expr": "width + 10"}}, "y": place, **COLOUR_AND_SHAPE}
    words = {
        "x": {"value": {"expr": "width + 18"}},
        "y": place,
        "text": {"field": "$written", "type": "nominal"},
    }
    return [
        layer("rule", leader, at, strokeWidth=0.8, strokeDash=[1, 2], opacity=0.8),
        layer("point", mark, at, filled=True, size=45, opacity=1),
        layer("text", words, at, align="left", baseline="middle"),
    ]
