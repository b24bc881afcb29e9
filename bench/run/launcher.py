"""Starts the workers of a run: those of cases, the judge and the oracle, which belong to no framework, and the canary."""

import shutil
from pathlib import Path
from typing import Any

from ..executors.executor import Executor
from ..executors.launch import Launched, Outcome, launch
from ..executors.surroundings import compiler_caches, worker_environment
from ..experiment.config import Measure
from ..proof.problem import problem_id
from ..records.store import ResultFolder
from .outcome import last_line, verdict
from .planning import PlannedCase


class Launcher:
    """Workers of one run into `folder`, which must be locked. `executor` starts what belongs to no framework; `memory_bytes` is
    what a worker may use. `null_s`: seconds that an empty process takes, by executor."""

    def __init__(self, folder: ResultFolder, measure: Measure, executor: Executor, memory_bytes: int):
        self.folder, self.measure, self.executor, self.memory_bytes = folder, measure, executor, memory_bytes
        self.null_s: dict[Executor, float] = {}
        self.failed_oracles: dict[Path, dict[str, Any]] = {}

    def start(self, planned: PlannedCase, block: int, free_run: Path) -> Launched:
        """The worker of a case. Raises CannotStart."""
        executor, device = planned.home.executor, planned.case.device
        if executor not in self.null_s:
            self.null_s[executor] = self._launch("null", {}, device, executor).duration_s
        task, compiled = planned.task(self.measure, block, free_run), self._compiled(planned, block)
        return Launched("run", task.as_dict(), *self._given(f"run-{planned.id}", device, executor, compiled))

    def canary(self) -> Launched:
        """A process that times the same task again and again, on the cores of the cases. Raises CannotStart."""
        return Launched("canary", {"threads": self.measure.threads}, *self._given("canary", "cpu", self.executor))

    def judge(self) -> Launched:
        """The process that judges the cases. It shares the folders in which their arrays are. Raises CannotStart."""
        self.folder.scratch.mkdir(parents=True, exist_ok=True)
        given = self._given("judge", "cpu", self.executor)
        given[-1].append(self.folder.scratch)
        return Launched("judge", {"threads": self.measure.threads}, *given)

    def free_run(self, planned: PlannedCase) -> tuple[Path, Outcome]:
        """The file with the oracle's free run of a problem. Where there is none, a worker makes it, once in a run."""
        path = self.folder.problems / f"{problem_id(planned.case)}.npz"
        if path.exists() or path in self.failed_oracles:
            return path, Outcome()
        outcome = self._launch("free", planned.task(free_run=path).as_dict(), "cpu", self.executor)
        if not path.exists():
            ended = verdict(outcome, "cpu")
            reason = f"the oracle of this problem failed: {ended['reason']} {last_line(outcome)}"
            # No framework crashed, so a crash of the oracle is an error of the run.
            status = "error" if ended["status"] in ("ok", "crash") else ended["status"]
            self.failed_oracles[path] = {"status": status, "reason": reason}
        return path, outcome

    def _compiled(self, planned: PlannedCase, block: int) -> Path:
        """The folder of a case's compiled code: of this case alone, empty in the first block, there until the run ends."""
        folder = self.folder.compiled / planned.id
        if not block:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _launch(self, verb: str, job: dict[str, Any], device: str, executor: Executor) -> Outcome:
        return launch(verb, job, *self._given(verb, device, executor))

    def _given(
        self, name: str, device: str, executor: Executor, compiled: Path | None = None
    ) -> tuple[Path, float, int, dict[str, str], Executor, list[Path]]:
        """What every worker is given: its scratch folder of that name, its limits, variables, executor, and shared folders."""
        surroundings, shared = worker_environment(device, self.measure.threads), [self.folder.problems]
        self.folder.problems.mkdir(parents=True, exist_ok=True)
        if compiled:
            surroundings |= compiler_caches(compiled)
            shared.append(compiled)
        return self.folder.scratch / name, self.measure.timeout, self.memory_bytes, surroundings, executor, shared
