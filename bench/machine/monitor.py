"""Watches the machine while a worker measures: its clocks, what other programs computed, and the state of the GPU."""

import threading
import time
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any, Self

import psutil

from .disturbance import Busy
from .nvml import answer, board_of, handle_of

REASONS = "throttle_reasons"
MOST_READINGS = 500
"""In a record; of more, only every k-th is stored."""
SLOWED_BY = {
    0x4: "its power limit",
    0x8: "a hardware brake",
    0x20: "heat",
    0x40: "heat",
    0x80: "a power brake",
}
"""NVML's throttle reasons that make a device slower than it could be, by their bits."""


class Monitor:
    """A context manager around the life of workers; afterwards `facts` holds what a record says of the machine meanwhile.

    It calls `read` ten times a second, or less often where that would use more than 0.2 % of a core. Readings carry
    `time.perf_counter()`, which on Linux is one clock for all processes of a machine: the report draws them beside a worker's
    samples.
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
        """Set `foreign_cores`: how many cores other programs used on average, all CPU time less that of the workers."""
        self.facts["load_average"] = load_average()
        if cpu_seconds is not None:
            self.facts["foreign_cores"] = self._busy.foreign_cores(
                cpu_seconds, time.monotonic() - self._begun
            )

    def slowed_since(self, start: float) -> bool:
        """Whether the device slowed itself down after `start` of `time.perf_counter`, or at the last reading before."""
        recent = [int(one.get(REASONS, 0)) for one in self._readings if one["at"] >= start] or [
            int(one.get(REASONS, 0)) for one in self._readings[-1:]
        ]
        return any(slowed(reasons) for reasons in recent)


def load_average() -> float:
    """How many programs ran or waited for a core in the last minute, on average."""
    return psutil.getloadavg()[0]


def reader_of(device: str) -> Callable[[], dict[str, float]]:
    """The function that reads the state of `cpu`, `cuda` or `cuda:0`."""
    kind, _, index = device.partition(":")
    return _gpu_reader(int(index or 0)) if kind == "cuda" else _cpu_reading


def _cpu_reading() -> dict[str, float]:
    """The mean clock of all cores in MHz; empty where the system does not tell it."""
    clock = psutil.cpu_freq()
    return {"mhz": clock.current} if clock and clock.current else {}


def _gpu_reader(index: int) -> Callable[[], dict[str, float]]:
    """A function that reads clocks, temperature, power, used memory and throttle reasons of an NVIDIA device."""
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
        told = {name: answer(ask) for name, ask in questions.items()} if handle is not None else {}
        return {name: value for name, value in told.items() if value is not None}

    return read


def condensed(readings: list[dict[str, float]]) -> dict[str, Any]:
    """The part of `readings` that a record stores. `watched`: a list per quantity, of those readings that differ from the one
    before, with their times in seconds under `at`; `throttle_reasons`: all of NVML's bits that were ever set."""
    changed = [
        now
        for before, now in zip([{}, *readings], readings, strict=False)
        if {**before, "at": 0} != {**now, "at": 0}
    ]
    stored = changed[:: -(-len(changed) // MOST_READINGS) or 1]
    watched = {
        key: [round(reading[key], 4) for reading in stored]
        for key in (stored[0] if stored else ())
        if key != REASONS
    }
    return {
        "watched": watched,
        REASONS: reduce(or_, (int(reading.get(REASONS, 0)) for reading in readings), 0),
    }


def slowed(reasons: int) -> list[str]:
    """Why a device ran slower than it could, in words, from NVML's throttle reasons."""
    return list(dict.fromkeys(word for bit, word in SLOWED_BY.items() if reasons & bit))
