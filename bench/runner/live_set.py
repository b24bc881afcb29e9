"""Workers of one comparison group that run side by side and are timed in slots, pass by pass."""

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
from ..machine.energy import EnergyMeter, energy_of_step
from ..machine.monitor import Busy, Monitor, disturbance
from ..measure.phases import Draw, draw_of
from ..measure.slots import length
from ..records.leaving import beyond
from ..records.record import Slot
from ..schema import Count, Label, Phase, Seconds, Time
from .cross_check import LEAST_SHARE, SlotEnding, contradiction, other_endings
from .judge import Event, Judge, passed
from .planning import PlannedCase

LEAST_PASSES = 3
"""Passes of a case if its slots use up its budget."""


class WarmUp(BaseModel):
    """A worker's report on a warmed-up phase: `seconds` of a call, `period` from call to call."""

    model_config = ConfigDict(strict=True)
    device_clock: Label
    warm_up_calls: Count
    seconds: Time
    period: Time

    def length(self, seconds: float) -> float:
        """Seconds until the end of a slot that shall hold `seconds` of calls."""
        return length(seconds, self.seconds, self.period)


WARM = TypeAdapter(dict[Phase, WarmUp])
DEVICE = TypeAdapter(dict[Literal["device", "device_warm"], Seconds | None])


@dataclass
class Member:
    """A worker that waits for orders.

    `judged`: events for the record that do not come from the worker. `warm`: phases that can still
    be timed. `timing`: the timing of each phase as the record stores it. `judged_in`: the pass
    in which a call of a phase is compared with the oracle, before its slot. `endings`: the ends of
    its slots by phase.
    """

    planned: PlannedCase
    started: datetime
    worker: Launched
    material: Path
    judged: list[Event]
    warm: dict[str, WarmUp]
    timing: dict[str, dict[str, Any]]
    judged_in: dict[str, int] = field(default_factory=dict)
    endings: dict[str, list[SlotEnding]] = field(default_factory=dict)
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
        """Returns the member of a worker that is ready; `facts` is its warm-up report by phase.

        Raises ValueError for an invalid report.
        """
        warm = WARM.validate_python(facts)
        timing = {
            name: {**phase.model_dump(exclude={"seconds", "period"}), "slots": []}
            for name, phase in warm.items()
        }
        return cls(planned, started, worker, material, judged, warm, timing)

    @property
    def is_stopped_early(self) -> bool:
        """True once the case was shown to be too slow to be timed any longer."""
        return "beyond" in self.timing.get("step", {})

    def due(self, number: int) -> list[str]:
        """Phases timed in pass `number`: the step in each, others in every third from 0 on."""
        return [name for name in self.warm if name == "step" or number % 3 == 0]

    def order(
        self, phase: str, stop_after: float | None = None, **order: Any
    ) -> dict[str, Any] | None:
        """Returns the answer to an order; None if the worker ended or the phase failed.

        A failed phase is not timed again; a worker that has ended has no warm phases any more.
        """
        start = time.monotonic()
        answer = self.worker.order({"phase": phase, **order}, stop_after)
        self.ordered_s += time.monotonic() - start
        if answer is None:
            self.warm.clear()
        elif "failed" in answer:
            del self.warm[phase]
        elif not _is_answer(order, answer):
            self.refuse(phase, "error", "its worker sent an invalid answer")
        else:
            return answer
        return None

    def refuse(self, phase: str, status: str, reason: str) -> None:
        """Ends the timing of a phase with the reason."""
        self.judged.append({"part": phase, "status": status, "reason": reason})
        del self.warm[phase]

    def compare_with_oracle(self, phase: str, judge: Judge, draw: Draw) -> None:
        """Compares the last call of a phase, with the input values of `draw`, with the oracle."""
        request = self.order(phase, judge=True)
        if request is None:
            return
        events = judge.recheck(self.worker, self.planned.case, self.material, phase, draw, request)
        self.judged += events
        if self.worker.order({"right": passed(events)}) is None:
            self.warm.clear()
        elif not passed(events):
            del self.warm[phase]

    def cross_check_clock(self, phase: str, slot: dict[str, Any], seconds: float) -> None:
        """Compares a slot's times with the harness's clock by a burst of calls of about `seconds`.

        A slot of one call needs no burst: the harness's clock measured it already.
        """
        if slot["calls"] == 1 and slot["wall"] >= LEAST_SHARE * slot["elapsed"]:
            return
        order = partial(self.order, phase, seed=getrandbits(62))
        if phase in self.warm and (
            reason := contradiction(order, min(slot["wall"], self.warm[phase].seconds), seconds)
        ):
            self.refuse(phase, "implausible", reason)

    def measure_energy(self, meter: EnergyMeter) -> None:
        order, seconds = (
            partial(self.order, "step", seed=getrandbits(62)),
            self.warm["step"].seconds,
        )
        self.timing["step"] |= energy_of_step(meter, order, seconds)

    def reject_distinguishable_calls(self, phase: str) -> None:
        """Rejects a phase if its calls differ at the end of a slot, where one is judged."""
        if phase in self.warm and (reason := other_endings(self.endings.get(phase, []))):
            self.refuse(phase, "implausible", reason)


