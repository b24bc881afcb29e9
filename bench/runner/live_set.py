"""Workers of one comparison group that are alive together and timed in slots, pass by pass."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from random import Random, getrandbits
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from ..executors.launch import Launched, Outcome
from ..experiment.measure import Measure
from ..machine.cores import usable_cores
from ..machine.disturbance import Busy, disturbance
from ..machine.energy import EnergyMeter
from ..machine.monitor import Monitor
from ..measure.phases import Draw, draw_of
from ..measure.slots import length
from ..records.leaving import beyond
from ..records.record import Slot
from ..schema import Count, Label, Phase, Seconds, Time
from .energy import energy_of_step
from .judge import Event, Judge, passed
from .planning import PlannedCase
from .witness import LEAST_SHARE, Ending, contradiction, other_endings

LEAST_PASSES = 3
"""Of a case whose slots use up its budget."""


class WarmUp(BaseModel):
    """What a worker tells of a phase that it has warmed up: seconds of a warm call, and from one to the next."""

    model_config = ConfigDict(strict=True)
    device_clock: Label
    warm_up_calls: Count
    seconds: Time
    period: Time

    def length(self, seconds: float) -> float:
        """Seconds after which a slot is over that is to have `seconds` of calls."""
        return length(seconds, self.seconds, self.period)


WARM = TypeAdapter(dict[Phase, WarmUp])
DEVICE = TypeAdapter(dict[Literal["device", "device_warm"], Seconds | None])


@dataclass
class Member:
    """A worker that waits for orders. `judged` are events for the record that do not come from the worker; `warm`: its phases
    that can still be timed; `timing` has by phase what a record keeps; `judged_in`: the pass before whose slot a call of a phase
    is held against the oracle; `endings`: how its slots
    ended."""

    planned: PlannedCase
    started: datetime
    worker: Launched
    material: Path
    judged: list[Event]
    warm: dict[str, WarmUp]
    timing: dict[str, dict[str, Any]]
    judged_in: dict[str, int] = field(default_factory=dict)
    endings: dict[str, list[Ending]] = field(default_factory=dict)
    ordered_s: float = 0.0

    @classmethod
    def ready(
        cls,
        planned: PlannedCase,
        started: datetime,
        worker: Launched,
        material: Path,
        judged: list[Event],
        facts: dict[str, Any],
    ) -> "Member":
        """A worker that has said that it is ready: `facts` are what it told of its warm-up by phase. Raises ValueError if that
        makes no sense."""
        warm = WARM.validate_python(facts)
        timing = {
            name: {**one.model_dump(exclude={"seconds", "period"}), "slots": []}
            for name, one in warm.items()
        }
        return cls(planned, started, worker, material, judged, warm, timing)

    @property
    def has_left(self) -> bool:
        """Whether it was shown to be so slow that it is timed no more."""
        return "beyond" in self.timing.get("step", {})

    def due(self, number: int) -> list[str]:
        """Phases to time in a pass, counted from 0: the step in each, others in every third one."""
        return [name for name in self.warm if name == "step" or number % 3 == 0]

    def order(
        self, phase: str, stop_after: float | None = None, **order: Any
    ) -> dict[str, Any] | None:
        """The answer to an order. A phase that fails is not timed again; a worker that has ended has no phases left."""
        start = time.monotonic()
        answer = self.worker.order({"phase": phase, **order}, stop_after)
        self.ordered_s += time.monotonic() - start
        if answer is None:
            self.warm.clear()
        elif "failed" in answer:
            del self.warm[phase]
        elif not _answers(order, answer):
            self.refuse(phase, "error", "its worker gave an answer that makes no sense")
        else:
            return answer
        return None

    def refuse(self, phase: str, status: str, reason: str) -> None:
        """Time a phase no more, and say why."""
        self.judged.append({"part": phase, "status": status, "reason": reason})
        del self.warm[phase]

    def be_judged(self, phase: str, judge: Judge, draw: Draw) -> None:
        """Have the last call of a phase, which had the values of that draw, held against the oracle."""
        request = self.order(phase, judge=True)
        if request is None:
            return
        events = judge.recheck(self.worker, self.planned.case, self.material, phase, draw, request)
        self.judged += events
        if self.worker.order({"right": passed(events)}) is None:
            self.warm.clear()
        elif not passed(events):
            del self.warm[phase]

    def be_doubted(self, phase: str, slot: dict[str, Any], seconds: float) -> None:
        """Hold the seconds of a slot's calls against the harness's own clock, by calls of about so many `seconds`. A slot of one
        call was seen by that clock already."""
        if slot["calls"] == 1 and slot["wall"] >= LEAST_SHARE * slot["elapsed"]:
            return
        order = partial(self.order, phase, seed=getrandbits(62))
        if phase in self.warm and (
            reason := contradiction(order, min(slot["wall"], self.warm[phase].seconds), seconds)
        ):
            self.refuse(phase, "implausible", reason)

    def be_metered(self, meter: EnergyMeter) -> None:
        """Find out the energy of a step."""
        order, seconds = (
            partial(self.order, "step", seed=getrandbits(62)),
            self.warm["step"].seconds,
        )
        self.timing["step"] |= energy_of_step(meter, order, seconds)

    def be_seen_through(self, phase: str) -> None:
        """Refuse a phase whose calls do something else where one of them may be judged: at the end of a slot."""
        if phase in self.warm and (reason := other_endings(self.endings.get(phase, []))):
            self.refuse(phase, "implausible", reason)


def _answers(order: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Whether `answer` is one to `order`: adapters can write to the pipe too."""
    if "burst" in order:
        return isinstance(answer.get("took"), float)
    if "judge" in order:
        return isinstance(answer.get("recheck"), dict)
    try:
        if "device" in order:
            return DEVICE.validate_python(answer["device"]) is not None
        slot = Slot.model_validate({**answer["slot"], "pass": 0})
        return (
            isinstance(answer["cpu"], float)
            and answer["cpu"] >= 0
            and isinstance(answer["last"], int)
            and answer["last"] >= slot.calls - 1
            and isinstance(answer["last_wall"], float)
            and isinstance(answer["last_busy"], float)
        )
    except (LookupError, TypeError, ValueError):
        return False


