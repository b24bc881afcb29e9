"""Starts the workers of a run: those of cases, the judge, the oracle and the canary."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from ..core.datasets import SYNTHETIC, form_of
from ..data.content import content_of
from ..data.files import Shelf
from ..executors.executor import Executor
from ..executors.launch import HARNESS_S, Launched, Outcome, Surroundings, launch
from ..executors.variables import compiler_caches, worker_environment
from ..experiment.measure import Measure
from ..machine.memory import memory_for_one_more
from ..proof.free_run import is_whole
from ..proof.problem import problem_id
from ..records.store import ResultFolder
from .outcome import last_line, verdict
from .planning import PlannedCase

Material = tuple[Path, str | None, int | None]


def _key(planned: PlannedCase, material: Path) -> Material:
    """Returns what cases share that are judged by the same material."""
    return material, planned.case.dataset, planned.case.samples


class Launcher:
    """Workers of one run into `folder`, which must be locked, with temporary files in `scratch`.
    `executor` starts the judge, the oracle and the canary; `memory_bytes` bounds a worker that runs
    alone. `null_s` are the seconds of an empty process by executor."""

    def __init__(
        self,
        folder: ResultFolder,
        scratch: Path,
        measure: Measure,
        executor: Executor,
        memory_bytes: int,
        recordings: Shelf,
    ):
        self.folder, self.measure, self.recordings = folder, measure, recordings
        self.executor, self.memory_bytes = executor, memory_bytes
        self.scratch, self.compiled = scratch / "workers", scratch / "compiled"
        self.null_s: dict[Executor, float] = {}
        self.failures: dict[Material, dict[str, Any] | None] = {}
        """Fields of the records of all cases of a material, if it failed."""
        self._whole: set[Path] = set()
        self._problems: dict[Path, bytes] = {}
        self._caches: dict[str, Path] = {}

    def start(
        self, planned: PlannedCase, block: int, material: Path, limit: float = inf
    ) -> Launched:
        """Starts the worker of a case, which may compute for `limit` seconds if these are fewer
        than its timeout. Raises CannotStart."""
        executor, device = planned.environment.executor, planned.case.device
        if executor not in self.null_s:
            surroundings = self._surroundings(device, executor)
            self.null_s[executor] = launch("null", {}, surroundings).duration_s
        compiled = self._compiled(planned, block)
        task = planned.task(self.measure, block, material, compiled / "data")
        surroundings = self._surroundings(device, executor, [compiled], compiler_caches(compiled))
        timeout = min(self.measure.timeout, max(limit, 0.0))
        surroundings = replace(surroundings, timeout=timeout)
        return Launched("run", task.as_dict(), surroundings, f"run-{planned.id}")

    def canary(self) -> Launched:
        """Starts a process that times a fixed task on the cores of the cases. Raises
        CannotStart."""
        surroundings = self._surroundings("cpu", self.executor)
        return Launched("canary", {"threads": self.measure.threads}, surroundings)

    def judge(self) -> Launched:
        """Starts the judge, which shares the folders with the arrays of cases. Raises
        CannotStart."""
        surroundings = self._surroundings("cpu", self.executor, [self.scratch])
        return Launched("judge", {"threads": self.measure.threads}, surroundings)

    def failure(self, planned: PlannedCase, material: Path) -> dict[str, Any] | None:
        """Returns the fields of a case's record if its material failed, else None."""
        return self.failures.get(_key(planned, material))

    def material(self, planned: PlannedCase, limit: float = inf) -> tuple[Path, Outcome]:
        """Returns the folder of a case's recordings, or the file with the oracle's free run of its
        problem. Missing ones are made once in a run: recordings here, a free run by a worker in at
        most `limit` seconds. A worker inspects real recordings too."""
        if planned.case.delivers_data:
            folder = self.recordings.of(planned.case)
            return folder, self._inspected(planned, folder)
        path = self._problem(planned)
        self.restore(path)
        if path.exists() or _key(planned, path) in self.failures:
            self._remember(path)
            return path, Outcome()
        made = self.scratch / path.name
        surroundings = self._surroundings("cpu", self.executor, [self.scratch])
        surroundings = replace(surroundings, timeout=min(surroundings.timeout, max(limit, 0.0)))
        outcome = launch("free", planned.task(material=made).as_dict(), surroundings)
        if is_whole(made):
            self.folder.write(path, made.read_bytes())
            self._remember(path)
        else:
            ended = verdict(outcome, "cpu")
            reason = f"the oracle of this problem failed: {ended['reason']}"
            if not outcome.complete:
                reason += f" {last_line(outcome)}"
            # No framework crashed, so a crash of the oracle is an error of the run.
            status = "error" if ended["status"] in ("ok", "crash") else ended["status"]
            self.failures[_key(planned, path)] = {"status": status, "reason": reason}
        return path, outcome

    def _inspected(self, planned: PlannedCase, folder: Path) -> Outcome:
        """Inspects the recordings of a case in a process, once in a run if they are real, and that
        they are still those of the plan."""
        case, key = planned.case, _key(planned, folder)
        if case.dataset.startswith(SYNTHETIC):
            return Outcome()
        outcome = Outcome()
        if key not in self.failures:
            surroundings = self._surroundings("cpu", self.executor)
            outcome = launch("recordings", planned.task(material=folder).as_dict(), surroundings)
            ended = verdict(outcome, "cpu")
            failed = {"status": ended["status"], "reason": ended["reason"]}
            self.failures[key] = None if ended["status"] == "ok" else failed
        if planned.recordings != content_of(case, folder):
            reason = f"{form_of(case.dataset).file(folder)}: was changed during the run"
            self.failures[key] = {"status": "error", "reason": reason}
        return outcome

    def restore(self, path: Path) -> None:
        """Restores the file of a problem if a worker changed it: the judge and later workers read
        it."""
        known = self._problems.get(path)
        if known is not None and not (path.is_file() and path.read_bytes() == known):
            self.folder.write(path, known)

    def _remember(self, path: Path) -> None:
        if path.is_file():
            self._problems.setdefault(path, path.read_bytes())

    def set_problem_aside(self, planned: PlannedCase) -> str | None:
        """Renames the file of a case's problem if it is damaged, and returns a sentence on it."""
        if planned.case.delivers_data:
            return None
        path = self._problem(planned)
        if path in self._whole or not path.exists():
            return None
        if is_whole(path):
            self._whole.add(path)
            return None
        aside = path.with_suffix(".damaged")
        path.rename(aside)
        return f"{path} is damaged: kept as {aside.name}, and computed again"

    def _problem(self, planned: PlannedCase) -> Path:
        return self.folder.problems / f"{problem_id(planned.case)}.npz"

    def _compiled(self, planned: PlannedCase, block: int) -> Path:
        """Returns the folder of a case's compiled code, empty in the first block and kept until the
        run ends."""
        if not block or planned.id not in self._caches or not self._caches[planned.id].is_dir():
            self.compiled.mkdir(parents=True, exist_ok=True)
            self._caches[planned.id] = Path(
                tempfile.mkdtemp(prefix=f"{planned.id}-", dir=self.compiled)
            )
        return self._caches[planned.id]

    def _surroundings(
        self,
        device: str,
        executor: Executor,
        shared: Sequence[Path] = (),
        variables: dict[str, str] = {},
    ) -> Surroundings:
        """Returns the surroundings of the harness's processes; those of a case have another
        timeout."""
        self.folder.problems.mkdir(parents=True, exist_ok=True)
        return Surroundings(
            self.scratch,
            max(self.measure.timeout, HARNESS_S),
            memory_for_one_more(self.memory_bytes),
            worker_environment(device, self.measure.threads) | variables,
            executor,
            [self.folder.problems, *self.recordings.folders, *shared],
        )
