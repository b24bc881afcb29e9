"""Launch-bound or not: does the time go into issuing work rather than into the work?"""

from math import inf
from operator import attrgetter
from typing import Any

from ...records.rows import grouped
from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, by_phase, panel_of, short
from .spec import Spec, by_variant, calculated, hint, layer, rows_of_dots

TEXT = (
    "Does a call's time go into issuing work rather than into the work? Issuing does not depend on "
    "the number of neurons, so it takes at most (≤) the time with the fewest. The least (≥) "
    "assumes that the work grows no slower than N. Yes: 80 % of the time or more; partly: 50 % or "
    "more; no: under 50 %; unclear: the bounds allow less than 50 % and more. "
    "A question mark: the deciding interval includes that limit. On a GPU the time until the call "
    "returned (“back”) decides: from 90 % on, the device waits for Python."
)
BOUND, NOT_BOUND, RETURNED = 0.8, 0.5, 0.9
"""Shares of issuing: launch-bound from the first on, not below the second; and of the return."""
FILLED = {"yes": 0.55, "partly": 0.22, "no": 0.04, "unclear": 0.0}
Share = tuple[float, float, float]
"""A share and its interval; without an interval, three times the share."""


def launch(table: Table) -> Figure:
    panels = []
    for phase, where, group in by_phase(table, ("neurons",)):
        group = [entry for entry in group if entry.values["neurons"] is not None]
        lines = grouped(
            sorted(group, key=lambda entry: entry.values["neurons"]), attrgetter("variant")
        )
        ratios = {name: _ratios(table, line, phase) for name, line in lines.items()}
        points = [
            _point(entry, lines[entry.variant], ratios[entry.variant], phase) for entry in group
        ]
        if any(point["verdict"] != "unclear" for point in points):
            fields = {"neurons": "neurons", "seconds": f"{phase}_s"}
            height = 48 if any(point["returned"] for point in points) else 34
            panels.append(panel_of(table, where, group, fields, points, row=height))
    missing = (
        "On a CPU only the times at another size could tell, and no framework was measured at two "
        "numbers of neurons."
    )
    return Figure("launch", "Launch-bound or not", TEXT, _spec(), panels, missing)


def _point(entry: Entry, line: list[Entry], ratios: dict[int, Share], phase: str) -> dict[str, Any]:
    """Returns the point of `entry`. `line` has the framework's entries, the fewest neurons first,
    and `ratios` their times relative to the first."""
    values, small = entry.values, line[0]
    enqueue = values[f"{phase}_enqueue_s"]
    returned = (
        enqueue / values[f"{phase}_s"]
        if values["device"].startswith("cuda") and enqueue is not None
        else None
    )
    most = _inverse(ratios[entry.index]) if entry is not small else None
    least = _least(line, ratios)
    if least and most:
        least = least[0] * most[0], least[1] * most[0], least[2] * most[0]
    answer = verdict(most and most[0], returned, least and least[0])
    deciding = {
        "no": [(most, NOT_BOUND)],
        "yes": [(least, BOUND)],
        "partly": [(least, BOUND), (least, NOT_BOUND)],
    }
    return {
        "row": entry.index,
        "most": most and short(most[0], 7),
        "least": least and short(max(least[0], 0.0), 7),
        "returned": returned and short(returned, 7),
        "verdict": answer,
        "unsure": returned is None
        and any(share and share[1] < limit < share[2] for share, limit in deciding.get(answer, [])),
    }


def _ratios(table: Table, line: list[Entry], phase: str) -> dict[int, Share]:
    others = line[1:]
    comparisons = table.compared(phase, line[0], others)
    return {
        entry.index: comparison.ratio for entry, comparison in zip(others, comparisons, strict=True)
    }


def _inverse(share: Share) -> Share:
    ratio, low, high = share
    return 1 / ratio, 1 / high, 1 / low if low else inf


def _least(line: list[Entry], ratios: dict[int, Share]) -> Share | None:
    """Returns the least share of issuing in the time with the fewest neurons: the part that does
    not grow with N."""
    if len(line) < 2:
        return None
    sizes = [entry.values["neurons"] for entry in line]
    share, high, low = (
        1 - (ratio - 1) / (sizes[1] / sizes[0] - 1) for ratio in ratios[line[1].index]
    )
    return share, low, high


def verdict(most: float | None, returned: float | None, least: float | None) -> str:
    """Returns `yes`, `partly`, `no` or `unclear` from the upper and lower bounds of the share of
    issuing, and from the share until the call returned, which only a GPU has."""
    if most is not None and most < NOT_BOUND:
        return "no"
    if returned is not None:
        return "yes" if returned >= RETURNED else "no" if returned < NOT_BOUND else "partly"
    if least is None or least < NOT_BOUND:
        return "unclear"
    return "yes" if least >= BOUND else "partly"


def _spec() -> Spec:
    transform = calculated(
        per_cent_least="floor(100 * min(datum.least, 1) + 1e-9)",
        per_cent_most="ceil(100 * min(datum.most, 1) - 1e-9)",
        at_least="isValid(datum.least) ? '≥ ' + datum.per_cent_least + '%' : ''",
        at_most="isValid(datum.most) ? '≤ ' + datum.per_cent_most + '%' : ''",
        until_return="isValid(datum.returned) ? 'back ' + format(datum.returned, '.0%') : ''",
        filled=f"{FILLED}[datum.verdict]",
        word="datum.verdict + (datum.unsure ? '?' : '')",
        bound="datum.verdict === 'no' && datum.at_most ? datum.at_most : datum.at_least",
        shares="[datum.bound, datum.until_return]",
    )
    fill = {"field": "filled", "type": "quantitative", "scale": None}
    tooltip = hint(framework="variant", neurons="neurons", launch_bound="word")
    tooltip += hint(least="at_least", most="at_most", until_the_return="until_return")
    x = {
        "field": "neurons",
        "type": "ordinal",
        "axis": {"title": "neurons N", "labelAngle": 0, "grid": False},
    }

    def text(field: str, where: str, **look: Any) -> Spec:
        return layer(
            "text", {"text": {"field": field}}, where, align="center", lineHeight=13, **look
        )

    def below_top(pixels: int) -> Spec:
        return {"baseline": "top", "dy": {"expr": f"-bandwidth('y') / 2 + {pixels}"}}

    layers = [
        layer("rect", {"fillOpacity": fill}, color="$accent", stroke="$grid"),
        text("verdict", "datum.verdict === 'unclear'", color="$muted", baseline="middle"),
        text("word", "datum.verdict !== 'unclear'", fontWeight="bold", **below_top(4)),
        text("shares", "datum.verdict !== 'unclear'", **below_top(17)),
    ]
    return rows_of_dots(
        layers, transform, encoding={"x": x, "y": by_variant(grid=False), "tooltip": tooltip}
    )
