"""Who need not be timed any longer: its passes have shown that others are much faster."""

from collections.abc import Mapping, Sequence
from statistics import median, median_low
from typing import Any

Slots = Mapping[int, Mapping[str, Any]]
"""The slots of one pass, by members."""


def beyond(passes: Sequence[Slots], factor: float) -> list[int]:
    """Which members of the last pass took more than `factor` times as long as the fastest of them in most of the `passes` so
    far: the lower quartile of their calls against its upper one. So their ratio is above the factor too. Slots that something
    disturbed show nothing.

    >>> fast, slow = ({"low": 0.9 * wall, "wall": wall, "high": 1.1 * wall, "disturbed": None} for wall in (1.0, 2.5))
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
    shown = {
        member: [
            slots[member]["low"] / slots[fastest]["high"]
            for slots in calm
            if member in slots and fastest in slots
        ]
        for member in walls
        if fastest is not None
    }
    return [member for member, ratios in shown.items() if ratios and median_low(ratios) > factor]
