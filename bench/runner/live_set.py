"""A live set: workers of one comparison group that are alive together and timed in turns."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from random import Random, getrandbits
from statistics import median
from typing import Any, Literal, Protocol

from pydantic import BaseModel, TypeAdapter

from snnbench.adapters.registry import OURS

from ..common import units
from ..executors.launch import Launched, Outcome
from ..experiment.measure import Measure
from ..machine.cores import usable_cores
from ..machine.energy import EnergyMeter, energy_of_call
from ..machine.monitor import Busy, Monitor, disturbance
from ..measure.phases import Draw, draw_of
from ..measure.slots import length
from ..records.leaving import beyond
from ..records.record import Slot
from ..schema import Count, Label, Phase, Seconds, Time
from .budget import LEAST_PASSES
from .cross_check import (
    LEAST_SHARE,
    Late,
    SlotEnding,
    Use,
    computed_late,
    contradiction,
    more_than_given,
    other_endings,
    ran_outside,
)
from .judge import Event, Judge, passed
from .planning import PlannedCase

JUDGED_CALLS, CHEAP_S = 3, 0.5
"""Calls of a phase that are compared with the oracle in a block: one that is wrong now and then is
not wrong in each. Only one, if comparing it takes more than so many seconds."""


class OnProgress(Protocol):
    """Receives a text on what happens now, and how many cases of the block passes have timed, with
    fractions."""

    def __call__(self, what: str, timed: float = 0.0, /) -> None: ...


class WarmUp(BaseModel, strict=True):
    """A worker's report on a warmed-up phase.

    `seconds`: duration of a call; `period`: from the start of one call to the start of the next.
    """

    device_clock: Label
    warm_up_calls: Count
    seconds: Time
    period: Time

    def length(self, seconds: float) -> float:
        """Returns the length of a slot with `seconds` of timed calls, including its dropped first
        calls."""
        return length(seconds, self.seconds, self.period)


WARM = TypeAdapter(dict[Phase, WarmUp])
DEVICE = TypeAdapter(dict[Literal["device", "device_warm"], Seconds | None])


@dataclass
class Member:
    """A worker that waits for orders.

    `events`: for the record, from the judge and the harness. `ranked`: the phase that ranks the
    case. `live_phases`: phases that can still be timed. `timing`: the timing of each phase as the
    record stores it. `judging_passes`: by phase, the passes in which one call is compared with the
    oracle, before the timed slot. `unjudged`: phases of which no call was compared yet.
    `endings`: by phase, the last call of each slot. `uses`, `late`: by phase, the CPU time of each
    slot, and that after it. `before`: phase and seconds of computing of the last timed call.
    """

    planned: PlannedCase
    started: datetime
    worker: Launched
    material: Path
    events: list[Event]
    ranked: str
    live_phases: dict[str, WarmUp]
    timing: dict[str, dict[str, Any]]
    judging_passes: dict[str, set[int]] = field(default_factory=dict)
    unjudged: set[str] = field(default_factory=set)
    endings: dict[str, list[SlotEnding]] = field(default_factory=dict)
    uses: dict[str, list[Use]] = field(default_factory=dict)
    late: dict[str, list[Late]] = field(default_factory=dict)
    before: tuple[str, float] | None = None
    ordered_s: float = 0.0

    @classmethod
    def ready(
        cls,
        planned: PlannedCase,
        started: datetime,
        worker: Launched,
        material: Path,
        events: list[Event],
        ranked: str,
        facts: dict[str, Any],
    ) -> "Member":
        """Returns the member of a worker that is ready; `facts` is its warm-up report by phase.

        Raises ValueError for an invalid report, and for a device's clock where the case has no such
        device: disturbed slots are known by the CPU time alone.
        """
        warm, case = WARM.validate_python(facts), planned.case
        known = {"process": True, "events": case.device_type == "cuda", "ranks": bool(case.ranks)}
        if not all(known.get(phase.device_clock) for phase in warm.values()):
            raise ValueError("a clock that the case does not have")
        timing = {
            name: {**phase.model_dump(exclude={"seconds", "period"}), "slots": []}
            for name, phase in warm.items()
        }
        return cls(planned, started, worker, material, events, ranked, warm, timing)

    @property
    def is_stopped_early(self) -> bool:
        """True once the case was shown to be too slow for further slots."""
        return "beyond" in self.timing.get(self.ranked, {})

    def phases_in_pass(self, number: int) -> list[str]:
        """Returns the phases timed in pass `number`: the ranked one in each, others in every
        third."""
        return [name for name in self.live_phases if name == self.ranked or number % 3 == 0]

    def order(
        self, phase: str, stop_after: float | None = None, judged: bool = False, **order: Any
    ) -> dict[str, Any] | None:
        """Returns the answer to an order. `judged`: its last call will be compared with the oracle.

        If the phase failed or the worker ended, removes the phase, or all phases, from
        `live_phases` and returns None.
        """
        start = time.monotonic()
        answer = self.worker.order({"phase": phase, **order}, stop_after, judged)
        self.ordered_s += time.monotonic() - start
        if answer is None:
            self.live_phases.clear()
        elif "failed" in answer:
            del self.live_phases[phase]
        elif not _is_valid_answer(order, answer, self.timing[phase]["device_clock"]):
            self.fail_phase(phase, "error", "its worker sent an invalid answer")
        else:
            return answer
        return None

    def fail_phase(self, phase: str, status: str, reason: str) -> None:
        """Ends the timing of a phase with the reason."""
        self.events.append({"part": phase, "status": status, "reason": reason})
        del self.live_phases[phase]

    def compare_with_oracle(self, phase: str, judge: Judge, draw: Draw) -> None:
        """Compares the last call of a phase with the oracle.

        `draw` says which input, parameters and upstream the call had.
        """
        request, start = self.order(phase, judge=True), time.monotonic()
        if request is None:
            return
        events = judge.recheck(self.worker, self.planned.case, self.material, phase, draw, request)
        self.events += events
        if self.worker.order({"right": passed(events)}) is None:
            self.live_phases.clear()
        elif not passed(events):
            del self.live_phases[phase]
        if time.monotonic() - start > CHEAP_S:
            self.judging_passes[phase].clear()

    def cross_check_clock(self, phase: str, slot: dict[str, Any], seconds: float) -> None:
        """Runs a burst of about `seconds` and compares the harness's clock with the times that the
        worker reported for a slot.

        No burst is needed if the slot was one call and its time agrees with the harness's clock.
        """
        if slot["calls"] == 1 and slot["wall"] >= LEAST_SHARE * slot["elapsed"]:
            return
        order = partial(self.order, phase, seed=getrandbits(62))
        if phase in self.live_phases and (
            reason := contradiction(
                order, min(slot["wall"], self.live_phases[phase].seconds), seconds
            )
        ):
            self.fail_phase(phase, "implausible", reason)

    def measure_energy(self, meter: EnergyMeter) -> None:
        """Adds the energy of a call of the ranked phase to its timing."""
        order = partial(self.order, self.ranked, seed=getrandbits(62))
        seconds = self.live_phases[self.ranked].seconds
        self.timing[self.ranked] |= energy_of_call(meter, order, seconds)

    def reject_implausible(self, phase: str, cores: int) -> None:
        """Rejects a phase if it used more than its cores, if it computes on after its calls, or if
        the last calls of slots, one of which is judged, take longer than the others."""
        if phase in self.live_phases and (
            reason := more_than_given(self.uses.get(phase, []), cores)
            or computed_late(self.late.get(phase, []), cores)
            or other_endings(self.endings.get(phase, []))
        ):
            self.fail_phase(phase, "implausible", reason)


def _is_valid_answer(order: dict[str, Any], answer: dict[str, Any], device_clock: str) -> bool:
    """Returns whether `answer` is valid: an adapter could write to the worker's pipe."""
    if "burst" in order:
        return isinstance(answer.get("took"), float)
    if "judge" in order:
        return isinstance(answer.get("recheck"), dict)
    try:
        if "device" in order:
            return DEVICE.validate_python(answer["device"]) is not None
        slot = Slot.model_validate({**answer["slot"], "pass": 0})
        return (
            (slot.device is not None or device_clock != "process")
            and isinstance(answer["cpu"], float)
            and answer["cpu"] >= 0
            and isinstance(answer["late"], float | None)
            and {*map(type, answer["outside"])} <= {int}
            and isinstance(answer["last"], int)
            and answer["last"] >= slot.calls - 1
            and isinstance(answer["last_wall"], float)
            and isinstance(answer["last_busy"], float)
        )
    except (LookupError, TypeError, ValueError):
        return False


