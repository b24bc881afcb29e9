"""Measured cases: they import an adapter, time calls in slots, and are judged."""

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from snnbench.adapters import registry

from ..core.contract import Adapter
from ..core.jobs import Task
from ..machine.cores import use_cores
from ..machine.processes import children_seconds, cores_in_use, cpu_seconds
from ..measure.slots import Sampler, warnings_of
from ..workloads import workload_of
from .channel import Channel
from .parts import Parts
from .ranked import make_devices, shared_by_ranks
from .serving import Serving


class Measured(Parts):
    """The parts of a case that waits for orders on its channel."""

    def __init__(self, task: Task, emit: Callable[[dict[str, Any]], None], job: dict[str, Any]):
        super().__init__(task, emit)
        self.channel, self.arrays = Channel(job), Path(job["arrays"])
        self.serving = Serving(self.channel, self.arrays, task.reference, task.version)
        self.network = workload_of(task.case).network(task.case)
        self.first_block = task.block == 0
        self.memory_bytes, self.closing = int(job["memory_bytes"]), ExitStack()
        self.cores: list[int] = []
        self.late_s: float | None = None
        self.ended_at: float | None = None

    def _import(self) -> Adapter:
        """Restricts the process to the task's cores and imports the adapter with its framework."""
        cores = self.cores = use_cores(self.task.threads)
        self.threads = len(cores)
        make_devices(self.case)
        with self._part("import", "import_error"):
            adapter = registry.load(self.task.reference)
            for name in adapter.requires:
                importlib.import_module(name)
            if self.case.ranks:
                adapter = self.closing.enter_context(
                    shared_by_ranks(adapter, self.task, cores, self.memory_bytes)
                )
        self._refuse_attempts("import_error")
        return adapter

    def _orders(self) -> Iterator[dict[str, Any]]:
        """Yields orders until the last. `late_s`: what other threads and processes of this case
        have computed since the last order, if that was a slot."""
        for order in self.channel.orders():
            ended_at, self.ended_at = self.ended_at, None
            self.late_s = None if ended_at is None else _seconds_of_others() - ended_at
            yield order

    def _carried_out(self, name: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Returns the answer to an order about a phase."""
        self.emit({"part": name})
        try:
            return work()
        except Exception as error:
            status, reason = self._status_of(error, "error")
            self.emit(
                {"part": name, "status": status, "reason": reason, **self._where(error, status)}
            )
            return {"failed": status}

    def _slot(
        self,
        sampler: Sampler,
        name: str,
        seen: list[dict[str, Any]],
        read: Callable[[Any], Any],
    ) -> dict[str, Any]:
        """Times a slot. `read` returns the answer of a call for the judge."""

        def at_end(result: Any) -> None:
            if self.channel.stop()["judged"]:
                self.serving.take(partial(read, result))
            # Processes of ranks and of data loaders wait for work between calls.
            if not (self.case.ranks or self.case.delivers_data):
                self.ended_at = _seconds_of_others()

        used = getattr(sampler.program, "cpu_seconds", cpu_seconds)
        cpu, calls = used(), sampler.slot(self.channel.has_order, at_end)
        slot = calls.summary(clock := sampler.program.device_clock)
        seen.append(slot)
        if warnings := warnings_of(clock, calls):
            self.emit({"part": name, "warnings": warnings})
        last = {
            "last": sampler.last,
            "last_wall": sampler.last_wall,
            "last_busy": sampler.last_busy,
        }
        seen_of_it = {
            "cpu": used() - cpu,
            "late": self.late_s,
            "outside": sorted(cores_in_use() - set(self.cores)),
        }
        return {"slot": slot, **seen_of_it, **last}

    def _burst(self, sampler: Sampler, count: int) -> dict[str, Any]:
        """Runs calls in a row, for the clock of the harness."""
        return {"took": sampler.burst(count)}


def _seconds_of_others() -> float:
    """CPU time of all threads but this one, and of descendants."""
    return time.process_time() - time.thread_time() + children_seconds()
