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

from .. import __version__
from ..common.files import node_folder, own_folder
from ..common.texts import unplaced
from ..core.case import Case, full_name
from ..data.files import Shelf
from ..executors.events import SENSELESS
from ..executors.variables import worker_environment
from ..experiment.adapter_info import without_folder
from ..experiment.order import comparison_groups, dominated, shuffled
from ..machine.cores import usable_cores
from ..machine.facts import busy_warning, machine_facts
from ..machine.memory import memory_for_workers
from ..machine.monitor import load_average
from ..records.contrasts import blocks_to_decide
from ..records.ranking import contrasts_with_fastest
from ..records.record import RECORD, Record
from ..records.running import DIED_TWICE, Running
from ..records.store import ResultFolder, SetPlan
from ..schema import understood
from .block import Block, EndedCase
from .done import Done, reasons
from .launcher import Launcher
from .outcome import refuse_impossible
from .planning import Plan, PlannedCase

ROOT = Path(__file__).resolve().parents[2]
"""The folder that contains the package: the root of a checkout."""
ENDS_LARGER_CASES = ("oom_gpu", "oom_host", "timeout")


@dataclass
class Finished:
    """A case that has ended in a block. `resumed`: its record existed already. `done` of `total`:
    how many have ended. `to_measure`: known remaining measurements. `note`: a text for users."""

    record: Record
    resumed: bool
    done: int
    total: int
    to_measure: int
    note: str | None = None


def execute(
    plan: Plan,
    folder: ResultFolder,
    fresh: bool,
    show: Callable[[Finished], None],
    tell: Callable[[str], None],
    say: Callable[[str], None],
) -> tuple[bool, list[str]]:
    """Runs the cases of the plan's shard; writes their records into `folder`.

    `show` is called for every ended case, `tell` with words on what happens in between, `say` with
    sentences on a busy machine and on what is measured again. With `fresh`, finished cases are
    measured again. Returns whether the run was interrupted, and a sentence for every file that
    another process changed during the run and that was restored. Raises ConfigError if the folder
    cannot be used: see `ResultFolder.begin`.
    """
    adapters = plan.experiment.adapters
    digests = {case.adapter.reference: case.adapter.source_sha256 for case in plan.cases}
    set_plan = SetPlan(
        plan.experiment.model_dump(mode="json", exclude={"slurm"})
        | {"adapters": [without_folder(reference) for reference in adapters]}
        | {"adapter_sources": [digests.get(reference) for reference in adapters]},
        {planned.id: full_name(planned.case) for planned in plan.cases},
        [*{planned.environment.hash: planned.environment.facts for planned in plan.cases}.values()],
        is_part=plan.selected,
    )
    # Workers write and compile on this node: the folder may lie on a slow, shared disk.
    with folder.begin(set_plan) as inside, own_folder(node_folder(inside)) as scratch:
        interrupted = False
        try:
            runner = Runner(plan, folder, scratch, fresh, tell)
            busy = busy_warning(load_average(), len(usable_cores()))
            for sentence in [*busy, *reasons(runner.remaining)]:
                say(sentence)
            for finished in runner.run():
                show(finished)
        except KeyboardInterrupt:
            interrupted = True
        changed = list(folder.restore())
        if not interrupted:
            runner.running.end()
    return interrupted, changed


