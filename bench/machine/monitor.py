"""Watches the machine while a worker measures: its clocks, who else was computing, and how the GPU was doing."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from operator import or_

import psutil

REASONS = "throttle_reasons"
MOST_READINGS = 500
"""In a record: of more changes, every k-th is kept."""
SLOWED = {0x4: "its power limit", 0x8: "a hardware brake", 0x20: "heat", 0x40: "heat", 0x80: "a power brake"}
"""What NVML's bits of `throttle_reasons` mean, of those that make a device slower than it could be."""


class Monitor:
    """Use as a context manager around a worker's life, then read `facts`."""

    def __init__(self, gpu: int | None = None):
        self.facts: dict = {}
        self._watcher = Watcher(gpu_reader(gpu) if gpu is not None else cpu_reading)

    def __enter__(self):
        self._begun, self._busy = time.monotonic(), _busy_seconds()
        self._watcher.start()
        return self

    def __exit__(self, *_):
        self.facts |= self._watcher.finish()

    def note_worker(self, cpu_seconds: float | None) -> None:
        """With the worker's own CPU time known, the rest of what was busy is somebody else's."""
        elapsed = time.monotonic() - self._begun
        busy = _busy_seconds() - self._busy
        self.facts["load_average"] = psutil.getloadavg()[0]
        if cpu_seconds is not None and elapsed > 0:
            self.facts["foreign_cores"] = max(busy - cpu_seconds, 0.0) / elapsed


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)


def cpu_reading() -> dict[str, float]:
    """Mean clock of all cores in MHz; empty where the system does not tell."""
    clock = psutil.cpu_freq()
    return {"mhz": clock.current} if clock and clock.current else {}


def gpu_reader(index: int) -> Callable[[], dict[str, float]]:
    """Clocks, temperature, power and throttle reasons. Untested: no CUDA device has run this yet."""
    import pynvml

    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    questions = {
        "mhz": lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        "memory_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM),
        "celsius": lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
        "watts": lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
        "memory_bytes": lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).used,
        REASONS: lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
    }

    def read():
        found = {}
        for name, ask in questions.items():
            with suppress(pynvml.NVMLError):  # not every device answers every question
                found[name] = ask()
        return found

    return read


class Watcher(threading.Thread):
    """Calls `read` ten times a second, or less often where that would take more than a five-hundredth of a core. Readings carry
    `time.perf_counter()`, which on Linux is one clock for all processes of a machine: a worker's samples lie beside them."""

    def __init__(self, read: Callable[[], dict[str, float]]):
        super().__init__(daemon=True)
        self._read = read
        self._over = threading.Event()
        self._readings: list[dict[str, float]] = []

    def run(self):
        while True:
            begun = time.perf_counter()
            if reading := self._read():
                self._readings.append({"at": begun, **reading})
            if self._over.wait(max(0.1, 500 * (time.perf_counter() - begun))):
                return

    def finish(self) -> dict:
        self._over.set()
        self.join()
        return condensed(self._readings)


def condensed(readings: list[dict[str, float]]) -> dict:
    """`watched`: readings that differ from the one before, by quantity, their times under `at`; `throttle_reasons`: NVML's bits
    that were ever set."""
    changed = [now for before, now in zip([{}, *readings], readings, strict=False) if {**before, "at": 0} != {**now, "at": 0}]
    kept = changed[:: -(-len(changed) // MOST_READINGS) or 1]
    watched = {key: [round(reading[key], 4) for reading in kept] for key in (kept[0] if kept else ()) if key != REASONS}
    return {"watched": watched, REASONS: reduce(or_, (reading.get(REASONS, 0) for reading in readings), 0)}


def slowed(reasons: int) -> list[str]:
    """Why a device ran slower than it could, by NVML's bits of `throttle_reasons`."""
    return list(dict.fromkeys(word for bit, word in SLOWED.items() if reasons & bit))
