"""Runs a plan into a result folder, block by block and group by group.

Every case ends as a record with a status.
"""

import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from ..common import __version__
from ..common.files import node_folder, own_folder
from ..common.texts import unplaced
from ..common.units import counted
from ..core.case import Case, full_name
from ..data.files import Shelf
from ..executors.events import SENSELESS
from ..executors.variables import worker_environment
from ..experiment.adapter_info import without_folder
from ..experiment.order import dominated, shuffled
from ..machine.cores import usable_cores
from ..machine.facts import busy_warning, machine_facts
from ..machine.memory import memory_for_workers
from ..machine.monitor import load_average
from ..records.contrasts import blocks_to_decide
from ..records.ranking import contrasts_with_fastest
from ..records.record import RECORD, Record
from ..records.rows import Row
from ..records.running import DIED_TWICE, Running
from ..records.store import ResultFolder, SetPlan
from ..schema import understood
from .block import Block, EndedCase
from .budget import Budget, compiles, expected_place
from .done import Done, groups_of, reasons, split
from .launcher import Launcher
from .live_set import OnProgress
from .outcome import refuse_impossible
from .planning import Plan, PlannedCase

ROOT = Path(__file__).resolve().parents[2]
"""The folder that contains the package: the root of a checkout."""
PRUNING_STATUSES = ("oom_gpu", "oom_host", "timeout")
"""Statuses of a case after which larger ones are not run: `pruned`."""


@dataclass
class CaseReport:
    """Reports that a case has ended in a block.

    `resumed`: the record is from an earlier run. `ended`/`total`: ended cases, counted once a
    block. `to_measure`: measurements still to do, as far as known. `note`: a message for the user.
    """

    record: Record
    resumed: bool
    ended: int
    total: int
    to_measure: int
    note: str | None = None


def execute(
    plan: Plan,
    folder: ResultFolder,
    fresh: bool,
    on_case: Callable[[CaseReport], None],
    on_progress: OnProgress,
    on_warning: Callable[[str], None],
    on_begin: Callable[[int], None],
    budget: Budget | None = None,
) -> tuple[bool, list[str]]:
    """Runs the cases of the plan's shard; writes their records into `folder`.

    `on_case` is called for each ended case, `on_progress` with a status text, `on_warning` if the
    machine is busy or earlier cases are measured again, `on_begin` with the number of measurements
    to do, each of a case in a block. With `fresh`, finished cases are measured again. Cases and
    blocks that do not fit into `budget` have no record. Returns whether the run was interrupted,
    and a sentence for every file that another process changed during the run and that was restored.
    Raises ConfigError if the folder cannot be used: see `ResultFolder.begin`.
    """
    adapters = plan.experiment.adapters
    digests = {case.adapter.reference: case.adapter.source_sha256 for case in plan.cases}
    set_plan = SetPlan(
        plan.experiment.model_dump(mode="json", exclude={"slurm"})
        | {"adapters": [without_folder(reference) for reference in adapters]}
        | {"adapter_sources": [digests.get(reference) for reference in adapters]},
        {planned.id: full_name(planned.case) for planned in plan.cases},
        [*{planned.environment.hash: planned.environment.facts for planned in plan.cases}.values()],
        is_subset=plan.is_subset,
    )
    # Scratch files go to a local disk: the result folder may be on a slow, shared one.
    with folder.begin(set_plan) as inside, own_folder(node_folder(inside)) as scratch:
        interrupted = False
        try:
            runner = Runner(plan, folder, scratch, fresh, on_progress, budget, on_warning)
            busy = busy_warning(load_average(), len(usable_cores()))
            for sentence in [*busy, *reasons(runner.remaining)]:
                on_warning(sentence)
            on_begin(runner.tally.to_measure)
            for report in runner.run():
                on_case(report)
        except KeyboardInterrupt:
            interrupted = True
        changed = list(folder.restore())
        if not interrupted:
            runner.running.end()
    return interrupted, changed


