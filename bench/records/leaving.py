"""Early stopping of cases that are much slower than the fastest."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median, median_low
from typing import Any

Slot = Mapping[str, Any]
Slots = Mapping[int, Slot]
"""The slots of one pass, by members."""
LEAST_DISTURBED = 3
"""Passes with disturbed slots that may stop a case."""


def beyond(passes: Sequence[Slots], factor: float, cores: int | None = None) -> list[int]:
    """Returns the members of the last pass that surely take `factor` times as long as the fastest.

    The lower quartile of their calls exceeds `factor` times the fastest's upper one in most of the
    `passes` so far, without disturbed slots. Or, if the device clock is the CPU time of processes
    on `cores` (None: it is not), both wall and CPU time per core exceed that factor in most of at
    least LEAST_DISTURBED passes, disturbed or not.

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
    members = list((passes or [{}])[-1])
    ratios = _to_fastest(calm, members, lambda slow, fast: slow["low"] / fast["high"])
    by_clocks = _to_fastest(passes, members, _by_both_clocks(cores)) if cores else {}
    return [
        member
        for member in members
        if _exceeds(ratios.get(member, []), factor)
        or _exceeds(by_clocks.get(member, []), factor, LEAST_DISTURBED)
    ]


def _exceeds(ratios: Sequence[float], factor: float, least: int = 1) -> bool:
    return len(ratios) >= least and median_low(ratios) > factor


def _by_both_clocks(cores: int) -> Callable[[Slot, Slot], float]:
    def ratio(slow: Slot, fast: Slot) -> float:
        if not slow["device"] or not fast["device"]:
            return 0.0
        ratios = slow["wall"] / fast["wall"], slow["device"] / fast["device"] / cores
        return float(min(ratios))

    return ratio


def _to_fastest(
    passes: Sequence[Slots], members: Sequence[int], ratio: Callable[[Slot, Slot], float]
) -> dict[int, list[float]]:
    """Returns the ratios of each of `members` to the fastest, for each pass that has both."""
    walls = {
        member: [float(slots[member]["wall"]) for slots in passes if member in slots]
        for member in members
    }
    fastest = min(
        (member for member in members if walls[member]),
        key=lambda member: median(walls[member]),
        default=None,
    )
    if fastest is None:
        return {}
    return {
        member: [
            ratio(slots[member], slots[fastest])
            for slots in passes
            if member in slots and fastest in slots
        ]
        for member in members
    }
