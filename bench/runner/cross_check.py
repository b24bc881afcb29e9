"""Cross-checks of a worker's clock: do its seconds belong to the work that is judged?"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..common import units

LEAST_SHARE = 0.6
"""Share of a burst's seconds, by the harness's clock, that a worker must report at least."""
TRIES = 4
"""Bursts before a refusal: other programs may have used the cores between order and answer."""
LEAST_BURST_S = 0.04

LEAST_EXCESS_S, NEARLY_ALL = 1e-3, 0.8
"""If the last call takes this much longer than the others in nearly all slots, it does something
else. The thread that ends the slot may delay it a little."""
CALM, ANY = (3, 1.25), (8, 2.0)
"""(least number of slots, factor): undisturbed slots against the median of their calls, all slots
against the upper quartile. A preempted call is the most likely one to be running when a slot ends.
"""

Order = Callable[..., dict[str, Any] | None]


def contradiction(
    order: Order, reported: float, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> str | None:
    """Describes how the harness's clock contradicts `reported` seconds a call; None if it does not.

    `order` sends the worker an order about the phase: a burst of calls of about `seconds`. Other
    programs delay both clocks alike. A worker that fails is not contradicted.
    """
    share = 1.0
    for _ in range(TRIES):
        start = clock()
        answer = order(burst=max(1, round(max(seconds, LEAST_BURST_S) / max(reported, 1e-6))))
        elapsed = clock() - start
        if answer is None or (share := answer["took"] / elapsed) >= LEAST_SHARE:
            return None
    measured = reported / share if share > 0 else elapsed
    times = units.seconds(reported), units.seconds(measured)
    return "reports {} a call, while the harness's clock measured {}".format(*times)


@dataclass(frozen=True)
class SlotEnding:
    """Seconds of a slot's last call (`last`), median and upper quartile of all (`wall`, `high`).

    In a `disturbed` slot `last` is the call's CPU time: other programs may have delayed it.
    """

    last: float
    wall: float
    high: float
    disturbed: bool


def other_endings(endings: list[SlotEnding]) -> str | None:
    """Describes how calls at the ends of slots, where one is judged, differ; None if equal."""
    calm = [(ending, ending.wall) for ending in endings if not ending.disturbed]
    every = [(ending, ending.high) for ending in endings]
    for slots, (least, factor) in ((calm, CALM), (every, ANY)):
        longer = [
            ending
            for ending, usual in slots
            if ending.last > max(factor * usual, usual + LEAST_EXCESS_S)
        ]
        if len(slots) >= least and len(longer) >= NEARLY_ALL * len(slots):
            typical = sorted(longer, key=lambda ending: ending.last)[len(longer) // 2]
            last, usual = units.seconds(typical.last), units.seconds(typical.wall)
            return f"judged calls take {last}, others {usual}: the adapter treats them differently"
    return None