class Runner:
    """Runs the cases of a plan's shard into `folder`, which the caller must have locked.

    Temporary files are in `scratch`. With `fresh`, finished cases are measured again. `budget`, if
    it is limited, has the fastest cases started first. `on_warning` receives a sentence on blocks
    that are added.
    """

    def __init__(
        self,
        plan: Plan,
        folder: ResultFolder,
        scratch: Path,
        fresh: bool,
        on_progress: OnProgress,
        budget: Budget | None = None,
        on_warning: Callable[[str], None] = lambda sentence: None,
    ):
        self.plan, self.folder, self.fresh, self.on_progress = plan, folder, fresh, on_progress
        self.on_warning = on_warning
        self.budget = budget or Budget()
        self.measure, self.seed = plan.experiment.measure, plan.experiment.seed
        self.machine = machine_facts()
        self.completed = Done(folder, self.measure, self.machine)
        self.running = Running(folder, fresh)
        memory = memory_for_workers(self.measure.host_memory, self.machine["memory_bytes"])
        real = plan.experiment.data.folder
        recordings = Shelf(Path(real) if real else None, on_progress)
        self.launcher = Launcher(folder, scratch, self.measure, plan.executor, memory, recordings)
        self.set_name = folder.only_set() or f"{plan.experiment.name}-{secrets.token_hex(4)}"
        self.commit = git_commit()
        self.failed: list[tuple[Case, str]] = []
        self.first_block_only: set[str] = set()
        self.planned_blocks = self.measure.planned_blocks
        self.remaining = [] if fresh else self.completed.remaining(plan.mine)
        work = {planned.id: 0 if planned.status else self.planned_blocks for planned in plan.mine}
        work |= {remaining.planned.id: remaining.blocks for remaining in self.remaining}
        self.tally = Tally(work, self.planned_blocks)

    def run(self) -> Iterator[CaseReport]:
        """Yields every case of every planned block, then of the further blocks that a group needs
        until its ranks are decided (at most `most_blocks`).

        Groups are in seeded order. A case that fails or stops early in the first block is left out
        of the others. An interruption leaves all finished records in place.
        """
        groups = groups_of(self.plan.mine)
        for block in range(self.planned_blocks):
            for group in shuffled(groups, self.seed, block):
                yield from self._block(group, block)
        if self.measure.timed:
            yield from self._further_blocks(groups)

    def _further_blocks(self, groups: list[list[PlannedCase]]) -> Iterator[CaseReport]:
        needed = [(group, self._blocks_to_decide(group)) for group in groups]
        added = 0
        for group, blocks in needed:
            further = range(self.planned_blocks, blocks)
            for planned in self._without_ended(group):
                missing = sum(
                    self.fresh or self.completed.result(planned, block) is None for block in further
                )
                self.tally.add(planned.id, len(further), missing)
                added += missing
        if added:
            more = counted(added, "more measurement")
            self.on_warning(f"{more}: ranks are not decided after {self.planned_blocks} blocks")
        most = max((blocks for _, blocks in needed), default=0)
        for block in range(self.planned_blocks, most):
            undecided = [group for group, blocks in needed if block < blocks]
            for group in shuffled(undecided, self.seed, block):
                yield from self._block(group, block)

    def _without_ended(self, group: list[PlannedCase]) -> list[PlannedCase]:
        return [planned for planned in group if planned.id not in self.first_block_only]

    def _blocks_to_decide(self, group: list[PlannedCase]) -> int:
        """Returns the number of blocks that decide the ranks, estimated from the first blocks.

        Native neurons are not ranked, so they get the configured blocks only.
        """
        if group[0].case.native:
            return self.measure.blocks
        keys = {(planned.id, self.completed.key(planned)) for planned in self._without_ended(group)}
        records = [
            record
            for record in self.folder.read_records()[0]
            if (record.case_id, record.done_key) in keys
        ]
        first = [record for record in records if record.block < self.measure.blocks]
        return max(
            self.measure.blocks,
            blocks_to_decide(contrasts_with_fastest(first), self.measure.most_blocks),
        )

    def _block(self, group: list[PlannedCase], block: int) -> Iterator[CaseReport]:
        """Runs one block of a group; its cases are timed together.

        Finished records are kept unless a timed case is added; then the whole group is timed again.
        """
        group = shuffled(self._without_ended(group), self.seed, block)
        if self.budget.limited:
            group.sort(key=partial(self._expected, block))
        results = {
            planned.id: None if self.fresh else self.completed.result(planned, block)
            for planned in group
        }
        parts = split(group, results)
        notes = {planned.id: self._set_aside(planned, block) for planned in parts.missing}
        kept = dict(parts.kept)
        for record in self._measured(parts.missing, parts.together, block):
            kept.pop(record.case_id, None)
            yield self._report(record, False, notes.get(record.case_id))
        for record in kept.values():
            yield self._report(record, True)

    def _expected(self, block: int, planned: PlannedCase) -> tuple[bool, float, bool, int]:
        """Returns the sort key of a case: its framework's own neuron first, then by its time in the
        first block, or its usual place, behind those that compile nothing if the time is tight."""
        first = self.completed.result(planned, 0) if block else None
        seconds = Row(planned.case, [first]).median(first.ranked, "wall") if first else None
        named = [line.partition(".")[0] for line in self.plan.experiment.neuron_lines]
        place = expected_place(planned.case, named)
        late = self.budget.is_tight and compiles(planned.case)
        return place >= -1, seconds or 0.0, late, place

    def _set_aside(self, planned: PlannedCase, block: int) -> str | None:
        """Renames damaged files of a case and returns a message, None if there are none."""
        damaged = (
            self.folder.set_aside(planned.id, block, self.completed.key(planned)),
            self.launcher.set_problem_aside(planned),
        )
        return "\n".join(filter(None, damaged)) or None

    def _report(self, record: Record, resumed: bool, note: str | None = None) -> CaseReport:
        stops = not record.block and record.is_last
        if stops:
            self.first_block_only.add(record.case_id)
        self.tally.end(record.case_id, not resumed, stops)
        if record.status in PRUNING_STATUSES:
            self.failed.append((record.typed_case, record.status))
        return CaseReport(
            record, resumed, self.tally.ended, self.tally.total, self.tally.to_measure, note
        )

    def _measured(
        self, missing: list[PlannedCase], together: list[PlannedCase], block: int
    ) -> Iterator[Record]:
        """Yields records of `missing` and, if one of them is timed, of `together`."""
        asked = []
        for planned in missing:
            if planned.status:
                yield self._write_unmeasured(planned, block, planned.status, planned.reason)
            elif reason := dominated(planned.case, self.failed):
                yield self._write_unmeasured(planned, block, "pruned", reason)
            elif self.running.died_twice(planned.id, block):
                yield self._write_unmeasured(planned, block, "crash", DIED_TWICE)
            else:
                asked.append(planned)
        if not asked:
            return
        apart = self.running.apart((planned.id for planned in asked), block)
        mark = partial(self._mark_running, block)
        workers = Block(
            self.launcher,
            block,
            asked[0].case.device,
            Random(),
            self.on_progress,
            mark,
            apart,
            self.budget,
            further=block + 1 < self.planned_blocks,
        )
        try:
            for ended in workers.measure(asked, together):
                yield self._write(ended, block)
            for planned in workers.left_out:
                self.first_block_only.add(planned.id)
                self.tally.end(planned.id, True, stops=True)
        except KeyboardInterrupt:
            for planned in workers.unfinished:
                if self.completed.result(planned, block) is None:
                    so_far = workers.so_far.get(planned.id)
                    reason = "the run was interrupted" + (f"; {so_far}" if so_far else "")
                    self._write_unmeasured(planned, block, "interrupted", reason)
            raise
        finally:
            self._mark_running(block, [])

    def _write_unmeasured(
        self, planned: PlannedCase, block: int, status: str, reason: str | None
    ) -> Record:
        fields = {"status": status, "reason": reason}
        return self._write(EndedCase(planned, datetime.now(UTC), fields), block)

    def _mark_running(self, block: int, cases: Sequence[PlannedCase]) -> None:
        self.running.mark((planned.id for planned in cases), block)

    def _write(self, ended: EndedCase, block: int) -> Record:
        """Writes and returns the record of a case."""
        planned, worker_fields = ended.planned, ended.folded
        threads = self.measure.threads or self.machine["usable_threads"]
        refuse_impossible(
            worker_fields, ended.outcome.events, planned, self.machine["hash"], threads
        )
        adapter_folder = Path(planned.adapter.reference).parent
        places = self.launcher.scratch.parent, adapter_folder, ROOT, Path(sys.prefix), Path.cwd()
        run_fields, worker_fields = unplaced(
            [self._run_fields(ended, block), worker_fields], places
        )
        try:
            record = understood(RECORD, {**run_fields, **worker_fields})
        except ValueError as error:
            record = understood(
                RECORD, {**run_fields, "status": "error", "reason": f"{SENSELESS}: {error}"}
            )
        self.folder.write_record(record)
        return record

    def _run_fields(self, ended: EndedCase, block: int) -> dict[str, Any]:
        """Returns the fields of a case's record that do not come from its worker."""
        planned, outcome = ended.planned, ended.outcome
        environment, key = planned.environment, self.completed.key(planned)
        earlier = self.folder.record(planned.id, block, key)
        variables = {
            **environment.executor.inherited(),
            **worker_environment(planned.case.device, self.measure.threads),
        }
        # rechecks are counted in ordered_s already
        parts = [part for name, part in ended.folded.get("parts", {}).items() if name != "recheck"]
        spent = ended.ordered_s + sum(part.get("seconds") or 0.0 for part in parts)
        return dict(
            snnbench=__version__,
            git_commit=self.commit,
            case_id=planned.id,
            case=planned.case.as_dict(),
            set=self.set_name,
            block=block,
            live_set=ended.live_set,
            attempt=earlier.attempt + 1 if earlier else 1,
            done_key=key,
            recordings=planned.recordings,
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            stderr_tail="" if ended.folded["status"] == "ok" else outcome.output_tail,
            adapter=planned.adapter.recorded,
            environment={
                **{name: fact for name, fact in environment.facts.items() if name != "packages"},
                "variables": variables,
            },
            machine=self.machine,
            measure=self.measure.model_dump(),
            monitor={**ended.monitor, "null_s": self.launcher.null_s.get(environment.executor)},
            started_at=ended.started.isoformat(timespec="seconds"),
            duration_s=outcome.duration_s,
            overhead_s=outcome.duration_s - spent if outcome.complete else None,
        )


