"""Early stopping of cases that are much slower than the fastest."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median, median_low
from typing import Any

Slot = Mapping[str, Any]
Slots = Mapping[int, Slot]
"""The slots of one pass, by members."""
LEAST_DISTURBED = 3
"""Passes with disturbed slots that may stop a case."""
NEEDED = ("wall", "low", "high", "device", "disturbed")
"""Fields of a slot that the rule reads."""


def in_passes(slots: Iterable[tuple[int, Any]]) -> dict[int, dict[int, dict[str, Any]]]:
    """Returns recorded slots, given with their members, by pass and member."""
    passes: dict[int, dict[int, dict[str, Any]]] = {}
    for member, slot in slots:
        passes.setdefault(slot.in_pass, {})[member] = {name: getattr(slot, name) for name in NEEDED}
    return passes


def beyond(passes: Sequence[Slots], factor: float, cores: int | None = None) -> list[int]:
    """Returns the members of the last pass that surely take `factor` times as long as the fastest,
    by `is_beyond`.

    >>> def slot(wall):
    ...     return {"low": 0.9 * wall, "wall": wall, "high": 1.1 * wall, "disturbed": None}
    >>> fast, slow = slot(1.0), slot(2.5)
    >>> beyond([{0: fast, 1: slow}], 2.0), beyond([{0: slow, 1: slow}, {0: fast, 1: slow}], 2.0)
    ([1], [])
    """
    members = list((passes or [{}])[-1])
    fastest = [
        member
        for slots in (_calm(passes), passes)
        if (member := _fastest(slots, members)) is not None
    ]
    return [
        member
        for member in members
        if any(is_beyond(passes, member, other, factor, cores) for other in fastest)
    ]


def is_beyond(
    passes: Sequence[Slots], slow: int, fast: int, factor: float, cores: int | None = None
) -> bool:
    """Returns whether a member surely takes `factor` times as long as another.

    The lower quartile of its calls exceeds `factor` times the other's upper one in most `passes`
    that have undisturbed slots of both. Or, if the device clock is the CPU time of processes on
    `cores` (None: it is not), both wall and CPU time per core exceed that factor in most of at
    least LEAST_DISTURBED passes, disturbed or not.
    """
    calm = [
        slots[slow]["low"] / slots[fast]["high"] for slots in _with_both(_calm(passes), slow, fast)
    ]
    if calm and median_low(calm) > factor:
        return True
    both = list(_with_both(passes, slow, fast)) if cores else []
    return len(both) >= LEAST_DISTURBED and all(
        median_low([_ratio(slots[slow][clock], slots[fast][clock]) for slots in both]) > least
        for clock, least in (("wall", factor), ("device", factor * (cores or 1)))
    )


def _ratio(slow: float | None, fast: float | None) -> float:
    return slow / fast if slow and fast else 0.0


def _calm(passes: Sequence[Slots]) -> list[Slots]:
    return [
        {member: slot for member, slot in slots.items() if not slot["disturbed"]}
        for slots in passes
    ]


def _with_both(passes: Sequence[Slots], first: int, second: int) -> Iterable[Slots]:
    return (slots for slots in passes if first in slots and second in slots)


def _fastest(passes: Sequence[Slots], members: Sequence[int]) -> int | None:
    walls = {
        member: [float(slots[member]["wall"]) for slots in passes if member in slots]
        for member in members
    }
    timed = [member for member in members if walls[member]]
    return min(timed, key=lambda member: median(walls[member]), default=None)
