"""Runs a plan: rounds, worker processes, records, resume. A case never disappears: it ends as a record with a status."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from .. import __version__
from ..executors.executor import Executor
from ..executors.launch import Outcome, launch
from ..executors.local import LocalExecutor
from ..executors.surroundings import compiler_caches, worker_environment
from ..experiment.config import Measure
from ..experiment.order import dominated, order
from ..experiment.planned_case import PlannedCase
from ..experiment.shard import Shard
from ..machine.monitor import Monitor
from ..proof.problem import problem_id
from ..records.record import Record
from ..records.store import record_path, remove_leftovers, write_record
from ..status import RETRIED
from ..worker.task import Task
from ..workloads import WORKLOADS
from .outcome import last_line, verdict

ENDS_WHAT_IS_BIGGER = ("oom_gpu", "oom_host", "timeout")


@dataclass
class Finished:
    """One (round, case) that is through: its record, whether it was there already, and how many are still to do."""

    record: Record
    resumed: bool
    remaining: int
    note: str | None = None


class Runner:
    """Holds everything that is the same for all cases of a run. `folder` must be locked by the caller.

    `cases` are those of the whole plan, of which `shard` is done here. `executor` is for what belongs to no framework.
    """

    def __init__(
        self,
        folder: Path,
        cases: list[PlannedCase],
        measure: Measure,
        seed: int,
        machine: dict,
        fresh: bool = False,
        shard: Shard = Shard(),
        executor: Executor = LocalExecutor(),
    ):
        self.folder, self.cases, self.measure, self.seed = folder, cases, measure, seed
        self.machine, self.fresh = machine, fresh
        self.mine = {case.id for case in shard.of(cases)}
        self.executor = executor
        self.memory_bytes = min(measure.host_memory, int(0.9 * machine["memory_bytes"]))
        self.outcomes: dict[str, Record] = {}
        self.failed_oracles: dict[Path, dict] = {}
        self.null_s: dict[Executor, float] = {}

    # -- what is done ----------------------------------------------------------------------------------------

    def done_key(self, planned: PlannedCase) -> str:
        """Hash of what a finished record must share with this run to count: settings, adapter file, environment, machine."""
        settings = self.measure.model_dump(exclude={"rounds"})
        environment = planned.adapter["environment"]
        parts = [settings, planned.adapter.get("source_sha256"), environment["hash"], self.machine["hash"]]
        if "image" in environment:
            parts.append(environment["image"]["digest"])
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    def finished(self, planned: PlannedCase, round: int) -> Record | None:
        """What an earlier run recorded for this case and round, if it can be read and is comparable."""
        try:
            return Record.model_validate_json(self._path(planned, round).read_bytes())
        except (OSError, ValueError):
            return None

    def _path(self, planned: PlannedCase, round: int) -> Path:
        return record_path(self.folder, planned.id, round, self.done_key(planned))

    def _set_aside(self, planned: PlannedCase, round: int) -> str:
        """A record that cannot be read is kept beside the one that replaces it."""
        path = self._path(planned, round)
        aside = path.with_suffix(".damaged")
        path.rename(aside)
        return f"{path} cannot be read: kept as {aside.name}, and measured again"

    # -- the run ---------------------------------------------------------------------------------------------

    def run(self) -> Iterator[Finished]:
        """Every (round, case), in seeded order. Interrupting the iteration leaves all finished records in place."""
        remove_leftovers(self.folder)
        try:
            yield from self._run()
        finally:
            shutil.rmtree(self.folder / "compiled", ignore_errors=True)

    def _run(self) -> Iterator[Finished]:
        # Shards keep the whole run's order, so that what a smaller case's end prunes is the same.
        pairs = [pair for pair in order(self.cases, self.measure.rounds, self.seed) if pair[1].id in self.mine]
        failed: list = []
        remaining = len(pairs)
        for round, planned in pairs:
            first = self.outcomes.get(planned.id)
            if round and first is not None and first.status != "ok":
                continue  # its first round said why there are no times
            earlier = self.finished(planned, round)
            damaged = earlier is None and self._path(planned, round).exists()
            note = self._set_aside(planned, round) if damaged else None
            resumed = earlier is not None and earlier.status not in RETRIED and not self.fresh
            record = earlier if resumed else self._case(planned, round, failed, earlier.attempt + 1 if earlier else 1)
            if not round:
                self.outcomes[planned.id] = record
            if record.status in ENDS_WHAT_IS_BIGGER:
                failed.append((planned.case, record.status))
            remaining -= 1 if round or record.status == "ok" else self.measure.rounds
            yield Finished(record, resumed, remaining, note)

    def _case(self, planned, round, failed, attempt) -> Record:
        started = datetime.now(UTC)
        if planned.status:
            known = {"status": planned.status, "reason": planned.reason}
            record = self._record(planned, round, attempt, started, Outcome(), known)
        elif reason := dominated(planned.case, failed):
            record = self._record(planned, round, attempt, started, Outcome(), {"status": "pruned", "reason": reason})
        else:
            record = self._measured(planned, round, attempt, started)
        write_record(self.folder, record)
        return record

    def _measured(self, planned, round, attempt, started) -> Record:
        executor = planned.adapter["environment"]["executor"]
        if executor not in self.null_s:
            self.null_s[executor] = self._launch("null", {}, planned.case.device, executor).duration_s
        case = planned.case
        runs = {}
        for name, wanted in (("own_run", case), ("proved_run", WORKLOADS[case.workload].proved_case(case))):
            path, outcome = self._free_run(wanted)
            if failure := self.failed_oracles.get(path):
                return self._record(planned, round, attempt, started, outcome or Outcome(), failure)
            runs[name] = path
        task = self._task(planned, round, **runs)
        gpu = int(case.device.partition(":")[2] or 0) if case.device.startswith("cuda") else None
        with Monitor(gpu) as monitor:
            try:
                outcome = self._launch("run", task.as_dict(), case.device, executor, self._compiled(planned, round))
            except KeyboardInterrupt:
                earlier = self.finished(planned, round)
                if earlier is None or earlier.status in RETRIED:  # else a result is there, and stays
                    ended = {"status": "interrupted", "reason": "the run was interrupted"}
                    write_record(self.folder, self._record(planned, round, attempt, started, Outcome(), ended))
                raise
            monitor.note_worker(outcome.cpu_seconds)
        return self._record(planned, round, attempt, started, outcome, verdict(outcome, case.device), monitor.facts)

    def _task(self, planned, round, own_run: Path, proved_run: Path) -> Task:
        asked = self.measure
        return Task(
            case=planned.case,
            reference=planned.adapter["reference"],
            round=round,
            threads=asked.threads,
            phases=tuple(asked.phases),
            budget_s=asked.budget,
            rel_ci=asked.rel_ci,
            timed=asked.timed,
            own_run=own_run,
            proved_run=proved_run,
        )

    def _free_run(self, case) -> tuple[Path, Outcome | None]:
        """The oracle's free run of a problem: the kept file, or a worker that makes it, once in a run."""
        path = self.folder / "problems" / f"{problem_id(case)}.npz"
        if path.exists() or path in self.failed_oracles:
            return path, None
        outcome = self._launch("free", {"case": case.as_dict(), "path": str(path)}, "cpu", self.executor)
        if not path.exists():
            ended = verdict(outcome, "cpu")
            reason = f"the oracle of this problem failed: {ended['reason']} {last_line(outcome)}"
            # Nobody's framework crashed, so that a crash of the oracle is an error of the run.
            status = "error" if ended["status"] in ("ok", "crash") else ended["status"]
            self.failed_oracles[path] = {"status": status, "reason": reason}
        return path, outcome

    def _compiled(self, planned, round) -> Path:
        """The folder of a case's compiled code: nobody else's, empty in the first round, kept until the run ends."""
        folder = self.folder / "compiled" / planned.id
        if not round:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _launch(self, verb: str, job: dict, device: str, executor: Executor, compiled: Path | None = None) -> Outcome:
        surroundings, scratch = worker_environment(device, self.measure.threads), self.folder / "scratch" / verb
        problems = self.folder / "problems"
        problems.mkdir(parents=True, exist_ok=True)
        shared = [problems]
        if compiled:
            surroundings |= compiler_caches(compiled)
            shared.append(compiled)
        return launch(verb, job, scratch, self.measure.timeout, self.memory_bytes, surroundings, executor, shared)

    def _record(self, planned, round, attempt, started, outcome, folded, monitor=None) -> Record:
        environment = planned.adapter["environment"]
        spent = sum(part.get("seconds") or 0.0 for part in folded.get("parts", {}).values())
        return Record(
            snnbench=__version__,
            case_id=planned.id,
            case=planned.case.as_dict(),
            round=round,
            attempt=attempt,
            done_key=self.done_key(planned),
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            stderr_tail="" if folded["status"] == "ok" else outcome.output_tail,
            adapter={key: planned.adapter.get(key) for key in ("name", "version", "reference", "source_sha256")},
            environment={
                **{key: value for key, value in environment.items() if key not in ("packages", "executor")},
                "variables": {
                    **environment["executor"].inherited(),
                    **worker_environment(planned.case.device, self.measure.threads),
                },
            },
            machine=self.machine,
            measure=self.measure.model_dump(),
            monitor={**(monitor or {}), "null_s": self.null_s.get(environment["executor"])},
            started_at=started.isoformat(timespec="seconds"),
            duration_s=outcome.duration_s,
            overhead_s=outcome.duration_s - spent if outcome.complete else None,
            **folded,
        )
