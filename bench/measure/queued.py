"""Seconds of calls on a device that runs its queue asynchronously.

A single call finds an idle device, so that its time includes the launch: most of the time of a 3 µs
kernel. Here many calls stand between two marks, behind a hold that ends after the last was
launched, so that no launch counts.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from typing import Any, Protocol

from .phases import Phases, Prepared

HOLDS = (1 << 21, 1 << 25, 1 << 28)
"""Cycles of the hold: about 1 ms, 20 ms and 150 ms."""
TOGETHER_S, MOST_TOGETHER = 2e-3, 128
"""Seconds by the host's clock, and most calls, between two marks: a queue holds about a thousand
kernels."""
BEYOND = 4
"""Cache sizes that pass before memory is used again: nothing of it is cached then."""
MOST_SETS = 256
"""Most calls that are prepared, each with its own memory."""


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
    """Number of calls between two marks, for `typical` seconds of a call by the host's clock."""
    return min(max(ceil(TOGETHER_S / max(typical, 1e-9)), 1), MOST_TOGETHER)


def sets_beyond(cache_bytes: int, bytes_of_one: int) -> int | None:
    """Number of calls, each with `bytes_of_one` bytes, that pass BEYOND times the cache: at
    least two, None if too many."""
    sets = max(ceil(BEYOND * cache_bytes / max(bytes_of_one, 1)), 2)
    return sets if sets <= MOST_SETS else None


def device_times(
    queue: Queue, phases: Phases, name: str, typical: float
) -> dict[str, float | None]:
    """Returns seconds of a call of a phase on the device; `typical` are those by the host's
    clock. `device`: input, upstream gradient and result are not cached. `device_warm`: all calls
    share them, and the cache holds what fits. None where `queued_seconds` or `sets_beyond` give
    None. A program of `fixed_memory` cannot use other memory: before its cold calls a flush
    passes the cache."""
    program, input_bytes, count = phases.program, phases.inputs[0].nbytes, together(typical)
    weights, cold, warm = program.argument_bytes(), None, None
    sets = sets_beyond(
        queue.cache_bytes, input_bytes + (weights if weights > queue.cache_bytes else 0)
    )
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
    # The forwards of a backward have memory of their own.
    if name != "backward" or phases.fixed_memory or count * input_bytes < queue.cache_bytes:
        warm = queued_seconds(queue, lambda: phases.in_a_row(name, count, False), count, False)
    phases.forget()
    return {"device": cold, "device_warm": warm}


def queued_seconds(
    queue: Queue, ready: Callable[[], Sequence[Prepared]], count: int, keep: bool
) -> float | None:
    """Returns mean seconds of a call on the device. Groups of `count` calls wait behind a hold
    each; a call with a `before` stands alone between two marks, which add about a microsecond.
    `ready` prepares all calls anew. With `keep` all results live to the end; else a call may reuse
    the memory of the one before.

    Returns None if the host could not launch a whole group during the hold: its time could not be
    told from the device's.
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
    """Returns seconds of the device between marks around calls, and appends their results to
    `results` if it is a list; None if the hold ended before the last mark was set."""
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
