"""Who need not be timed any longer: one pass has shown that others are much faster."""

from collections.abc import Mapping
from typing import Any


def beyond(slots: Mapping[int, Mapping[str, Any]], factor: float) -> list[int]:
    """Which members took more than `factor` times as long as the fastest in the slots of one pass: the lower quartile of their
    calls against its upper one. Slots that something disturbed show nothing.

    >>> beyond({0: {"low": 1.0, "wall": 1.0, "high": 1.1, "disturbed": None}, 1: {"low": 2.3, "wall": 2.4, "high": 2.5,
    ... "disturbed": None}}, 2.0)
    [1]
    """
    calm = {member: slot for member, slot in slots.items() if not slot["disturbed"]}
    fastest = min(calm.values(), key=lambda slot: float(slot["wall"]), default=None)
    return [member for member, slot in calm.items() if fastest and slot["low"] > factor * fastest["high"]]
