"""Runs a plan into a result folder, block by block, group by group. Every case ends as a record with a status."""

import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

from .. import __version__
from ..common.files import node_folder, own_folder
from ..common.texts import unplaced
from ..core.case import Case, full_name
from ..data.shelf import Shelf
from ..executors.events import SENSELESS
from ..executors.variables import worker_environment
from ..experiment.adapter_info import without_folder
from ..experiment.order import comparison_groups, shuffled
from ..experiment.pruning import dominated
from ..machine.cores import usable_cores
from ..machine.facts import busy_warning, machine_facts
from ..machine.job import memory_for_workers
from ..machine.monitor import load_average
from ..records.contrasts import blocks_to_decide
from ..records.ranking import contrasts_with_the_best
from ..records.record import RECORD, Record
from ..records.running import DIED_TWICE, Running
from ..records.store import ResultFolder
from ..schema import understood
from .block import Block, Ended
from .checkout import git_commit
from .done import Done, reasons
from .launcher import Launcher
from .outcome import refuse_impossible
from .planning import Plan, PlannedCase
from .tally import Tally

ENDS_WHAT_IS_BIGGER = ("oom_gpu", "oom_host", "timeout")


@dataclass
class Finished:
    """One case that has ended in a block. `resumed`: its record was there already; `done` of `total`: how many have ended;
    `to_measure`: how many measurements are left as far as is known; `note`: a sentence for the user."""

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
    """Runs the cases of the plan's shard; their records are written into `folder`, which must exist.

    `show` is called for every ended case, `tell` with words on what happens in between, `say` with
    sentences on a busy machine and on what is measured again. With `fresh`, finished cases are
    measured again. Returns whether the run was interrupted, and a sentence for every file that
    another process changed during the run and that was restored. Raises ConfigError if another run
    is writing into the folder.
    """
    # What workers write and compile lies on this node: the folder may be on a disk that many share, and slow.
    with folder.locked(), folder.writing() as own, own_folder(node_folder(own)) as scratch:
        adapters = [without_folder(reference) for reference in plan.experiment.adapters]
        digests = {one.adapter.reference: one.adapter.source_sha256 for one in plan.cases}
        sources = {
            "adapter_sources": [digests.get(reference) for reference in plan.experiment.adapters]
        }
        folder.write_experiment(
            plan.experiment.model_dump(mode="json", exclude={"slurm"})
            | {"adapters": adapters}
            | sources
        )
        folder.write_planned(
            {planned.id: full_name(planned.case) for planned in plan.cases}, of_more=plan.selected
        )
        for home in {planned.home.hash: planned.home for planned in plan.cases}.values():
            folder.write_environment(home.facts)
        folder.remember()
        interrupted = False
        try:
            runner = Runner(plan, folder, scratch, fresh, tell)
            busy = busy_warning(load_average(), len(usable_cores()))
            for sentence in [*busy, *([] if fresh else reasons(runner.left))]:
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
    """Runs the cases of a plan's shard into `folder`, which the caller must have locked; what exists only meanwhile lies in
    `scratch`. With `fresh`, cases that are done are measured again."""

    def __init__(
        self,
        plan: Plan,
        folder: ResultFolder,
        scratch: Path,
        fresh: bool,
        tell: Callable[[str], None],
    ):
        self.plan, self.folder, self.fresh, self.tell = plan, folder, fresh, tell
        self.measure, self.seed, self.machine = (
            plan.experiment.measure,
            plan.experiment.seed,
            machine_facts(),
        )
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
        self.left = [] if fresh else [self.done.left(planned) for planned in plan.mine]
        work = {planned.id: 0 if planned.status else self.blocks for planned in plan.mine}
        self.tally = Tally(work | {left.planned.id: left.blocks for left in self.left}, self.blocks)

    def run(self) -> Iterator[Finished]:
        """Every case of every block, group by group in seeded order. Interrupting the iteration leaves all finished records in
        place. A case that ended without times in the first block, or left, is in no other."""
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
            for planned in self._left(group)
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

    def _left(self, group: list[PlannedCase]) -> list[PlannedCase]:
        return [planned for planned in group if planned.id not in self.only_once]

    def _blocks_to_decide(self, group: list[PlannedCase]) -> int:
        """How many blocks this group needs, by the spread of the first ones, and may have. Native neurons are not compared."""
        if group[0].case.native:
            return self.measure.blocks
        keys = {(planned.id, self.done.key(planned)) for planned in self._left(group)}
        records = [
            one for one in self.folder.read_records()[0] if (one.case_id, one.done_key) in keys
        ]
        first = [one for one in records if one.block < self.measure.blocks]
        return max(
            self.measure.blocks,
            blocks_to_decide(contrasts_with_the_best(first), self.measure.most_blocks),
        )

    def _block(self, group: list[PlannedCase], block: int) -> Iterator[Finished]:
        """One block of a group. Who has a record keeps it, unless another comes to be timed: ranked times are measured side by
        side."""
        group = shuffled(self._left(group), self.seed, block)
        results = {
            planned.id: None if self.fresh else self.done.result(planned, block)
            for planned in group
        }
        names = {result.live_set for result in results.values() if result and result.live_set}
        kept = {
            id: one for id, one in results.items() if one and not (one.live_set and len(names) > 1)
        }
        missing = [planned for planned in group if planned.id not in kept]
        together = [
            planned for planned in group if planned.id in kept and kept[planned.id].live_set
        ]
        notes = {planned.id: self._set_aside(planned, block) for planned in missing}
        notes |= {
            planned.id: f"{full_name(planned.case)} is measured again, beside who joins it"
            for planned in together
        }
        for record in self._measured(missing, together, block):
            kept.pop(record.case_id, None)
            yield self._finished(record, False, notes.get(record.case_id))
        for record in kept.values():
            yield self._finished(record, True)

    def _set_aside(self, planned: PlannedCase, block: int) -> str | None:
        """Put damaged files of a case out of the way, and say so."""
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
        if record.status in ENDS_WHAT_IS_BIGGER:
            self.failed.append((record.typed_case, record.status))
        return Finished(
            record, resumed, self.tally.ended, self.tally.total, self.tally.to_measure, note
        )

    def _measured(
        self, missing: list[PlannedCase], together: list[PlannedCase], block: int
    ) -> Iterator[Record]:
        """Records of `missing` and, if one of them comes to be timed, of `together`."""
        asked = []
        for planned in missing:
            if planned.status:
                yield self._write(
                    Ended(
                        planned,
                        datetime.now(UTC),
                        {"status": planned.status, "reason": planned.reason},
                    ),
                    block,
                )
            elif reason := dominated(planned.case, self.failed):
                yield self._write(
                    Ended(planned, datetime.now(UTC), {"status": "pruned", "reason": reason}), block
                )
            elif self.running.died_twice(planned.id, block):
                yield self._write(
                    Ended(planned, datetime.now(UTC), {"status": "crash", "reason": DIED_TWICE}),
                    block,
                )
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
                if self.done.result(planned, block) is None:  # else it stays
                    folded = {"status": "interrupted", "reason": "the run was interrupted"}
                    self._write(Ended(planned, datetime.now(UTC), folded), block)
            raise
        finally:
            self._note(block, [])

    def _note(self, block: int, computing: Sequence[PlannedCase]) -> None:
        self.running.now((planned.id for planned in computing), block)

    def _write(self, ended: Ended, block: int) -> Record:
        """The record of a case, now in the folder: what was planned, what its worker reported, and how it ended."""
        planned, outcome, folded = ended.planned, ended.outcome, ended.folded
        threads = self.measure.threads or self.machine["usable_threads"]
        refuse_impossible(folded, outcome.events, planned, self.machine["hash"], threads)
        home, key = planned.home, self.done.key(planned)
        earlier = self.folder.record(planned.id, block, key)
        variables = {
            **home.executor.inherited(),
            **worker_environment(planned.case.device, self.measure.threads),
        }
        parts = (
            part for name, part in folded.get("parts", {}).items() if name != "recheck"
        )  # which was ordered
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
                **{name: fact for name, fact in home.facts.items() if name != "packages"},
                "variables": variables,
            },
            machine=self.machine,
            measure=self.measure.model_dump(),
            monitor={**ended.monitor, "null_s": self.launcher.null_s.get(home.executor)},
            started_at=ended.started.isoformat(timespec="seconds"),
            duration_s=outcome.duration_s,
            overhead_s=outcome.duration_s - spent if outcome.complete else None,
        )
        own = (
            Path(planned.adapter.reference).parent,
            Path(__file__).resolve().parents[2],
            Path(sys.prefix),
            Path.cwd(),
        )
        known, folded = unplaced([known, folded], [self.launcher.scratch.parent, *own])
        try:
            record = understood(RECORD, {**known, **folded})
        except ValueError as error:
            record = understood(
                RECORD, {**known, "status": "error", "reason": f"{SENSELESS}: {error}"}
            )
        self.folder.write_record(record)
        return record