class Runner:
    """Runs the cases of a plan's shard into `folder`, which the caller must have locked.

    Temporary files lie in `scratch`. With `fresh`, finished cases are measured again.
    """

    def __init__(
        self,
        plan: Plan,
        folder: ResultFolder,
        scratch: Path,
        fresh: bool,
        tell: Callable[[str], None],
    ):
        self.plan, self.folder, self.fresh, self.tell = plan, folder, fresh, tell
        self.measure, self.seed = plan.experiment.measure, plan.experiment.seed
        self.machine = machine_facts()
        self.done, self.running = Done(folder, self.measure, self.machine), Running(folder, fresh)
        memory = memory_for_workers(self.measure.host_memory, self.machine["memory_bytes"])
        real = plan.experiment.data.folder
        recordings = Shelf(Path(real) if real else None, tell)
        self.launcher = Launcher(folder, scratch, self.measure, plan.executor, memory, recordings)
        self.set = folder.only_set() or f"{plan.experiment.name}-{secrets.token_hex(4)}"
        self.commit = git_commit()
        self.failed: list[tuple[Case, str]] = []
        self.only_once: set[str] = set()
        self.blocks = self.measure.sure_blocks
        self.remaining = [] if fresh else [self.done.remaining(planned) for planned in plan.mine]
        work = {planned.id: 0 if planned.status else self.blocks for planned in plan.mine}
        work |= {remaining.planned.id: remaining.blocks for remaining in self.remaining}
        self.tally = Tally(work, self.blocks)

    def run(self) -> Iterator[Finished]:
        """Yields every case of every block, group by group in seeded order.

        An interruption leaves all finished records in place. A case that ended without times, or
        stopped early, in the first block is in no other.
        """
        planned_of = {planned.case: planned for planned in self.plan.mine}
        groups = [
            [planned_of[case] for case in group] for group in comparison_groups(list(planned_of))
        ]
        for block in range(self.blocks):
            for group in shuffled(groups, self.seed, block):
                yield from self._block(group, block)
        wanted = (
            {id(group): self._blocks_to_decide(group) for group in groups}
            if self.measure.timed
            else {}
        )
        for planned, blocks in (
            (planned, wanted[id(group)])
            for group in groups
            if wanted
            for planned in self._timed_again(group)
        ):
            missing = [
                block
                for block in range(self.blocks, blocks)
                if self.fresh or self.done.result(planned, block) is None
            ]
            self.tally.add(planned.id, blocks - self.blocks, len(missing))
        for block in range(self.blocks, max(wanted.values(), default=0)):
            for group in shuffled(
                [group for group in groups if block < wanted[id(group)]], self.seed, block
            ):
                yield from self._block(group, block)

    def _timed_again(self, group: list[PlannedCase]) -> list[PlannedCase]:
        return [planned for planned in group if planned.id not in self.only_once]

    def _blocks_to_decide(self, group: list[PlannedCase]) -> int:
        """Returns the number of blocks that decide the ranks, estimated from the first blocks.

        Native neurons are not compared and need no more.
        """
        if group[0].case.native:
            return self.measure.blocks
        keys = {(planned.id, self.done.key(planned)) for planned in self._timed_again(group)}
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

    def _block(self, group: list[PlannedCase], block: int) -> Iterator[Finished]:
        """Runs one block of a group; its ranked times are measured side by side.

        Finished records stay unless a case joins the group; then the whole group is timed again.
        """
        group = shuffled(self._timed_again(group), self.seed, block)
        results = {
            planned.id: None if self.fresh else self.done.result(planned, block)
            for planned in group
        }
        names = {result.live_set for result in results.values() if result and result.live_set}
        finished = {
            id: record
            for id, record in results.items()
            if record and not (record.live_set and len(names) > 1)
        }
        missing = [planned for planned in group if planned.id not in finished]
        together = [
            planned for planned in group if planned.id in finished and finished[planned.id].live_set
        ]
        notes = {planned.id: self._set_aside(planned, block) for planned in missing}
        notes |= {
            planned.id: f"{full_name(planned.case)} is measured again, together with added cases"
            for planned in together
        }
        for record in self._measured(missing, together, block):
            finished.pop(record.case_id, None)
            yield self._finished(record, False, notes.get(record.case_id))
        for record in finished.values():
            yield self._finished(record, True)

    def _set_aside(self, planned: PlannedCase, block: int) -> str | None:
        """Renames damaged files of a case and returns a sentence on them."""
        damaged = (
            self.folder.set_aside(planned.id, block, self.done.key(planned)),
            self.launcher.set_problem_aside(planned),
        )
        return "\n".join(filter(None, damaged)) or None

    def _finished(self, record: Record, resumed: bool, note: str | None = None) -> Finished:
        leaves = not record.block and record.is_last
        if leaves:
            self.only_once.add(record.case_id)
        self.tally.end(record.case_id, not resumed, leaves)
        if record.status in ENDS_LARGER_CASES:
            self.failed.append((record.typed_case, record.status))
        return Finished(
            record, resumed, self.tally.ended, self.tally.total, self.tally.to_measure, note
        )

    def _measured(
        self, missing: list[PlannedCase], together: list[PlannedCase], block: int
    ) -> Iterator[Record]:
        """Yields records of `missing` and, if one of them is timed, of `together`."""
        asked = []
        for planned in missing:
            if planned.status:
                yield self._unmeasured(planned, block, planned.status, planned.reason)
            elif reason := dominated(planned.case, self.failed):
                yield self._unmeasured(planned, block, "pruned", reason)
            elif self.running.died_twice(planned.id, block):
                yield self._unmeasured(planned, block, "crash", DIED_TWICE)
            else:
                asked.append(planned)
        if not asked:
            return
        apart = self.running.apart((planned.id for planned in asked), block)
        note = partial(self._note, block)
        workers = Block(
            self.launcher, block, asked[0].case.device, Random(), self.tell, note, apart
        )
        try:
            for ended in workers.measure(asked, together):
                yield self._write(ended, block)
        except KeyboardInterrupt:
            for planned in workers.unfinished:
                if self.done.result(planned, block) is None:
                    self._unmeasured(planned, block, "interrupted", "the run was interrupted")
            raise
        finally:
            self._note(block, [])

    def _unmeasured(
        self, planned: PlannedCase, block: int, status: str, reason: str | None
    ) -> Record:
        folded = {"status": status, "reason": reason}
        return self._write(EndedCase(planned, datetime.now(UTC), folded), block)

    def _note(self, block: int, computing: Sequence[PlannedCase]) -> None:
        self.running.now((planned.id for planned in computing), block)

    def _write(self, ended: EndedCase, block: int) -> Record:
        """Writes and returns the record of a case: its plan, its worker's reports and its end."""
        planned, outcome, folded = ended.planned, ended.outcome, ended.folded
        threads = self.measure.threads or self.machine["usable_threads"]
        refuse_impossible(folded, outcome.events, planned, self.machine["hash"], threads)
        environment, key = planned.environment, self.done.key(planned)
        earlier = self.folder.record(planned.id, block, key)
        variables = {
            **environment.executor.inherited(),
            **worker_environment(planned.case.device, self.measure.threads),
        }
        parts = (
            part for name, part in folded.get("parts", {}).items() if name != "recheck"
        )  # its seconds are in ordered_s
        spent = ended.ordered_s + sum(part.get("seconds") or 0.0 for part in parts)
        known = dict(
            snnbench=__version__,
            git_commit=self.commit,
            case_id=planned.id,
            case=planned.case.as_dict(),
            set=self.set,
            block=block,
            live_set=ended.live_set,
            attempt=earlier.attempt + 1 if earlier else 1,
            done_key=key,
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            stderr_tail="" if folded["status"] == "ok" else outcome.output_tail,
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
        adapter_folder = Path(planned.adapter.reference).parent
        places = self.launcher.scratch.parent, adapter_folder, ROOT, Path(sys.prefix), Path.cwd()
        known, folded = unplaced([known, folded], places)
        try:
            record = understood(RECORD, {**known, **folded})
        except ValueError as error:
            record = understood(
                RECORD, {**known, "status": "error", "reason": f"{SENSELESS}: {error}"}
            )
        self.folder.write_record(record)
        return record


class Tally:
    """Counts ended cases and remaining measurements, a case once for every block.

    `work` has by case id the number of `blocks` still to be measured. A case that stops early has
    ended in all of them, so `ended` and `total` never fall.
    """

    def __init__(self, work: Mapping[str, int], blocks: int):
        self.work, self.blocks = dict(work), blocks
        self.ended, self.total = 0, blocks * len(work)

    def end(self, case_id: str, measured: bool, stops: bool = False) -> None:
        """Counts the end of a case in a block; with `stops` it is in no other block."""
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
    """Returns the commit checked out in `root`, with `-dirty` behind it if files differ from it.

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
