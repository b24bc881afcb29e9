"""A step of one case taken apart, with a trace of it: nothing is proved, weighed or timed in slots."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from ..core.jobs import Task
from .network_case import Worker
from .parts import Ended


class Profiler(Worker):
    """Runs a task that is no first block, so that it is neither weighed nor proved, and writes the trace that its job names."""

    def __init__(self, task: Task, emit: Callable[[dict[str, Any]], None], job: dict[str, Any]):
        super().__init__(task, emit, job)
        self.trace: str = job["trace"]

    def run(self) -> None:
        with suppress(Ended):
            adapter = self._import()
            program, problem, free = self._build(adapter)
            inputs, upstream = self._first_call(program, problem, free, adapter)
            program.holds_borders = False
            with self._part("breakdown", "error"):
                told = program.breakdown(inputs[0], upstream, self.trace)
            self.emit({"part": "breakdown", "breakdown": asdict(told)})
            self._refuse_attempts("error")