class LiveSet:
    """The members on one device and a canary process, which always runs the same task.

    `canary_seconds`: seconds of the canary in each pass; None if another program used its core.
    """

    def __init__(
        self,
        measure: Measure,
        monitor: Monitor,
        judge: Judge,
        start_canary: Callable[[], Launched],
        on_progress: OnProgress,
        meter: EnergyMeter | None = None,
        holds_pass: Callable[[int, list[float]], bool] = lambda number, slots: True,
    ):
        """Without a `meter` the energy of a call is unknown. `holds_pass` says whether there is
        time for a pass, by its number and the seconds of its slots. Raises CannotStart."""
        self.measure, self.monitor, self.judge, self.meter = measure, monitor, judge, meter
        self.on_progress, self.holds_pass = on_progress, holds_pass
        self.cores = measure.threads or len(usable_cores())
        self.members: list[Member] = []
        self.passes = 0
        self.canary_seconds: list[float | None] = []
        self._canary_process = start_canary()
        self._canary_process.answer()

    @property
    def slot_seconds(self) -> list[float]:
        """Seconds of the slots of each member in a pass."""
        return [self._seconds_of(member) for member in self.members]

    def _seconds_of(self, member: Member) -> float:
        return sum(warm.length(self.measure.slot) for warm in member.live_phases.values())

    def so_far(self) -> dict[str, str]:
        """Returns by case id, in words, what is measured of the members."""
        texts = {}
        for member in self.members:
            slots = member.timing.get(member.ranked, {}).get("slots", [])
            walls = [slot["wall"] for slot in slots if not slot["disturbed"]]
            walls = walls or [slot["wall"] for slot in slots]
            timed = f", {member.ranked} {units.seconds(median(walls))}" if walls else ""
            passes = f" after {len(slots)} of {self.measure.passes} passes" if walls else ""
            texts[member.planned.id] = f"proved{timed}{passes}"
        return texts

    def time_passes(self, random: Random) -> None:
        """Times the members in passes; pass numbers continue from earlier calls.

        Some calls of every phase are judged: the last of further slots, which end at random
        moments. A worker can predict neither the pass nor the call, and cannot tell these slots
        from the others.
        """
        passes = range(self.measure.passes)
        for member in self.members:
            member.unjudged = {*member.live_phases}
            for phase in member.live_phases:
                timed_in = [number for number in passes if phase in member.phases_in_pass(number)]
                judged = random.sample(timed_in, min(JUDGED_CALLS, len(timed_in)))
                member.judging_passes[phase] = {*judged}
        for number in passes:
            timed = [
                member
                for member in self.members
                if member.live_phases and not member.is_stopped_early
                if number < LEAST_PASSES or member.ordered_s < self.measure.budget
            ]
            if not self.holds_pass(number, [self._seconds_of(member) for member in timed]):
                break
            if timed:
                self._pass(number, timed, random)
                self._stop_slow(timed)
        self.passes += len(passes)
        for member in self.members:
            for phase in sorted(member.unjudged):
                self._judge(member, phase, random)
                if slots := member.timing[phase]["slots"]:
                    member.cross_check_clock(phase, slots[-1], self.measure.slot / 2)
            for phase in list(member.live_phases):
                member.reject_implausible(phase, self.cores)
            if self.meter and member.ranked in member.live_phases:
                member.measure_energy(self.meter)

    def _pass(self, number: int, members: list[Member], random: Random) -> None:
        """Times a slot of each phase of the members; repeats disturbed slots once."""
        cases = units.counted(len(members), "case")
        timed = len(members) * number / self.measure.passes
        self.on_progress(f"pass {number + 1} of {self.measure.passes}, {cases}", timed)
        self._run_canary()
        disturbed_slots: list[tuple[Member, str]] = []
        for member in random.sample(members, len(members)):
            for phase in member.phases_in_pass(number):
                is_first = phase in member.unjudged
                if is_judged := number in member.judging_passes[phase]:
                    self._judge(member, phase, random)
                slot = self._slot(self.passes + number, member, phase)
                if slot is None:
                    continue
                member.timing[phase]["slots"].append(slot)
                if slot["disturbed"]:
                    disturbed_slots.append((member, phase))
                if is_judged and is_first:
                    member.cross_check_clock(phase, slot, self.measure.slot / 2)
        for member, phase in disturbed_slots:
            slot = self._slot(self.passes + number, member, phase)
            if slot and not slot["disturbed"]:
                member.timing[phase]["slots"][-1] = slot

    def _stop_slow(self, members: list[Member]) -> None:
        """Stops timing members that the passes so far show to be slower than `leave_beyond` times
        the fastest, and than that factor times the fastest third-party one unless they are ours:
        of others it shall be known how far they are from each other."""
        if not (factor := self.measure.leave_beyond):
            return
        passes: dict[int, dict[int, dict[str, Any]]] = {}
        for index, member in enumerate(members):
            phase = member.ranked
            for slot in member.timing[phase]["slots"] if phase in member.live_phases else ():
                if slot["pass"] >= self.passes:
                    passes.setdefault(slot["pass"], {})[index] = slot
        in_order = [passes[number] for number in sorted(passes)]
        clocks = {member.timing.get(member.ranked, {}).get("device_clock") for member in members}
        cores = self.cores if clocks == {"process"} else None
        ours = {at for at, member in enumerate(members) if member.planned.case.framework in OURS}
        others = [
            {index: slot for index, slot in slots.items() if index not in ours}
            for slots in in_order
        ]
        behind_others = beyond(others, factor, cores)
        for index in beyond(in_order, factor, cores):
            if index in ours or index in behind_others:
                members[index].timing[members[index].ranked]["beyond"] = factor

    def _judge(self, member: Member, phase: str, random: Random) -> None:
        """Runs a further slot that ends at a random moment, and has its last call compared with
        the oracle. The slot is not recorded. Does nothing if the phase has failed."""
        member.unjudged.discard(phase)
        if phase not in member.live_phases:
            return
        seed, longest = random.getrandbits(62), member.live_phases[phase].length(self.measure.slot)
        answer = member.order(phase, random.uniform(0.0, longest), judged=True, seed=seed)
        if answer is not None:
            member.compare_with_oracle(phase, self.judge, draw_of(seed, answer["last"], phase))

    def _slot(self, number: int, member: Member, phase: str) -> dict[str, Any] | None:
        """Times a slot and returns it for the record; None if the phase has failed."""
        if phase not in member.live_phases:
            return None
        busy, start, wall = Busy(), time.monotonic(), time.perf_counter()
        stop_after = member.live_phases[phase].length(self.measure.slot)
        answer = member.order(phase, stop_after, seed=getrandbits(62))
        if answer is None:
            return None
        elapsed = time.monotonic() - start
        if outside := answer["outside"]:
            member.fail_phase(phase, "implausible", ran_outside(outside))
            return None
        foreign = busy.foreign_cores(answer["cpu"], elapsed)
        slowed = self.monitor.slowed_since(wall)
        clock = member.timing[phase]["device_clock"]
        device: dict[str, Any] = {}
        if clock == "events":
            times = member.order(phase, seed=getrandbits(62), device=True)
            device = times["device"] if times else {}
        disturbed = disturbance(
            answer["slot"], clock, self.cores, answer["cpu"], elapsed, foreign, slowed
        )
        member.uses.setdefault(phase, []).append(Use(answer["cpu"], elapsed))
        self._note_ending(member, phase, answer, bool(disturbed))
        return {
            **answer["slot"],
            **device,
            "pass": number,
            "elapsed": round(elapsed, 6),
            "disturbed": disturbed,
        }

    def _note_ending(
        self, member: Member, phase: str, answer: dict[str, Any], disturbed: bool
    ) -> None:
        """Notes the last call of a slot, and what was computed after the slot before it.

        The thread that ends a slot may delay just that call. In a disturbed slot the call's CPU
        time is therefore noted; on several cores nothing, because waiting threads use CPU time.
        """
        if answer["late"] is not None and member.before:
            before, busy = member.before
            member.late.setdefault(before, []).append(Late(answer["late"], busy))
        member.before = phase, answer["last_busy"]
        if disturbed and self.cores > 1:
            return
        slot, last = answer["slot"], answer["last_busy" if disturbed else "last_wall"]
        ending = SlotEnding(last, slot["wall"], slot["high"], disturbed)
        member.endings.setdefault(phase, []).append(ending)

    def _run_canary(self) -> None:
        answer = self._canary_process.order({})
        steady = answer is not None and answer["wall"] <= 1.05 * answer["cpu"]
        self.canary_seconds.append(
            round(answer["wall"], 6) if answer is not None and steady else None
        )

    def all_but_the_fastest(self) -> list[Member]:
        """Returns all members but the fastest in warm-up, which stays alive as the link to the
        next ones."""
        fastest = min(
            self.members,
            key=lambda member: (
                warm.seconds if (warm := member.live_phases.get(member.ranked)) else float("inf")
            ),
        )
        return [member for member in self.members if member is not fastest]

    def end(self, member: Member) -> Outcome:
        """Ends a member after its last order and returns its outcome."""
        self.members.remove(member)
        try:
            member.worker.farewell()
        finally:
            outcome = member.worker.end()
        return outcome

    def close(self) -> float | None:
        """Ends all workers; returns the CPU seconds of the canary, None if unknown."""
        for member in self.members:
            member.worker.end()
        try:
            self._canary_process.order({"end": True})
        finally:
            outcome = self._canary_process.end()
        return outcome.cpu_seconds
