"""An adapter with its ranks, as a worker has them."""

import importlib
from contextlib import contextmanager

from snnbench.adapters import registry
from snnbench.core.jobs import Task
from snnbench.worker.ranked import shared_by_ranks

MEMORY_BYTES = 8 * 2**30


@contextmanager
def ranked(reference, case, cores=(0,), timeout=120.0):
    """The adapter of that reference, with the ranks of `case`."""
    adapter = registry.load(reference)
    for name in adapter.requires:
        importlib.import_module(name)
    task = Task(case, reference, 0, 1, ("step",), True, timeout=timeout)
    with shared_by_ranks(adapter, task, list(cores), MEMORY_BYTES) as shared:
        yield shared
