"""Times one phase: warm-up, then samples on three clocks until the stopping rule is content."""

import gc
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from snnbench.adapters.base.contract import Program

from .phases import Phase
from .stopping import WarmUp, stop_reason


@dataclass
class Timing:
    """Seconds by call. `wall`: device idle to everything ready; `enqueue`: until the call returned; `device`: see
    `device_clock`; `at`: when the call began, counted from the first sample, which was at `began` of `time.perf_counter`."""

    wall: list[float] = field(default_factory=list)
    enqueue: list[float] = field(default_factory=list)
    device: list[float] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    began: float = 0.0
    device_clock: str = "process"
    warm_up_calls: int = 0
    warm_up_converged: bool = False
    stop_reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For the record: to the nanosecond, which is what the clocks resolve."""
        return {k: [round(seconds, 9) for seconds in v] if isinstance(v, list) else v for k, v in vars(self).items()}

    def warnings(self) -> list[str]:
        if self.device_clock == "events" and any(d > 1.02 * w for d, w in zip(self.device, self.wall, strict=True)):
            return ["W-SYNC: device time exceeds wall time: the device was not waited for"]
        return []


def sample(phase: Phase, program: Program, rel_ci: float, budget: float, clock: Any = time) -> tuple[Timing, Any]:
    """Time `phase` for about `budget` seconds after its first call: (its Timing, last result for the recheck). `clock` has the
    wall time `perf_counter()` and the CPU time of all threads `process_time()`, in seconds."""
    timer, samples = program.device_timer(), Timing(device_clock=program.device_clock)

    def once(index: int) -> tuple[Any, float, tuple[float, float, float]]:
        state = phase.prepare(index)
        if timer:
            timer.start()
        cpu, start = clock.process_time(), clock.perf_counter()
        result = phase.call(state)
        returned = clock.perf_counter()
        if timer:
            timer.stop()
        program.wait(result)
        ready = clock.perf_counter()
        device = timer.seconds() if timer else clock.process_time() - cpu
        return result, start, (ready - start, returned - start, device)

    gc.collect()
    gc.disable()
    try:
        warm_up, index, begun = WarmUp(0.2 * budget), 0, 0.0
        while not warm_up.done(once(index)[2][0]):
            if index == 0:
                begun = clock.perf_counter()  # the first call may compile: that is not to cost samples
            index += 1
        samples.warm_up_calls, samples.warm_up_converged = len(warm_up.calls), warm_up.converged
        while not samples.stop_reason:
            index += 1
            result, start, (wall, enqueue, device) = once(index)
            samples.began = samples.began if samples.wall else start
            samples.wall.append(wall)
            samples.enqueue.append(enqueue)
            samples.device.append(device)
            samples.at.append(start - samples.began)
            samples.stop_reason = stop_reason(samples.wall, clock.perf_counter() - begun, rel_ci, budget)
    finally:
        gc.enable()
    return samples, result


def seconds(samples: Timing) -> float:
    return float(np.median(samples.wall))