class LiveSet:
    """Members on one device, and a canary: a process with a task that is always the same. `canary` has what it took in
    each pass, None where somebody else had its core."""

    def __init__(
        self,
        measure: Measure,
        monitor: Monitor,
        judge: Judge,
        start_canary: Callable[[], Launched],
        tell: Callable[[str], None],
        meter: EnergyMeter | None = None,
    ):
        """Without a `meter` nobody knows the energy of a step. Raises CannotStart."""
        self.meter = meter
        self.measure, self.monitor, self.judge, self.tell = measure, monitor, judge, tell
        self.cores = measure.threads or len(usable_cores())
        self.members: list[Member] = []
        self.passes = 0
        self.canary: list[float | None] = []
        self._canary = start_canary()
        self._canary.answer()

    def time_passes(self, random: Random) -> None:
        """Time the members in passes, whose numbers go on from those before. Every phase is judged once, by the last call of a
        slot that looks like any other and ends earlier: neither pass nor call can a worker foresee."""
        passes = range(self.measure.passes)
        for member in self.members:
            for phase in member.warm:
                member.judged_in[phase] = random.choice(
                    [number for number in passes if phase in member.due(number)]
                )
        for number in passes:
            left = [one for one in self.members if one.warm and not one.has_left]
            if left := [one for one in left if not (number >= LEAST_PASSES and self._spent(one))]:
                self._pass(number, left, random)
                self._let_go(left)
        self.passes += len(passes)
        for member in self.members:
            for phase in list(member.judged_in):
                if phase in member.warm:
                    self._judge(member, phase, random)
                if slots := member.timing[phase]["slots"]:
                    member.be_doubted(phase, slots[-1], self.measure.slot / 2)
            for phase in list(member.warm):
                member.be_seen_through(phase)
            if self.meter and "step" in member.warm:
                member.be_metered(self.meter)

    def _spent(self, member: Member) -> bool:
        return member.ordered_s >= self.measure.budget

    def _pass(self, number: int, members: list[Member], random: Random) -> None:
        self.tell(f"pass {number + 1} of {self.measure.passes}, {len(members)} alive")
        self._sing()
        again: list[tuple[Member, str]] = []
        for member in random.sample(members, len(members)):
            for phase in member.due(number):
                if judged := member.judged_in.get(phase) == number:
                    del member.judged_in[phase]
                    self._judge(member, phase, random)
                if (
                    phase not in member.warm
                    or (slot := self._slot(self.passes + number, member, phase)) is None
                ):
                    continue
                member.timing[phase]["slots"].append(slot)
                if slot["disturbed"]:
                    again.append((member, phase))
                if judged:
                    member.be_doubted(phase, slot, self.measure.slot / 2)
        for member, phase in again:
            slot = self._slot(self.passes + number, member, phase) if phase in member.warm else None
            if slot and not slot["disturbed"]:
                member.timing[phase]["slots"][-1] = slot

    def _let_go(self, members: list[Member]) -> None:
        """Let those leave that the passes so far have shown to be beyond what is of interest."""
        if factor := self.measure.leave_beyond:
            passes: dict[int, dict[int, dict[str, Any]]] = {}
            for at, member in enumerate(members):
                for slot in member.timing["step"]["slots"] if "step" in member.warm else ():
                    if slot["pass"] >= self.passes:
                        passes.setdefault(slot["pass"], {})[at] = slot
            for at in beyond([passes[number] for number in sorted(passes)], factor):
                members[at].timing["step"]["beyond"] = factor

    def _judge(self, member: Member, phase: str, random: Random) -> None:
        """Have a call of a phase judged, any of those that a slot has."""
        seed, most = random.getrandbits(62), member.warm[phase].length(self.measure.slot)
        answer = member.order(phase, random.uniform(0.0, most), seed=seed)
        if answer is not None:
            member.be_judged(phase, self.judge, draw_of(seed, answer["last"], phase))

    def _slot(self, number: int, member: Member, phase: str) -> dict[str, Any] | None:
        busy, start, wall = Busy(), time.monotonic(), time.perf_counter()
        answer = member.order(
            phase, member.warm[phase].length(self.measure.slot), seed=getrandbits(62)
        )
        if answer is None:
            return None
        elapsed = time.monotonic() - start
        foreign, slowed = (
            busy.foreign_cores(answer["cpu"], elapsed),
            self.monitor.slowed_since(wall),
        )
        clock = member.timing[phase]["device_clock"]
        device = (
            (member.order(phase, seed=getrandbits(62), device=True) or {}).get("device", {})
            if clock == "events"
            else {}
        )
        spoilt = disturbance(
            answer["slot"], clock, self.cores, answer["cpu"], elapsed, foreign, slowed
        )
        if (
            not spoilt or self.cores == 1
        ):  # the harness itself may take a core from the call whose slot it ends
            last = answer["last_busy" if spoilt else "last_wall"]
            ending = Ending(last, answer["slot"]["wall"], answer["slot"]["high"], bool(spoilt))
            member.endings.setdefault(phase, []).append(ending)
        return {
            **answer["slot"],
            **device,
            "pass": number,
            "elapsed": round(elapsed, 6),
            "disturbed": spoilt,
        }

    def _sing(self) -> None:
        answer = self._canary.order({})
        steady = answer is not None and answer["wall"] <= 1.05 * answer["cpu"]
        self.canary.append(round(answer["wall"], 6) if answer is not None and steady else None)

    def all_but_the_fastest(self) -> list[Member]:
        """Members but the one of the shortest step, which stays: all others are held against it."""
        fastest = min(
            self.members,
            key=lambda member: (
                member.warm["step"].seconds if "step" in member.warm else float("inf")
            ),
        )
        return [member for member in self.members if member is not fastest]

    def end(self, member: Member) -> Outcome:
        """End a member after its last order; how it ended."""
        self.members.remove(member)
        try:
            member.worker.order({"end": True})
        finally:
            outcome = member.worker.end()
        return outcome

    def close(self) -> float | None:
        """End everybody who is alive; the CPU seconds that the canary used, None if nobody knows."""
        for member in self.members:
            member.worker.end()
        try:
            self._canary.order({"end": True})
        finally:
            outcome = self._canary.end()
        return outcome.cpu_seconds