def _is_answer(order: dict[str, Any], answer: dict[str, Any]) -> bool:
    """True for a valid answer to `order`: an adapter can write to the pipe too."""
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
    """Members on one device, and a canary: a process that always runs the same task.

    `canary` has its seconds in each pass, None where another program used its core.
    """

    def __init__(
        self,
        measure: Measure,
        monitor: Monitor,
        judge: Judge,
        start_canary: Callable[[], Launched],
        tell: Callable[[str], None],
        meter: EnergyMeter | None = None,
    ):
        """Without a `meter` the energy of a step is unknown. Raises CannotStart."""
        self.meter = meter
        self.measure, self.monitor, self.judge, self.tell = measure, monitor, judge, tell
        self.cores = measure.threads or len(usable_cores())
        self.members: list[Member] = []
        self.passes = 0
        self.canary: list[float | None] = []
        self._canary = start_canary()
        self._canary.answer()

    def time_passes(self, random: Random) -> None:
        """Times the members in passes; pass numbers continue from earlier calls.

        Every phase is judged once, by the last call of a slot that looks like any other and ends
        earlier. A worker can predict neither the pass nor the call.
        """
        passes = range(self.measure.passes)
        for member in self.members:
            for phase in member.warm:
                member.judged_in[phase] = random.choice(
                    [number for number in passes if phase in member.due(number)]
                )
        for number in passes:
            timed = [
                member
                for member in self.members
                if member.warm and not member.is_stopped_early
                if number < LEAST_PASSES or member.ordered_s < self.measure.budget
            ]
            if timed:
                self._pass(number, timed, random)
                self._stop_slow(timed)
        self.passes += len(passes)
        for member in self.members:
            for phase in list(member.judged_in):
                if phase in member.warm:
                    self._judge(member, phase, random)
                if slots := member.timing[phase]["slots"]:
                    member.cross_check_clock(phase, slots[-1], self.measure.slot / 2)
            for phase in list(member.warm):
                member.reject_distinguishable_calls(phase)
            if self.meter and "step" in member.warm:
                member.measure_energy(self.meter)

    def _pass(self, number: int, members: list[Member], random: Random) -> None:
        self.tell(f"pass {number + 1} of {self.measure.passes}, {len(members)} alive")
        self._run_canary()
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
                    member.cross_check_clock(phase, slot, self.measure.slot / 2)
        for member, phase in again:
            slot = self._slot(self.passes + number, member, phase) if phase in member.warm else None
            if slot and not slot["disturbed"]:
                member.timing[phase]["slots"][-1] = slot

    def _stop_slow(self, members: list[Member]) -> None:
        """Stops timing members that the passes so far show to be slower than `leave_beyond` times
        the fastest."""
        if factor := self.measure.leave_beyond:
            passes: dict[int, dict[int, dict[str, Any]]] = {}
            for index, member in enumerate(members):
                for slot in member.timing["step"]["slots"] if "step" in member.warm else ():
                    if slot["pass"] >= self.passes:
                        passes.setdefault(slot["pass"], {})[index] = slot
            for index in beyond([passes[number] for number in sorted(passes)], factor):
                members[index].timing["step"]["beyond"] = factor

    def _judge(self, member: Member, phase: str, random: Random) -> None:
        """Judges a random call of a slot."""
        seed, most = random.getrandbits(62), member.warm[phase].length(self.measure.slot)
        answer = member.order(phase, random.uniform(0.0, most), seed=seed)
        if answer is not None:
            member.compare_with_oracle(phase, self.judge, draw_of(seed, answer["last"], phase))

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
        disturbed = disturbance(
            answer["slot"], clock, self.cores, answer["cpu"], elapsed, foreign, slowed
        )
        if (
            not disturbed or self.cores == 1
        ):  # the thread that ends the slot may use the core of its last call
            last = answer["last_busy" if disturbed else "last_wall"]
            ending = SlotEnding(
                last, answer["slot"]["wall"], answer["slot"]["high"], bool(disturbed)
            )
            member.endings.setdefault(phase, []).append(ending)
        return {
            **answer["slot"],
            **device,
            "pass": number,
            "elapsed": round(elapsed, 6),
            "disturbed": disturbed,
        }

    def _run_canary(self) -> None:
        answer = self._canary.order({})
        steady = answer is not None and answer["wall"] <= 1.05 * answer["cpu"]
        self.canary.append(round(answer["wall"], 6) if answer is not None and steady else None)

    def all_but_the_fastest(self) -> list[Member]:
        """All members but the one with the shortest step, with which all others are compared."""
        fastest = min(
            self.members,
            key=lambda member: (
                member.warm["step"].seconds if "step" in member.warm else float("inf")
            ),
        )
        return [member for member in self.members if member is not fastest]

    def end(self, member: Member) -> Outcome:
        """Ends a member after its last order and returns its outcome."""
        self.members.remove(member)
        try:
            member.worker.order({"end": True})
        finally:
            outcome = member.worker.end()
        return outcome

    def close(self) -> float | None:
        """Ends all workers; returns the CPU seconds of the canary, None if unknown."""
        for member in self.members:
            member.worker.end()
        try:
            self._canary.order({"end": True})
        finally:
            outcome = self._canary.end()
        return outcome.cpu_seconds
