"""The harness's own clock as a witness: whether the seconds that a worker tells are seconds."""

import time
from collections.abc import Callable
from typing import Any

from .. import units

LEAST_SHARE = 0.6
"""Of the seconds that the harness sees pass in a burst of calls, a worker must tell so many."""
TRIES = 4
"""How often it is asked before it is refused: others may have had the cores between an order and its answer."""
LEAST_BURST_S = 0.04

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
