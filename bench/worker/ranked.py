"""Adapters of cases that several ranks compute together."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

from snnbench.adapters.base.torch_adapter import TorchAdapter

from ..core.case import Case
from ..core.contract import Adapter, Program
from ..core.jobs import Task
from ..core.network import Network
from ..measure.memory import freed_memory_returned, host_memory_probe
from .sandbox import die_with_parent, forbid_network_and_pip, limit_memory

PATIENCE = 0.25
"""Share of a case's time limit that ranks wait for one of them."""


def make_devices(case: Case) -> None:
    """Makes JAX, which is not imported yet, see a CPU device for each rank of a case."""
    if case.ranks and case.device == "cpu":
        flag = f"--xla_force_host_platform_device_count={case.ranks}"
        os.environ["XLA_FLAGS"] = " ".join(filter(None, [os.environ.get("XLA_FLAGS"), flag]))


@contextmanager
def shared_by_ranks(
    adapter: Adapter, task: Task, cores: Sequence[int], memory_bytes: int
) -> Iterator[Adapter]:
    """Yields the adapter of a case with ranks, which end with the block.

    With JAX the ranks are devices of one process.
    """
    if not isinstance(adapter, TorchAdapter):
        yield adapter
        return
    from snnbench.adapters.ranks.pool import Ranks
    from snnbench.adapters.ranks.rank import Start

    count = task.case.ranks
    confine = partial(confined, memory_bytes // count)
    start = Start(
        count,
        task.reference,
        cores,
        PATIENCE * task.timeout,
        confine,
        host_memory_probe,
        freed_memory_returned,
    )
    with Ranks(start) as ranks:
        yield cast(Adapter, RankedAdapter(adapter, ranks))


def confined(memory_bytes: int, parent: int) -> None:
    """Limits a rank like its worker, with which it dies."""
    die_with_parent(parent)
    forbid_network_and_pip()
    limit_memory(memory_bytes)


class RankedAdapter:
    """An adapter with programs that the ranks' processes build."""

    def __init__(self, adapter: Adapter, ranks: Any) -> None:
        self.adapter, self.ranks = adapter, ranks

    def __getattr__(self, name: str) -> Any:
        return getattr(self.adapter, name)

    def prepare(self, case: Case, threads: int) -> None:
        self.adapter.prepare(case, threads)
        if case.ranks:
            self.ranks.ask("prepare", case)

    def program(self, case: Case, network: Network) -> Program:
        if not case.ranks:
            return self.adapter.program(case, network)
        from snnbench.adapters.ranks.program import RankedProgram

        return RankedProgram(self.ranks, case, network)
