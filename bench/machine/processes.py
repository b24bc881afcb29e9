"""Threads and descendants of this process, by the files of /proc; without them only what Python
itself can tell."""

import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .cores import usable_cores

PROC = Path("/proc")


def descendants(pid: int | str = "self") -> Iterator[int]:
    """Yields the process ids of the living descendants of a process."""
    for thread in threads(pid):
        with suppress(OSError):
            for child in (thread / "children").read_text().split():
                yield int(child)
                yield from descendants(child)


def threads(pid: int | str = "self") -> list[Path]:
    """Returns the folders of a process's threads; none if it has ended."""
    try:
        return list((PROC / str(pid) / "task").iterdir())
    except OSError:
        return []


def cpu_seconds() -> float:
    """CPU time of this process and of its children, also of finished ones: a compiler is part of
    the case."""
    return time.process_time() + children_seconds()


def children_seconds() -> float:
    """CPU time of the descendants of this process: of living ones to a tick of the kernel."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = 0
    for pid in descendants():
        with suppress(OSError, IndexError):
            # Behind the name in parentheses: utime, stime, cutime and cstime are fields 14 to 17.
            text = (PROC / str(pid) / "stat").read_text().rpartition(")")[2]
            ticks += sum(map(int, text.split()[11:15]))
    return ended.ru_utime + ended.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def children_bytes() -> int:
    """Resident bytes that the living descendants of this process share with no other process,
    without pages of files, such as those of libraries."""
    kib = 0
    for pid in descendants():
        with suppress(OSError):
            lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
            kib += sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))
    return 1024 * kib


def cores_in_use() -> set[int]:
    """Returns the numbers of the cores on which a thread of this process or of a descendant may
    run. A process that has ended runs nowhere, though its parent has not waited for it."""
    cores = set[int]()
    for pid in (os.getpid(), *descendants()):
        for thread in threads(pid):
            with suppress(OSError):
                if (thread / "stat").read_text().rpartition(")")[2].split()[0] not in "XZ":
                    cores |= os.sched_getaffinity(int(thread.name))
    return cores or set(usable_cores())
