"""Times of the project's kernels on a GPU, and the shares of its copy rate that they reach."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median
from typing import Any, Protocol

from ..core.status import in_words
from .floor import Ceilings
from .phases import Prepared
from .queued import Queue, queued_seconds, sets_beyond

REPEATS, TOGETHER, LEAST_CALLS = 5, 32, 64
"""Number of means behind a median; most calls between two marks, because some launch a dozen
kernels; least calls of a mean."""


class Kernel(Protocol):
    """See `adapters/base/own_kernels.py`."""

    @property
    def name(self) -> str: ...
    @property
    def spelling(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def flops(self) -> float: ...
    @property
    def prepare(self) -> Callable[[], tuple[Callable[[], object], int]]: ...


def kernel_times(queue: Queue, kernel: Kernel, ceilings: Ceilings) -> dict[str, Any]:
    """Returns the `bytes` that a kernel moves and seconds of a call.

    `warm_s`: all calls use the same memory. `cold_s`: the cache no longer holds it. Both are None
    if the host cannot launch as fast as the device computes, `cold_s` also if too many calls fit
    into the cache. `warm_share` refers to the best copy of about as many bytes, `cold_share` to the
    best copy that exceeds the cache.
    """
    call, moved = kernel.prepare()
    warm, cold = seconds(queue, [call]), None
    if sets := sets_beyond(queue.cache_bytes, moved):
        cold = seconds(queue, [call, *(kernel.prepare()[0] for _ in range(sets - 1))])
    rates = {"warm": ceilings.bytes(moved), "cold": max(ceilings.cold.values(), default=None)}
    times: dict[str, Any] = {"bytes": moved, "flops": kernel.flops, "warm_s": warm, "cold_s": cold}
    for name, rate in rates.items():
        took = times[f"{name}_s"]
        times[f"{name}_share"] = moved / took / rate if took and rate else None
    return times


def seconds(queue: Queue, calls: Sequence[Callable[[], object]]) -> float | None:
    """Returns seconds of one of `calls`, which take turns after a warm-up; None: see
    `queued_seconds`."""
    for call in calls:
        call()
    in_turn = [
        Prepared(calls[number % len(calls)]) for number in range(max(LEAST_CALLS, len(calls)))
    ]
    means = [queued_seconds(queue, in_turn.copy, TOGETHER, keep=False) for _ in range(REPEATS)]
    known = [mean for mean in means if mean is not None]
    return median(known) if known else None


def timed(queue: Queue, kernels: Iterable[Kernel], ceilings: Ceilings) -> Iterator[dict[str, Any]]:
    """Yields each kernel with its times, or with the `reason` why it could not be timed."""
    for kernel in kernels:
        facts: dict[str, Any] = {"name": kernel.name, "spelling": kernel.spelling}
        facts |= {"format": kernel.format, "shape": list(kernel.shape)}
        try:
            yield facts | kernel_times(queue, kernel, ceilings)
        except Exception as error:
            reason = str(error) if type(error) is RuntimeError else in_words(error)
            yield facts | {"reason": reason}
