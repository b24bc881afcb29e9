"""Whether the seconds that a worker tells are those of the work that is judged."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..common import units

LEAST_SHARE = 0.6
"""Of the seconds that the harness sees pass in a burst of calls, a worker must tell so many."""
TRIES = 4
"""How often it is asked before it is refused: others may have had the cores between an order and its answer."""
LEAST_BURST_S = 0.04

LEAST_EXCESS_S, NEARLY_ALL = 1e-3, 0.8
"""The last call of a slot takes so much longer than the others in nearly all slots only if it does something else. What wakes up
to end the slot may delay it a little."""
CALM, ANY = (3, 1.25), (8, 2.0)
"""How many undisturbed slots it takes, and how many times longer than the median; how many of any, and than the upper quartile: a
preempted call is more likely than others to be the one that a slot's end meets."""

Order = Callable[..., dict[str, Any] | None]


def contradiction(
    order: Order, said: float, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> str | None:
    """What contradicts a worker that told `said` seconds a call, in words; None if nothing does, or the worker fails. `order`
    gives it an order about the phase.

    It is asked for a burst of calls that takes about `seconds`. Whoever else has the cores meanwhile delays both clocks alike.
    """
    share = 1.0
    for _ in range(TRIES):
        start = clock()
        answer = order(burst=max(1, round(max(seconds, LEAST_BURST_S) / max(said, 1e-6))))
        elapsed = clock() - start
        if answer is None or (share := answer["took"] / elapsed) >= LEAST_SHARE:
            return None
    seen = said / share if share > 0 else elapsed
    return f"says {units.seconds(said)} a call, while the harness's own clock saw {units.seconds(seen)}"


@dataclass(frozen=True)
class Ending:
    """How a slot ended: seconds of its last call (`last`), median and upper quartile of all its calls (`wall`, `high`). In a
    `disturbed` slot `last` is the call's time on a core, because other programs may have lengthened the rest."""

    last: float
    wall: float
    high: float
    disturbed: bool


def other_endings(endings: list[Ending]) -> str | None:
    """Why the calls that end slots, one of which is judged, are no longer those that are timed, in words; None if they are."""
    calm = [(one, one.wall) for one in endings if not one.disturbed]
    for slots, (least, factor) in ((calm, CALM), ([(one, one.high) for one in endings], ANY)):
        longer = [
            one for one, usual in slots if one.last > max(factor * usual, usual + LEAST_EXCESS_S)
        ]
        if len(slots) >= least and len(longer) >= NEARLY_ALL * len(slots):
            one = sorted(longer, key=lambda ending: ending.last)[len(longer) // 2]
            last, others = units.seconds(one.last), units.seconds(one.wall)
            return f"calls that may be judged take {last}, the others {others}: it tells them apart"
    return None
