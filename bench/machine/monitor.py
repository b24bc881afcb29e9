"""Watches the machine during measurements: clocks, other programs, the GPU, disturbed slots."""

import threading
import time
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any, Self

import psutil

from .nvml import answer, board_of, handle_of

MOST_WAITED = 1.05
"""Wall over CPU time of a slot on one core."""
MOST_IDLE = 0.25
"""Share of a slot in which no thread of a worker ran: it was stopped, or waited for a core."""
MOST_FOREIGN_CORES = 0.5
"""Cores that other programs may use during a slot on several: the system counts 10 ms steps."""

REASONS = "throttle_reasons"
MOST_READINGS = 500
"""Readings in a record; of more, only every k-th is stored."""
SLOWED_BY = {
    0x4: "its power limit",
    0x8: "a hardware brake",
    0x20: "heat",
    0x40: "heat",
    0x80: "a power brake",
}
"""NVML's throttle reasons that slow a device down, by their bits."""


class Busy:
    """CPU time that programs of this machine have used since this object was created."""

    def __init__(self) -> None:
        self.before = busy_seconds()

    def foreign_cores(self, own_cpu: float, elapsed: float) -> float:
        """Returns the cores used by other programs; snnbench used `own_cpu` s in `elapsed` s."""
        return max(busy_seconds() - self.before - own_cpu, 0.0) / elapsed if elapsed > 0 else 0.0


def busy_seconds() -> float:
    """Returns the CPU time of all programs on all cores since boot."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)


def disturbance(
    slot: dict[str, Any],
    device_clock: str,
    cores: int,
    cpu: float,
    elapsed: float,
    foreign_cores: float,
    slowed: bool,
) -> str | None:
    """Returns the disturbance of a slot on `cores` cores in words, or None.

    The worker used `cpu` seconds of CPU time in the `elapsed` seconds that the harness measured.
    `slowed`: the device slowed itself down meanwhile.
    """
    if slowed:
        return "throttled"
    if device_clock != "process":
        return None
    waited = cores == 1 and slot["wall"] > MOST_WAITED * slot["device"]
    if waited or cpu < (1 - MOST_IDLE) * elapsed:
        return "preempted"
    return "other programs" if cores > 1 and foreign_cores > MOST_FOREIGN_CORES else None


class Monitor:
    """A context manager around the life of workers; `facts` is the part for a record.

    It calls `read` ten times a second, or less often if that would use more than 0.2 % of a core.
    Readings carry `time.perf_counter()`, which on Linux is one clock for all processes: the report
    draws them next to a worker's samples.
    """

    def __init__(self, read: Callable[[], dict[str, float]]):
        self.facts: dict[str, Any] = {}
        self._read, self._over = read, threading.Event()
        self._readings: list[dict[str, float]] = []
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._begun, self._busy = time.monotonic(), Busy()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.facts |= condensed(self._readings)

    def _watch(self) -> None:
        while True:
            start = time.perf_counter()
            if reading := self._read():
                self._readings.append({"at": start, **reading})
            if self._over.wait(max(0.1, 500 * (time.perf_counter() - start))):
                return

    def note_workers(self, cpu_seconds: float | None) -> None:
        """Sets the load, and the mean number of `foreign_cores` if the workers' time is known."""
        self.facts["load_average"] = load_average()
        if cpu_seconds is not None:
            elapsed = time.monotonic() - self._begun
            self.facts["foreign_cores"] = self._busy.foreign_cores(cpu_seconds, elapsed)

    def slowed_since(self, start: float) -> bool:
        """Returns true if a reading since `start`, or else the last one, shows a slowed device."""
        recent = [reading for reading in self._readings if reading["at"] >= start]
        readings = recent or self._readings[-1:]
        return any(slowed(int(reading.get(REASONS, 0))) for reading in readings)


def load_average() -> float:
    """Returns the mean number of programs that ran or waited for a core in the last minute."""
    return psutil.getloadavg()[0]


def reader_of(device: str) -> Callable[[], dict[str, float]]:
    """Returns the function that reads the state of `cpu`, `cuda` or `cuda:0`."""
    kind, _, index = device.partition(":")
    return _gpu_reader(int(index or 0)) if kind == "cuda" else _cpu_reading


def _cpu_reading() -> dict[str, float]:
    """Returns the mean clock of all cores in MHz, empty if the system does not tell it."""
    clock = psutil.cpu_freq()
    return {"mhz": clock.current} if clock and clock.current else {}


def _gpu_reader(index: int) -> Callable[[], dict[str, float]]:
    import pynvml

    handle, board = handle_of(index), board_of(index)
    questions: dict[str, Callable[[], float]] = {
        "mhz": lambda: pynvml.nvmlDeviceGetClockInfo(board, pynvml.NVML_CLOCK_SM),
        "memory_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(board, pynvml.NVML_CLOCK_MEM),
        "celsius": lambda: pynvml.nvmlDeviceGetTemperature(board, pynvml.NVML_TEMPERATURE_GPU),
        "watts": lambda: pynvml.nvmlDeviceGetPowerUsage(board) / 1e3,
        "memory_bytes": lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).used,
        REASONS: lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(board),
    }

    def read() -> dict[str, float]:
        if handle is None:
            return {}
        values = {name: answer(ask) for name, ask in questions.items()}
        return {name: value for name, value in values.items() if value is not None}

    return read


def condensed(readings: list[dict[str, float]]) -> dict[str, Any]:
    """Returns the part of `readings` that a record stores.

    `watched` has a list per quantity, of readings that differ from the one before, and their times
    in seconds as `at`; `throttle_reasons` has all of NVML's bits that were ever set.
    """
    changed = [
        now
        for before, now in zip([{}, *readings], readings, strict=False)
        if {**before, "at": 0} != {**now, "at": 0}
    ]
    stored = changed[:: -(-len(changed) // MOST_READINGS) or 1]
    names = [name for name in (stored[0] if stored else ()) if name != REASONS]
    reasons = (int(reading.get(REASONS, 0)) for reading in readings)
    return {
        "watched": {name: [round(reading[name], 4) for reading in stored] for name in names},
        REASONS: reduce(or_, reasons, 0),
    }


def slowed(reasons: int) -> list[str]:
    """Returns the causes of a slow device in words, from NVML's throttle reasons."""
    return list(dict.fromkeys(word for bit, word in SLOWED_BY.items() if reasons & bit))
