"""Memory for workers: the limit of a batch job or container, and the room for one more worker.

A job that exceeds its limit is killed with all its results, so workers get less than the limit.
"""

import os
import re
from contextlib import suppress
from math import inf, nan
from pathlib import Path

import psutil

from ..common.mistakes import ConfigError
from .nvml import answer, handle_of

RESERVE = 1 << 29
"""Bytes for the harness, and for pages of libraries, which no limit of a worker counts."""
LEAST = 1 << 26
"""Bytes for a worker."""
MOST = 0.9
"""Share of the rest that workers may use."""
UNLIMITED = 1 << 60

MOST_OF_HOST, MOST_OF_GPU = 0.5, 0.8
"""Shares of the free host memory, or of a GPU's, that concurrent workers may fill."""


def job_limit(root: Path = Path("/")) -> int | None:
    """Returns the bytes that all processes of this job may use on this node; None if unlimited."""
    limits = [limit for limit in (*_of_cgroups(root), _of_slurm()) if limit and limit < UNLIMITED]
    return min(limits, default=None)


def room_for_workers() -> float | None:
    """Returns the bytes of the job that remain for further workers; None if unlimited."""
    limit = job_limit()
    if limit is None:
        return None
    children = psutil.Process().children(recursive=True)
    return MOST * (limit - RESERVE) - sum(map(_resident, children))


def memory_for_workers(host_memory: int, machine_bytes: int) -> int:
    """Returns the bytes that a worker may use alone. Raises ConfigError if the job is too small."""
    limit = job_limit()
    if limit is not None and MOST * (limit - RESERVE) < LEAST:
        raise ConfigError(
            f"this job may use {limit >> 20} MiB of memory, of which snnbench keeps "
            f"{RESERVE >> 20} MiB: give it 1 GiB or more (--mem)"
        )
    of_job = [] if limit is None else [int(MOST * (limit - RESERVE))]
    return min(host_memory, int(0.9 * machine_bytes), *of_job)


def memory_for_one_more(memory_bytes: int) -> int:
    """Returns the part of `memory_bytes` that a worker may use next to the running ones."""
    room = room_for_workers()
    return memory_bytes if room is None else max(min(memory_bytes, int(room)), LEAST)


class Room:
    """Memory of a device that concurrent workers fill; created before the first one starts."""

    def __init__(self, device: str):
        self.device = device
        self.initial = self.free = _free(device)
        self.limit = self.initial * (MOST_OF_HOST if device == "cpu" else MOST_OF_GPU)
        self.largest = 0.0

    def note(self) -> None:
        """Measures the free memory again after a worker has started and warmed up."""
        now = _free(self.device)
        self.largest, self.free = max(self.largest, self.free - now), now

    @property
    def for_one_more(self) -> bool:
        """True if another worker like the largest so far would fit."""
        return self.initial - self.free + self.largest <= self.limit


def _free(device: str) -> float:
    """Returns the free bytes of the host, or of the job's share of it, or of a GPU.

    NaN if the driver does not tell: no comparison then allows one more worker.
    """
    kind, _, index = device.partition(":")
    if kind == "cpu":
        room = room_for_workers()
        return float(min(psutil.virtual_memory().available, inf if room is None else room))
    import pynvml

    handle = handle_of(int(index or 0))
    if handle is None:
        return nan
    free = answer(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).free)
    return nan if free is None else float(free)


def _of_cgroups(root: Path) -> list[int]:
    """Returns the limits of this process's groups and of their ancestors, in cgroups v1 and v2."""
    limits = []
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "memory" not in controllers.split(","):
                continue
            place = root / "sys/fs/cgroup" / ("memory" if controllers else "")
            name = "memory.limit_in_bytes" if controllers else "memory.max"
            parts = [part for part in path.split("/") if part not in ("", "..")]
            for depth in range(len(parts) + 1):
                with suppress(OSError, ValueError):  # "max" is no number
                    limits.append(int(Path(place, *parts[:depth], name).read_text()))
    return limits


def _of_slurm() -> int | None:
    """Returns the bytes requested from SLURM, which may enforce them even without cgroups."""
    mebibytes = _number("SLURM_MEM_PER_NODE") or (
        _number("SLURM_MEM_PER_CPU") * _number("SLURM_CPUS_ON_NODE")
    )
    return mebibytes << 20 or None


def _number(variable: str) -> int:
    """Returns a variable as a number, 0 if it is none; SLURM's 0 means the whole node."""
    text = os.environ.get(variable, "")
    return int(text) if re.fullmatch(r"\d{1,12}", text, re.ASCII) else 0


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
