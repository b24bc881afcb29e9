"""What a kernel takes on a device, and the share of the device's copy rate at which it moves its bytes."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Protocol

from .floor import Ceilings
from .phases import Prepared
from .queued import Queue, queued_seconds, sets_beyond

REPEATS, TOGETHER, LEAST_CALLS = 5, 32, 64
"""Means of which the median counts; calls between two marks, some of which launch a dozen kernels; calls of a mean at least."""


class Kernel(Protocol):
    """See `adapters/base/own_kernels.py`."""

    @property
    def flops(self) -> float: ...
    @property
    def prepare(self) -> Callable[[], tuple[Callable[[], object], int]]: ...


def kernel_times(queue: Queue, kernel: Kernel, ceilings: Ceilings) -> dict[str, Any]:
    """`bytes` that it reads and writes, and seconds of a call: `warm_s`, all calls have the same memory, `cold_s`, the cache has
    forgotten it. None where the host cannot ask as fast as the device computes; no cold ones where too many calls fit into the
    cache. `warm_share` is of the best copy of about as many bytes, `cold_share` of the best copy that passes the cache."""
    call, moved = kernel.prepare()
    warm, cold = seconds(queue, [call]), None
    if sets := sets_beyond(queue.cache_bytes, moved):
        cold = seconds(queue, [call, *(kernel.prepare()[0] for _ in range(sets - 1))])
    rates = {"warm": ceilings.bytes(moved), "cold": max(ceilings.cold.values(), default=None)}
    told: dict[str, Any] = {"bytes": moved, "flops": kernel.flops, "warm_s": warm, "cold_s": cold}
    for name, rate in rates.items():
        took = told[f"{name}_s"]
        told[f"{name}_share"] = moved / took / rate if took and rate else None
    return told


def seconds(queue: Queue, calls: Sequence[Callable[[], object]]) -> float | None:
    """Of one of `calls`, which take turns, after one that warms each up. None: see `queued_seconds`."""
    for call in calls:
        call()
    in_turn = [
        Prepared(calls[number % len(calls)]) for number in range(max(LEAST_CALLS, len(calls)))
    ]
    means = [queued_seconds(queue, in_turn.copy, TOGETHER, keep=False) for _ in range(REPEATS)]
    told = [mean for mean in means if mean is not None]
    return median(told) if told else None
