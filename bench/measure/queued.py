"""What calls take on a device that does later, in order, what the host asks for.

A call alone finds an idle device, so that asking for it is in its time: of a kernel of 3 µs that is most of it. Here many calls
stand between two marks, behind a hold that ends after the last of them was asked for. So the host is in none of it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from typing import Any, Protocol

from .phases import Phases, Prepared

HOLDS = (1 << 21, 1 << 25, 1 << 28)
"""Cycles that the device waits for the host: about a millisecond, 20 and 150."""
TOGETHER_S, MOST_TOGETHER = 2e-3, 128
"""Seconds, as a host sees single calls, and calls at most between two marks: a queue has room for about a thousand kernels."""
BEYOND = 4
"""How many times the bytes of the cache pass before the same memory is met again: nothing of it is left there then."""
MOST_SETS = 256
"""Calls, each with memory of its own, that are prepared at most."""


class Queue(Protocol):
    """See `bench/core/cuda_queue.py`."""

    cache_bytes: int

    def hold(self, cycles: int) -> None: ...
    def flush(self, size: int) -> None: ...
    def mark(self) -> Any: ...
    def reached(self, mark: Any) -> bool: ...
    def seconds(self, first: Any, last: Any) -> float: ...
    def wait(self) -> None: ...


def together(typical: float) -> int:
    """How many calls go between two marks, if one takes `typical` seconds as the host sees it."""
    return min(max(ceil(TOGETHER_S / max(typical, 1e-9)), 1), MOST_TOGETHER)


def sets_beyond(cache_bytes: int, bytes_of_one: int) -> int | None:
    """How many calls, each with so many bytes of its own, pass BEYOND times the cache; two at least, None if too many."""
    sets = max(ceil(BEYOND * cache_bytes / max(bytes_of_one, 1)), 2)
    return sets if sets <= MOST_SETS else None


def device_times(
    queue: Queue, phases: Phases, name: str, typical: float
) -> dict[str, float | None]:
    """Seconds of a call of a phase on the device, of which one takes `typical` seconds as the host sees it. `device`: its input,
    its upstream gradient and its result are in memory that the cache does not hold. `device_warm`: all calls have the same, and
    the cache holds what fits into it. None for what cannot be had: see `queued_seconds`, `sets_beyond`. A program of
    `fixed_memory` has no other: before its cold calls something else passes the cache."""
    program, own, count = phases.program, phases.inputs[0].nbytes, together(typical)
    weights, cold, warm = program.argument_bytes(), None, None
    sets = sets_beyond(queue.cache_bytes, own + (weights if weights > queue.cache_bytes else 0))
    if phases.fixed_memory:
        flush = partial(queue.flush, BEYOND * queue.cache_bytes)
        flush()  # takes its memory
        cold = queued_seconds(
            queue,
            lambda: [one.behind(flush) for one in phases.in_a_row(name, count, False)],
            count,
            False,
        )
    elif sets:
        cold = queued_seconds(queue, lambda: phases.in_a_row(name, sets, True), count, True)
    if (
        name != "backward" or phases.fixed_memory or count * own < queue.cache_bytes
    ):  # its forwards have memory of their own
        warm = queued_seconds(queue, lambda: phases.in_a_row(name, count, False), count, False)
    phases.forget()
    return {"device": cold, "device_warm": warm}


def queued_seconds(
    queue: Queue, ready: Callable[[], Sequence[Prepared]], count: int, keep: bool
) -> float | None:
    """Mean seconds of a call on the device. Groups of `count` calls wait behind a hold each; one with something `before` it
    stands alone between two marks, which add about a microsecond. `ready` prepares all calls anew. With `keep` all results live
    to the end; else a call may be handed the memory of the one before.

    None if the host could not ask for a whole group while it was held: nobody could tell the device's time from the host's.
    """
    for cycles in HOLDS:
        calls, seconds, results = ready(), 0.0, list[Any]() if keep else None
        for start in range(0, len(calls), count):
            spent = _held(queue, calls[start : start + count], cycles, results)
            if spent is None:
                break
            seconds += spent
        else:
            return seconds / len(calls)
    return None


def _held(
    queue: Queue, calls: Sequence[Prepared], cycles: int, results: list[Any] | None
) -> float | None:
    """Seconds of the device between marks around calls, whose results go to `results` if there is such a list; None if it was not
    held until the last mark was there."""
    queue.wait()
    queue.hold(cycles)
    spans: list[tuple[Any, Any]] = []
    first = start = queue.mark()
    for number, one in enumerate(calls):
        if one.before:
            if number:
                spans.append((start, queue.mark()))
            one.before()
            start = queue.mark()
        if results is None:
            one.call()
        else:
            results.append(one.call())
    spans.append((start, queue.mark()))
    held = not queue.reached(first)
    queue.wait()
    return sum(queue.seconds(*span) for span in spans) if held else None
