"""Watches the machine while a worker measures: who else was computing, and how the GPU was doing."""

import threading
import time

import psutil


class Monitor:
    """Use as a context manager around a worker's life, then read `facts`. On CPUs it only looks before and after."""

    def __init__(self, gpu: int | None = None):
        self.facts: dict = {}
        self._watcher = GpuWatcher(gpu) if gpu is not None else None

    def __enter__(self):
        self._begun, self._busy = time.monotonic(), _busy_seconds()
        if self._watcher:
            self._watcher.start()
        return self

    def __exit__(self, *_):
        if self._watcher:
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


class GpuWatcher(threading.Thread):
    """Reads clocks, temperature, power and throttle reasons ten times a second. Untested: no CUDA device has run this yet."""

    INTERVAL = 0.1

    def __init__(self, index: int):
        super().__init__(daemon=True)
        self.index = index
        self.readings: list[dict] = []
        self.reasons = 0
        self._over = threading.Event()

    def run(self):
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(self.index)
        while not self._over.wait(self.INTERVAL):
            self.readings.append(
                {
                    "sm_mhz": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
                    "memory_mhz": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM),
                    "celsius": pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
                    "watts": pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
                    "memory_bytes": pynvml.nvmlDeviceGetMemoryInfo(handle).used,
                }
            )
            self.reasons |= pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
        pynvml.nvmlShutdown()

    def finish(self) -> dict:
        self._over.set()
        self.join()
        if not self.readings:
            return {}
        ranges = {key: [f([r[key] for r in self.readings]) for f in (min, max)] for key in self.readings[0]}
        return {"gpu": ranges, "throttle_reasons": self.reasons}