class Tally:
    """Counts ended cases and remaining measurements; each block of a case counts as one.

    `work` has by case id the number of `blocks` still to be measured. A case that stops early
    counts as ended in all blocks.
    """

    def __init__(self, work: Mapping[str, int], blocks: int):
        self.work, self.blocks = dict(work), blocks
        self.ended, self.total = 0, blocks * len(work)

    def end(self, case_id: str, measured: bool, stops: bool = False) -> None:
        """Counts the end of a case in a block; with `stops`, its other blocks are skipped."""
        self.ended += self.blocks if stops else 1
        self.work[case_id] = 0 if stops else max(0, self.work[case_id] - measured)

    def add(self, case_id: str, blocks: int, work: int) -> None:
        """Adds further blocks of a case, of which `work` are to be measured."""
        self.total += blocks
        self.work[case_id] += work

    @property
    def to_measure(self) -> int:
        """Known remaining measurements; cases that cannot run, or are done, have none."""
        return sum(self.work.values())


def git_commit(root: Path = ROOT) -> str | None:
    """Returns the commit checked out in `root`, with the suffix `-dirty` if files were changed.

    None if `root` is no checkout, even inside another one, or if git gives no answer.
    """
    if not (root / ".git").exists():
        return None
    options = ("--always", "--abbrev=40", "--exclude=*", "--dirty")
    command = ["git", "-C", str(root), "describe", *options]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    variables["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        ended = subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ended.stdout.strip() or None
