"""One block of a comparison group: fresh workers start one by one, are timed together, and end."""

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from ..core.case import full_name
from ..executors.events import senseless
from ..executors.executor import CannotStart
from ..executors.launch import Launched, Outcome, not_started
from ..machine.energy import meter_of
from ..machine.memory import Room
from ..machine.monitor import Monitor, load_average, reader_of
from .budget import Budget, compiles
from .judge import Judge, passed
from .launcher import Launcher
from .live_set import LiveSet, Member, OnProgress
from .outcome import verdict
from .planning import PlannedCase

RAN_OUT = ("oom_gpu", "oom_host")


@dataclass
class EndedCase:
    """The end of a case in a block: the record fields that its worker reported (`folded`) and what
    the run adds. `ordered_s`: seconds in which the worker carried out orders."""

    planned: PlannedCase
    started: datetime
    folded: dict[str, Any]
    outcome: Outcome = field(default_factory=Outcome)
    monitor: dict[str, Any] = field(default_factory=dict)
    live_set: str | None = None
    ordered_s: float = 0.0


class Block:
    """Block `number` of one group on one device.

    `random` draws the order in which members are timed. `on_progress` receives a text on what
    happens, while no worker computes; `note` receives the cases that compute from then on. Cases
    with ids in `apart` are measured alone. Cases for which `budget` has no time left are not
    measured; `further` says that another block is planned.
    """

    def __init__(
        self,
        launcher: Launcher,
        number: int,
        device: str,
        random: Random,
        on_progress: OnProgress,
        note: Callable[[Sequence[PlannedCase]], None] = lambda cases: None,
        apart: Collection[str] = (),
        budget: Budget | None = None,
        further: bool = False,
    ):
        self.launcher, self.number, self.device = launcher, number, device
        self.random, self.on_progress = random, on_progress
        self.note, self.apart = note, apart
        self.budget, self.further = budget or Budget(), further
        self.left_out: list[PlannedCase] = []
        """Cases that the budget had no time for."""
        self.unfinished: list[PlannedCase] = []
        """Started cases without a record."""
        self.so_far: dict[str, str] = {}
        """What an interrupted block has measured, in words by case id."""
        self._ahead: dict[str, tuple[Launched, float]] = {}
        """Workers that start before their turn, by case id, with the moment on the budget's
        clock."""
        self.spent: list[float | None] = []
        """CPU seconds of every started process, None where unknown."""

    def measure(
        self, missing: list[PlannedCase], together: list[PlannedCase]
    ) -> Iterator[EndedCase]:
        """Measures `missing` and, if one of them is timed, `together` with them.

        Workers that do not fit into memory at once are timed in several sets, each with the fastest
        of the first. A case that runs out of memory next to others is retried alone.
        """
        ran_out = [planned for planned in missing if planned.id in self.apart]
        missing = [planned for planned in missing if planned.id not in self.apart]
        if missing:
            yield from self._side_by_side(missing, together, ran_out)
        for planned in ran_out:
            yield from self._side_by_side([planned], [], None)

    def _side_by_side(
        self,
        missing: list[PlannedCase],
        together: list[PlannedCase],
        ran_out: list[PlannedCase] | None,
    ) -> Iterator[EndedCase]:
        """Adds cases that run out of memory next to others to `ran_out`, None for a single case."""
        waiting, ended, self.spent = list(missing), list[EndedCase](), []
        live, room = None, Room(self.device)
        judge = Judge(self.launcher.judge, self.launcher.restore)
        with Monitor(reader_of(self.device)) as monitor:
            self.budget.begin_block(self.number)
            try:
                while waiting:
                    slots: list[float] = live.slot_seconds if live else []
                    if not self.budget.holds_one_more(slots, self.further, self._begun(waiting[0])):
                        self.left_out += waiting
                        break
                    planned = waiting.pop(0)
                    started = self._start(planned, judge, slots, waiting)
                    if started is None:
                        self.left_out.append(planned)
                        waiting.sort(key=lambda other: compiles(other.case))
                    elif isinstance(started, Member):
                        if live is None:
                            live = self._live_set(monitor, judge)
                            waiting += together  # cases with times are timed again next to new ones
                        live.members.append(started)
                        room.note()
                        if waiting and not room.for_one_more:
                            self._time(live)
                            ended += [self._end(live, each) for each in live.all_but_the_fastest()]
                    elif (
                        live
                        and live.members
                        and ran_out is not None
                        and started.folded["status"] in RAN_OUT
                    ):
                        ran_out.append(planned)
                    else:
                        started.monitor = {"load_average": load_average()}
                        yield self._finish(started)
                if live:
                    self._time(live)
                    ended += [self._end(live, member) for member in list(live.members)]
            except KeyboardInterrupt:
                self.so_far = live.so_far() if live else {}
                raise
            finally:
                self._end_ahead()
                try:
                    self.spent.append(live.close() if live else 0.0)
                finally:
                    self.spent.append(judge.close())
            monitor.note_workers(None if None in self.spent else sum(filter(None, self.spent)))
        name = None if ran_out is None else secrets.token_hex(6)
        for case in ended:
            case.live_set = name
            case.monitor = {**monitor.facts, "canary": live.canary_seconds if live else {}}
            yield self._finish(case)

    def _live_set(self, monitor: Monitor, judge: Judge) -> LiveSet:
        measure = self.launcher.measure
        if self.number:  # a case that stayed in the first block is in all
            measure = measure.model_copy(update={"leave_beyond": None})
        return LiveSet(
            measure,
            monitor,
            judge,
            self.launcher.canary,
            self.on_progress,
            meter_of(self.device),
            partial(self.budget.holds_pass, further=self.further),
        )

    def _time(self, live: LiveSet) -> None:
        self._end_ahead()
        self.note([member.planned for member in live.members])
        live.time_passes(self.random)

    def _finish(self, ended: EndedCase) -> EndedCase:
        self.unfinished.remove(ended.planned)
        return ended

    def _start(
        self,
        planned: PlannedCase,
        judge: Judge,
        slots: list[float],
        waiting: Sequence[PlannedCase],
    ) -> "Member | EndedCase | None":
        """Starts and proves a case next to workers with `slots`, while others are `waiting`;
        returns a member that waits for orders, or the case's end; None if it took longer than the
        budget allows."""
        action = "starting" if self.number else "proving"
        self.on_progress(f"block {self.number + 1}: {action} {full_name(planned.case)}")
        ahead = waiting[: self.budget.at_once - 1] if self.device == "cpu" else []
        self.note([planned, *ahead])
        limit, began = self.budget.left, self.budget.clock()
        started = datetime.now(UTC)
        if planned not in self.unfinished:
            self.unfinished.append(planned)
        material, outcome = self.launcher.material(planned, limit)
        self.spent.append(outcome.cpu_seconds if outcome.duration_s else 0.0)
        if failure := self.launcher.failure(planned, material):
            if self._is_late(began, limit, planned):
                return None
            return EndedCase(planned, started, failure, outcome)
        limit = self.budget.longest_start(slots, self.further, len(waiting))
        began = self.budget.clock()
        try:
            worker = self._worker(planned, material, limit)
        except CannotStart as error:
            outcome = not_started(error)
            return EndedCase(planned, started, verdict(outcome, self.device), outcome)
        events: list[dict[str, Any]] = []
        until = worker.duration_s + limit
        try:
            self._start_ahead(ahead)
            answer = worker.answer()
            if answer and "prove" in answer:
                events = judge.prove(worker, planned.case, material, answer, until)
                answer = worker.order({"right": passed(events)})
            if answer and "ready" in answer:
                ranked = self.launcher.measure.ranked(planned.case.workload)
                facts = planned, started, worker, material, events, ranked, answer["ready"]
                with suppress(ValueError):
                    member = Member.ready(*facts)
                    self.budget.note_start(self.budget.clock() - began)
                    self._end_limit(worker)
                    return member
                events.append(senseless("how it warmed up"))
        except BaseException:
            worker.end()
            raise
        outcome = worker.end()
        self.spent.append(outcome.cpu_seconds)
        if self._is_late(began, limit, planned):
            return None
        return EndedCase(planned, started, self._verdict(outcome, events), outcome)

    def _worker(self, planned: PlannedCase, material: Path, limit: float) -> Launched:
        """Returns the worker of a case, which may start for `limit` seconds from now on. Raises
        CannotStart."""
        begun = self._begun(planned)
        worker, _ = self._ahead.pop(planned.id, (None, 0.0))
        if worker is None:
            return self.launcher.start(planned, self.number, material, limit)
        worker.spend(begun)
        worker.timeout = worker.seconds_left = min(self.launcher.measure.timeout, limit)
        return worker

    def _end_limit(self, worker: Launched) -> None:
        """Gives a worker that has started the rest of its timeout: passes have limits of their
        own."""
        timeout = self.launcher.measure.timeout
        worker.seconds_left += timeout - worker.timeout
        worker.timeout = timeout

    def _begun(self, planned: PlannedCase) -> float:
        """Returns for how many seconds the worker of a case has been starting before its turn."""
        now = self.budget.clock()
        return now - self._ahead.get(planned.id, (None, now))[1]

    def _start_ahead(self, waiting: Sequence[PlannedCase]) -> None:
        """Starts the workers of cases before their turn, but for the proof."""
        for planned in waiting:
            material, outcome = self.launcher.material(planned, self.budget.left)
            self.spent.append(outcome.cpu_seconds if outcome.duration_s else 0.0)
            if planned.id in self._ahead or self.launcher.failure(planned, material):
                continue
            with suppress(CannotStart):  # its turn says so
                worker = self.launcher.start(planned, self.number, material)
                self._ahead[planned.id] = worker, self.budget.clock()

    def _end_ahead(self) -> None:
        """Ends the workers that start before their turn; none computes beside timed ones."""
        while self._ahead:
            worker, _ = self._ahead.popitem()[1]
            self.spent.append(worker.end().cpu_seconds)

    def _is_late(self, began: float, limit: float, planned: PlannedCase) -> bool:
        """Returns whether the start of a case took longer than its budget, which leaves it out."""
        is_late = self.budget.clock() - began > limit
        if is_late:
            self.unfinished.remove(planned)
        return is_late

    def _verdict(self, outcome: Outcome, judged: list[dict[str, Any]]) -> dict[str, Any]:
        return verdict(outcome, self.device, judged, proof_due=self.number == 0)

    def _end(self, live: LiveSet, member: Member) -> EndedCase:
        outcome = live.end(member)
        self.spent.append(outcome.cpu_seconds)
        folded = self._verdict(outcome, member.events)
        for phase, timing in member.timing.items():
            if timing["slots"]:
                folded["parts"].setdefault(phase, {})["timing"] = timing
        return EndedCase(
            member.planned, member.started, folded, outcome, ordered_s=member.ordered_s
        )
