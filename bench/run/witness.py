"""Whether the seconds that a worker tells are those of the work that is judged."""

import time
from collections.abc import Callable
from typing import Any

from .. import units

LEAST_SHARE = 0.6
"""Of the seconds that the harness sees pass in a burst of calls, a worker must tell so many."""
TRIES = 4
"""How often it is asked before it is refused: others may have had the cores between an order and its answer."""
LEAST_BURST_S = 0.04

LEAST_EXCESS, LEAST_EXCESS_S = 0.25, 1e-3
"""The last call of a slot takes so much longer than the others in nearly all slots only if it does something else. What wakes up
to end the slot may delay it a little."""
LEAST_SLOTS, NEARLY_ALL = 3, 0.8

Order = Callable[..., dict[str, Any] | None]


def contradiction(order: Order, said: float, seconds: float, clock: Callable[[], float] = time.perf_counter) -> str | None:
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


def other_endings(endings: list[tuple[float, float]]) -> str | None:
    """Why the calls that end slots, one of which is judged, are no longer those that are timed, in words; None if they are.
    `endings`: of each undisturbed slot the seconds of its last call and the median of all."""
    longer = [(last, wall) for last, wall in endings if last - wall > max(LEAST_EXCESS * wall, LEAST_EXCESS_S)]
    if len(endings) < LEAST_SLOTS or len(longer) < NEARLY_ALL * len(endings):
        return None
    last, wall = sorted(longer)[len(longer) // 2]
    return f"calls that may be judged take {units.seconds(last)}, the others {units.seconds(wall)}: it tells them apart"
