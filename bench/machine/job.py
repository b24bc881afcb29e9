"""How much memory a job of a batch system, or a container, may use: where it uses more, all of it is ended, and its results with
it. So workers are given less."""

import os
import re
from contextlib import suppress
from pathlib import Path

import psutil

from ..common.mistakes import ConfigError

RESERVE = 1 << 29
"""Bytes for the harness, and for pages of libraries, which no limit of a worker counts."""
LEAST = 1 << 26
"""Bytes for a worker."""
MOST = 0.9
"""Share of the rest that workers may use."""
UNLIMITED = 1 << 60


def job_limit(root: Path = Path("/")) -> int | None:
    """Bytes that this process and all others of its job may use together on this node; None if nobody says."""
    known = [limit for limit in (*_of_cgroups(root), _of_slurm()) if limit and limit < UNLIMITED]
    return min(known, default=None)


def room_for_workers() -> float | None:
    """Bytes of the job that are left for further workers; None where nothing limits it."""
    limit = job_limit()
    return (
        None
        if limit is None
        else MOST * (limit - RESERVE) - sum(_resident(child) for child in _children())
    )


def memory_for_workers(host_memory: int, machine_bytes: int) -> int:
    """Bytes that each worker may use, alone. Raises ConfigError if the job is too small for any."""
    limit = job_limit()
    if limit is not None and MOST * (limit - RESERVE) < LEAST:
        mine, least = f"{limit >> 20} MiB", f"{RESERVE >> 20} MiB"
        raise ConfigError(
            f"this job may use {mine} of memory, of which snnbench keeps {least}: give it 1 GiB or more (--mem)"
        )
    of_job = [] if limit is None else [int(MOST * (limit - RESERVE))]
    return min(host_memory, int(0.9 * machine_bytes), *of_job)


def memory_for_one_more(memory_bytes: int) -> int:
    """Of `memory_bytes`, what a worker may use that is alive beside those that run now."""
    room = room_for_workers()
    return memory_bytes if room is None else max(min(memory_bytes, int(room)), LEAST)


def _of_cgroups(root: Path) -> list[int]:
    """The limits of this process's groups and of all above them, of both versions."""
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
    """What SLURM was asked for, which it enforces even without cgroups, if somebody set it so."""
    mebibytes = _number("SLURM_MEM_PER_NODE") or (
        _number("SLURM_MEM_PER_CPU") * _number("SLURM_CPUS_ON_NODE")
    )
    return mebibytes << 20 or None


def _number(variable: str) -> int:
    """0 where it says no number, or 0, which is all of the node."""
    text = os.environ.get(variable, "")
    return int(text) if re.fullmatch(r"\d{1,12}", text, re.ASCII) else 0


def _children() -> list[psutil.Process]:
    return list(psutil.Process().children(recursive=True))


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
