"""The cores that this process may use."""

import os


def usable_cores() -> list[int]:
    """Numbers of the cores that this process is allowed to run on."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def use_cores(count: int) -> list[int]:
    """Bind this process to the first `count` of its cores (0: all). Thread variables do not bind XLA; affinity does."""
    cores = usable_cores()
    if count and count < len(cores):
        cores = cores[:count]
        os.sched_setaffinity(0, cores)
    return cores
