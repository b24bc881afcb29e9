"""The cores that this process may use."""

import os


def usable_cores() -> list[int]:
    """Numbers of the cores that this process is allowed to run on: of a node that binds nobody, as many as SLURM gave the job."""
    every = _allowed()
    given = [os.environ.get(name, "") for name in ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE")]
    return every[: next((int(count) for count in given if count.isdecimal() and int(count)), None)]


def use_cores(count: int) -> list[int]:
    """Bind this process to the first `count` of its cores (0: all). Thread variables do not bind XLA; affinity does."""
    cores = usable_cores()[: count or None]
    if len(cores) < len(_allowed()):
        os.sched_setaffinity(0, cores)
    return cores


def _allowed() -> list[int]:
    return (
        sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else list(range(os.cpu_count() or 1))
    )
