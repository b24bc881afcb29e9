"""The cores that this process may use."""

import os
from contextlib import suppress


def usable_cores() -> list[int]:
    """Returns the numbers of the allowed cores, at most as many as SLURM gave the job."""
    allowed = _allowed()
    counts = [os.environ.get(name, "") for name in ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE")]
    limit = next((int(text) for text in counts if text.isdecimal() and int(text)), None)
    return allowed[:limit]


def use_cores(count: int) -> list[int]:
    """Binds all threads of this process to its first `count` cores (0: all): XLA ignores thread
    variables, and OpenBLAS starts threads when NumPy is imported."""
    cores = usable_cores()[: count or None]
    if len(cores) < len(_allowed()):
        for thread in os.listdir("/proc/self/task"):
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), cores)
    return cores


def _allowed() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
