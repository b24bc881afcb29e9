"""Times a phase in slots of consecutive calls. The first calls of a slot are not timed, because
caches hold the data of the process before."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.contract import Program
from ..core.result import settled
from .phases import CLOCK, Phase

MOST_UNWAITED = 0.05
"""Share of calls that may seem to end before their device: a process that takes the core between
two clock readings delays one of them."""
SETTLING_S = 0.02
"""Seconds of calls dropped at the start of a slot, while caches hold the data of the process
before."""
LONG_CALL_S = 0.1
"""Seconds from which on a call warms its caches itself, so that none is dropped."""
LEAST_CALLS, STRETCHED = 5, 4
"""Least calls of a slot, unless they take this many times the slot's length."""
MOST_SAMPLES = 8
"""Most calls of a slot that are recorded one by one."""
WINDOW, MOST_WARM_UP_S = 10, 0.5
"""Calls in a row that are compared during warm-up, and its most seconds."""


@dataclass
class Calls:
    """Seconds of each call. `wall`: from the idle device to the finished result; `enqueue`:
    until the call returned; `device`: by the program's `device_clock`, which between events
    includes waits for the host. `began`: start of each call, by `time.perf_counter`."""

    began: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    enqueue: list[float] = field(default_factory=list)
    device: list[float] = field(default_factory=list)

    def since(self, moment: float) -> "Calls":
        """Returns the calls that began at `moment` or later, at least the last."""
        first = min(sum(began < moment for began in self.began), len(self.wall) - 1)
        return Calls(
            self.began[first:], self.wall[first:], self.enqueue[first:], self.device[first:]
        )

    def summary(self, device_clock: str) -> dict[str, Any]:
        """Returns the fields of a slot in a record, to the nanosecond, the clocks' resolution.
        Calls on a device with events are timed separately: see `queued.py`."""
        low, middle, high = np.quantile(self.wall, [0.25, 0.5, 0.75])
        chosen = np.unique(
            np.linspace(0, len(self.wall) - 1, min(len(self.wall), MOST_SAMPLES)).astype(int)
        )
        seconds = {"wall": middle, "low": low, "high": high}
        seconds |= {"enqueue": np.median(self.enqueue), "device": np.median(self.device)}
        unknown = {"device": None} if device_clock in ("events", "ranks") else {}
        return {
            "began": round(self.began[0], 6),
            "calls": len(self.wall),
            **{name: round(float(value), 9) for name, value in seconds.items()},
            **unknown,
            "samples": [round(self.wall[index], 9) for index in chosen],
        }


class Sampler:
    """Times the calls of one phase. `clock` has the wall time `perf_counter()` and the CPU time
    of all threads `process_time()`, in seconds; `wait` returns once a result is finished."""

    def __init__(
        self,
        phase: Phase,
        program: Program,
        clock: Any = CLOCK,
        wait: Callable[[Any], None] = settled,
    ):
        self.phase, self.program, self.clock, self.wait = phase, program, clock, wait
        self.queue = program.device_queue()
        self.result: Any = None
        """Result of the last call, for the judge."""
        self.last, self.last_wall, self.last_busy = 0, 0.0, 0.0
        """Number of the last call in its slot, its seconds, and its seconds of computing by the
        program's clock."""
        self.typical = self.period = 0.0
        """Seconds of a warm call, and from one call to the next."""

    def warm_up(self, compiled: bool = False) -> int:
        """Calls until two windows of ten calls agree within 2 %, at most half a second, but at
        least once after the first call, which may compile if it is not `compiled` yet. Returns
        the number of calls."""
        calls = Calls()
        with _no_collection():
            while not _is_warm(calls.wall, first=int(not compiled)):
                self._call(len(calls.wall), calls)
        self.typical = float(np.median(calls.wall[-WINDOW:]))
        self.period = (
            float(np.median(np.diff(calls.began)[-WINDOW:]))
            if len(calls.wall) > 1
            else self.typical
        )
        self.result = None
        return len(calls.wall)

    def slot(
        self, is_over: Callable[[], bool], at_end: Callable[[Any], None] = lambda result: None
    ) -> Calls:
        """Times calls until the harness ends the slot, at least one; calls before them warm the
        caches. Nothing in this process shows which call will be the last. `at_end` gets its result
        right after the clock has stopped, before a thread can finish it."""
        self.result = None  # its memory is free for the next call
        calls, start = Calls(), self.clock.perf_counter()
        with _no_collection():
            self._call(0, calls)
            while not is_over():
                self._call(len(calls.wall), calls)
            at_end(self.result)
        self.last, self.last_wall = len(calls.wall) - 1, calls.wall[-1]
        self.last_busy = min(calls.wall[-1], calls.device[-1])
        return calls.since(start + SETTLING_S) if self.typical < LONG_CALL_S else calls

    def burst(self, count: int) -> float:
        """Returns the seconds of `count` calls, all on one draw if the phase is repeatable."""
        start = self.clock.perf_counter()
        state = self.phase.prepare(0)
        for index in range(count):
            if index and not self.phase.repeatable:
                state = self.phase.prepare(index)
            self.result = self.phase.call(state)
            self.wait(self.result)
        self.result = None
        return self.clock.perf_counter() - start

    def _call(self, index: int, calls: Calls) -> None:
        state = self.phase.prepare(index)
        first = self.queue.mark() if self.queue else None
        cpu, start = self.clock.process_time(), self.clock.perf_counter()
        self.result = self.phase.call(state)
        returned = self.clock.perf_counter()
        last = self.queue.mark() if self.queue else None
        self.wait(self.result)
        ready, used = self.clock.perf_counter(), self.clock.process_time() - cpu
        aside, aside_cpu = self.phase.aside()
        calls.began.append(start)
        calls.wall.append(ready - start - aside)
        calls.enqueue.append(returned - start - aside)
        calls.device.append(self.queue.seconds(first, last) if self.queue else used - aside_cpu)


class _no_collection:
    """Disables garbage collection within a slot, after one collection before it."""

    def __enter__(self) -> None:
        gc.collect()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        gc.enable()


def length(seconds: float, call: float, period: float) -> float:
    """Returns the seconds of a slot that holds `seconds` of calls, and at least five calls
    unless they are long. `call` is the seconds of one call, `period` those from the start of one
    to the start of the next."""
    full = min(max(seconds, (LEAST_CALLS - 0.5) * period), STRETCHED * seconds)
    return full + (SETTLING_S if call < LONG_CALL_S else 0.0)


def _is_warm(wall: list[float], first: int) -> bool:
    if len(wall) <= first:
        return False
    if len(wall) >= 2 * WINDOW:
        before, after = np.median(wall[-2 * WINDOW : -WINDOW]), np.median(wall[-WINDOW:])
        if abs(after - before) <= 0.02 * before:
            return True
    return sum(wall[first:]) >= MOST_WARM_UP_S


def warnings_of(device_clock: str, calls: Calls) -> list[str]:
    """Returns warnings about a slot's clocks."""
    unwaited = sum(
        device > 1.02 * wall for device, wall in zip(calls.device, calls.wall, strict=True)
    )
    if device_clock == "events" and unwaited > MOST_UNWAITED * len(calls.wall):
        return ["W-SYNC: device time exceeds wall time: the device was not waited for"]
    return []
