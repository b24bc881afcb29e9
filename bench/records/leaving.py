"""Early stopping of cases that are much slower than the fastest."""

from collections.abc import Mapping, Sequence
from statistics import median, median_low
from typing import Any

Slots = Mapping[int, Mapping[str, Any]]
"""The slots of one pass, by members."""


def beyond(passes: Sequence[Slots], factor: float) -> list[int]:
    """Returns the members of the last pass that surely take `factor` times as long as the fastest.

    The lower quartile of their calls exceeds `factor` times the fastest's upper one in most of the
    `passes` so far. Disturbed slots do not count.

    >>> def slot(wall):
    ...     return {"low": 0.9 * wall, "wall": wall, "high": 1.1 * wall, "disturbed": None}
    >>> fast, slow = slot(1.0), slot(2.5)
    >>> beyond([{0: fast, 1: slow}], 2.0), beyond([{0: slow, 1: slow}, {0: fast, 1: slow}], 2.0)
    ([1], [])
    """
    calm = [
        {member: slot for member, slot in slots.items() if not slot["disturbed"]}
        for slots in passes
    ]
    walls = {
        member: [float(slots[member]["wall"]) for slots in calm if member in slots]
        for member in (passes or [{}])[-1]
    }
    fastest = min(
        (member for member in walls if walls[member]),
        key=lambda member: median(walls[member]),
        default=None,
    )
    bounds = {
        member: [
            slots[member]["low"] / slots[fastest]["high"]
            for slots in calm
            if member in slots and fastest in slots
        ]
        for member in walls
        if fastest is not None
    }
    return [member for member, ratios in bounds.items() if ratios and median_low(ratios) > factor]
