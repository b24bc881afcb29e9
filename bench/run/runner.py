"""Runs a plan into a result folder, round by round, each case in a worker process. Every case ends as a record with a status."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from snnbench.adapters.base.case import Case, full_name

from .. import __version__
from ..executors.executor import Executor
from ..executors.launch import Outcome, launch
from ..executors.surroundings import compiler_caches, worker_environment
from ..experiment.order import order
from ..experiment.pruning import dominated
from ..files import write_atomically
from ..machine.facts import machine_facts
from ..machine.monitor import Monitor, reader_of
from ..proof.problem import problem_id
from ..records.record import Record
from ..records.store import ResultFolder
from ..report.files import Results, results_of, write_report
from .done import Done
from .outcome import last_line, verdict
from .planning import Plan, PlannedCase

ENDS_WHAT_IS_BIGGER = ("oom_gpu", "oom_host", "timeout")


@dataclass
class Finished:
    """One (round, case) that has ended. `resumed`: its record was there already; `remaining`: how many are still to do; `note`: a
    sentence for the user."""

    record: Record
    resumed: bool
    remaining: int
    note: str | None = None


def execute(plan: Plan, folder: ResultFolder, fresh: bool, show: Callable[[Finished], None]) -> tuple[Results, bool]:
    """Run the cases of the plan's shard into `folder`, which must exist, and write the report. `show` is called for every
    finished case. With `fresh`, cases that are done are measured again. Returns everything that the folder holds then, and
    whether the run was interrupted. Raises ConfigError if another run is writing there."""
    with folder.locked():
        write_atomically(folder.experiment, plan.experiment.model_dump_json(indent=1) + "\n")
        folder.write_planned({planned.id: full_name(planned.case) for planned in plan.cases}, of_more=plan.selected)
        for home in {planned.home.hash: planned.home for planned in plan.cases}.values():
            folder.write_environment(home.facts)
        interrupted = False
        try:
            for finished in Runner(plan, folder, fresh).run():
                show(finished)
        except KeyboardInterrupt:
            interrupted = True
        results = results_of([folder])
        write_report(folder.path, plan.experiment.name, results)
    return results, interrupted


class Runner:
    """Runs the cases of a plan's shard into `folder`, which the caller must have locked. The executor of the plan starts the
    oracle, which belongs to no framework. With `fresh`, cases that are done are measured again."""

    def __init__(self, plan: Plan, folder: ResultFolder, fresh: bool):
        self.plan, self.folder, self.fresh = plan, folder, fresh
        self.measure, self.machine = plan.experiment.measure, machine_facts()
        self.done = Done(folder, self.measure, self.machine)
        self.memory_bytes = min(self.measure.host_memory, int(0.9 * self.machine["memory_bytes"]))
        self.failed_oracles: dict[Path, dict[str, Any]] = {}
        self.null_s: dict[Executor, float] = {}

    def run(self) -> Iterator[Finished]:
        """Every (round, case), in seeded order. Interrupting the iteration leaves all finished records in place."""
        self.folder.remove_leftovers()
        try:
            yield from self._run()
        finally:
            shutil.rmtree(self.folder.compiled, ignore_errors=True)

    def _run(self) -> Iterator[Finished]:
        # Shards keep the whole run's order, so that what a smaller case's end prunes is the same.
        whole = order([planned.case for planned in self.plan.cases], self.measure.rounds, self.plan.experiment.seed)
        mine = {planned.case: planned for planned in self.plan.mine}
        pairs = [(round, mine[case]) for round, case in whole if case in mine]
        failed: list[tuple[Case, str]] = []
        without_times: set[Case] = set()
        remaining = len(pairs)
        for round, planned in pairs:
            if planned.case in without_times:
                continue  # its first round said why
            note = self.folder.set_aside(planned.id, round, self.done.key(planned))
            earlier = None if self.fresh else self.done.result(planned, round)
            record = earlier or self._case(planned, round, failed)
            if not round and record.status != "ok":
                without_times.add(planned.case)
            if record.status in ENDS_WHAT_IS_BIGGER:
                failed.append((planned.case, record.status))
            remaining -= 1 if round or record.status == "ok" else self.measure.rounds
            yield Finished(record, earlier is not None, remaining, note)

    def _case(self, planned: PlannedCase, round: int, failed: list[tuple[Case, str]]) -> Record:
        started = datetime.now(UTC)
        if planned.status:
            return self._write(planned, round, started, {"status": planned.status, "reason": planned.reason})
        if reason := dominated(planned.case, failed):
            return self._write(planned, round, started, {"status": "pruned", "reason": reason})
        case, executor = planned.case, planned.home.executor
        if executor not in self.null_s:
            self.null_s[executor] = self._launch("null", {}, case.device, executor).duration_s
        free_run, outcome = self._free_run(planned)
        if failure := self.failed_oracles.get(free_run):
            return self._write(planned, round, started, failure, outcome)
        task = planned.task(self.measure, round, free_run)
        with Monitor(reader_of(case.device)) as monitor:
            try:
                outcome = self._launch("run", task.as_dict(), case.device, executor, self._compiled(planned, round))
            except KeyboardInterrupt:
                if self.done.result(planned, round) is None:  # else it stays
                    self._write(planned, round, started, {"status": "interrupted", "reason": "the run was interrupted"})
                raise
            monitor.note_worker(outcome.cpu_seconds)
        return self._write(planned, round, started, verdict(outcome, case.device), outcome, monitor.facts)

    def _free_run(self, planned: PlannedCase) -> tuple[Path, Outcome]:
        """The file with the oracle's free run of a problem. Where there is none, a worker makes it, once in a run."""
        path = self.folder.problems / f"{problem_id(planned.case)}.npz"
        if path.exists() or path in self.failed_oracles:
            return path, Outcome()
        outcome = self._launch("free", planned.task(free_run=path).as_dict(), "cpu", self.plan.executor)
        if not path.exists():
            ended = verdict(outcome, "cpu")
            reason = f"the oracle of this problem failed: {ended['reason']} {last_line(outcome)}"
            # No framework crashed, so a crash of the oracle is an error of the run.
            status = "error" if ended["status"] in ("ok", "crash") else ended["status"]
            self.failed_oracles[path] = {"status": status, "reason": reason}
        return path, outcome

    def _compiled(self, planned: PlannedCase, round: int) -> Path:
        """The folder of a case's compiled code: of this case alone, empty in the first round, there until the run ends."""
        folder = self.folder.compiled / planned.id
        if not round:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _launch(self, verb: str, job: dict[str, Any], device: str, executor: Executor, compiled: Path | None = None) -> Outcome:
        surroundings, scratch = worker_environment(device, self.measure.threads), self.folder.scratch / verb
        self.folder.problems.mkdir(parents=True, exist_ok=True)
        shared = [self.folder.problems]
        if compiled:
            surroundings |= compiler_caches(compiled)
            shared.append(compiled)
        return launch(verb, job, scratch, self.measure.timeout, self.memory_bytes, surroundings, executor, shared)

    def _write(
        self,
        planned: PlannedCase,
        round: int,
        started: datetime,
        folded: dict[str, Any],
        outcome: Outcome = Outcome(),
        monitor: dict[str, Any] | None = None,
    ) -> Record:
        """The record of a case, now in the folder: what was planned, `folded`, what its worker reported, and how it ended."""
        adapter, home, key = planned.adapter, planned.home, self.done.key(planned)
        earlier = self.folder.record(planned.id, round, key)
        variables = {**home.executor.inherited(), **worker_environment(planned.case.device, self.measure.threads)}
        spent = sum(part.get("seconds") or 0.0 for part in folded.get("parts", {}).values())
        record = Record(
            snnbench=__version__,
            case_id=planned.id,
            case=planned.case.as_dict(),
            round=round,
            attempt=earlier.attempt + 1 if earlier else 1,
            done_key=key,
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            stderr_tail="" if folded["status"] == "ok" else outcome.output_tail,
            adapter={name: getattr(adapter, name) for name in ("name", "version", "reference", "source_sha256")},
            environment={**{key: fact for key, fact in home.facts.items() if key != "packages"}, "variables": variables},
            machine=self.machine,
            measure=self.measure.model_dump(),
            monitor={**(monitor or {}), "null_s": self.null_s.get(home.executor)},
            started_at=started.isoformat(timespec="seconds"),
            duration_s=outcome.duration_s,
            overhead_s=outcome.duration_s - spent if outcome.complete else None,
            **folded,
        )
        self.folder.write_record(record)
        return record
