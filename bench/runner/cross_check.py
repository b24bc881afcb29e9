"""Cross-checks of a worker's clock and cores: do its seconds belong to the work that is judged, and
did it compute on what it was given?"""

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

LATE_SHARE, LEAST_LATE_S, WAITING_S, LEAST_SLOTS = 0.1, 2e-3, 0.25, 3
"""CPU time of other threads and processes after a slot's last call: a share of the call's, seconds,
and seconds of each further core, on which threads of OpenMP wait for work and compute meanwhile
(LLVM's for 0.2 s). In nearly all slots, at least so many. On one core all frameworks used less than
0.1 ms."""
MOST_CORES, MOST_TICKS_S = 1.1, 0.1
"""CPU seconds of slots per second and core, and seconds beyond: the kernel counts processes in
ticks."""

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


@dataclass(frozen=True)
class Use:
    """CPU seconds that a slot used in `elapsed` seconds of the harness's clock."""

    cpu: float
    elapsed: float


def more_than_given(uses: list[Use], cores: int) -> str | None:
    """Returns a sentence if slots used more CPU time than so many cores have, else None."""
    cpu, elapsed = sum(use.cpu for use in uses), sum(use.elapsed for use in uses)
    if cpu <= MOST_CORES * cores * elapsed + MOST_TICKS_S:
        return None
    return (
        f"{cpu / elapsed:.1f} cores were used, and {units.counted(cores, 'core')} given: "
        "all its threads and processes count"
    )


def ran_outside(cores: list[int]) -> str:
    """Returns the sentence on a case of which a thread or a process may run on other cores than it
    was given."""
    numbers = ", ".join(map(str, cores))
    return f"may run on core{'s' * (len(cores) > 1)} {numbers}, and was given others alone"


@dataclass(frozen=True)
class Late:
    """CPU seconds of other threads and processes after a slot's last call (`late`), and those of
    the call itself (`busy`)."""

    late: float
    busy: float


def computed_late(slots: list[Late], cores: int) -> str | None:
    """Returns a sentence if calls are computed on after they have come back, else None."""
    longer = [
        slot
        for slot in slots
        if slot.late > max(LATE_SHARE * slot.busy, LEAST_LATE_S) + WAITING_S * (cores - 1)
    ]
    if len(slots) < LEAST_SLOTS or len(longer) < NEARLY_ALL * len(slots):
        return None
    typical = sorted(longer, key=lambda slot: slot.late)[len(longer) // 2]
    late, busy = units.seconds(typical.late), units.seconds(typical.busy)
    return (
        f"its threads or processes compute for {late} after a call of {busy} has come back: "
        "a call must wait for all that it starts"
    )


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
