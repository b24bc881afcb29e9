"""Orders in the passes of a block. Tests in end_to_end show that real workers carry them out."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import numpy as np
import pytest
from support.workers import Canary, Clock, JudgeWorker, Monitor, Planned, Worker

from snnbench.core.case import PHASES
from snnbench.experiment.measure import Measure
from snnbench.machine.energy import EnergyMeter
from snnbench.measure.phases import draw_of
from snnbench.runner.budget import LEAST_PASSES
from snnbench.runner.judge import Judge
from snnbench.runner.live_set import LiveSet, Member

PATH = Path("free.npz")


def live_set(*workers, ranked="step", **measure) -> LiveSet:
    live = LiveSet(
        Measure(**{"threads": 1, **measure}),
        Monitor(),
        Judge(JudgeWorker),
        Canary,
        lambda what, timed=0.0: None,
    )
    live.members += [
        ready(worker, ranked, worker.ready, "cpu" if worker.device is None else "cuda")
        for worker in workers
    ]
    return live


def ready(worker, ranked, facts, device="cpu"):
    planned = Planned(worker.name, device)
    return Member.ready(planned, datetime.now(UTC), worker, PATH, [], ranked, facts)


def passes_of(member, phase):
    return [slot["pass"] for slot in member.timing[phase]["slots"]]


def test_progress_is_told_in_cases_that_passes_have_timed():
    live, timed = live_set(Worker("a"), Worker("b"), passes=4), []
    live.on_progress = lambda what, share=0.0: timed.append(share)
    live.time_passes(Random(1))
    assert timed == [0.0, 0.5, 1.0, 1.5]


def test_the_step_is_timed_in_every_pass_and_others_in_every_third():
    live = live_set(Worker("a"), Worker("b"))
    live.time_passes(Random(1))
    for member in live.members:
        assert passes_of(member, "step") == list(range(10))
        assert [passes_of(member, name) for name in PHASES if name != "step"] == [[0, 3, 6, 9]] * 4


def test_with_a_meter_the_energy_of_a_step_is_known_and_without_one_nothing_is_asked():
    worker, other = Worker("a"), Worker("b")
    live = live_set(worker)
    live.meter = EnergyMeter("a meter", iter(range(1, 100)).__next__)
    live.time_passes(Random(1))
    timing, seconds = live.members[0].timing, worker.ready["step"]["seconds"]
    assert (
        timing["step"]["energy_j"] == pytest.approx(1 / round(1 / seconds))
        and timing["step"]["energy_of"] == "a meter"
    )
    assert not any("energy_j" in timing[name] for name in PHASES if name != "step")
    live = live_set(other)
    live.time_passes(Random(1))
    assert "energy_j" not in live.members[0].timing["step"]
    assert (
        sum("burst" in order for order in worker.log)
        == sum("burst" in order for order in other.log) + 1
    )


def test_the_order_within_a_pass_is_drawn_anew():
    turns = []
    workers = [Worker(name, phases=("step",)) for name in "abcd"]
    for worker in workers:
        worker.order = lambda order, stop_after=None, *more, name=worker.name, real=worker.order: (
            turns.append(name) if stop_after == 0.1 else None,
            real(order, stop_after, *more),
        )[1]
    live_set(*workers).time_passes(Random(1))
    by_pass = [tuple(turns[i : i + 4]) for i in range(0, 40, 4)]
    assert all(set(turn) == set("abcd") for turn in by_pass)
    assert len(set(by_pass)) > 5


def test_calls_of_every_phase_are_judged_by_slots_like_any_other_that_may_end_at_any_time():
    judged_before, ends = set(), []
    for seed in range(40):
        worker = Worker()
        live_set(worker).time_passes(Random(seed))
        judged = [at for at, order in enumerate(worker.log) if order.get("judge")]
        assert Counter(worker.log[at]["phase"] for at in judged) == dict.fromkeys(PHASES, 3)
        timed = [at for at, order in enumerate(worker.log) if set(order) == {"phase", "seed"}]
        assert all(
            worker.log[at - 1]["phase"] == worker.log[at]["phase"] and at - 1 in timed
            for at in judged
        )
        assert len({worker.log[at]["seed"] for at in timed}) == len(timed), (
            "values are other ones each time"
        )
        assert [at for at, read in enumerate(worker.judged) if read] == [at - 1 for at in judged]
        ends += [worker.stops[at - 1] for at in judged]
        assert {worker.stops[at] for at in timed if at + 1 not in judged} == {0.1}
        judged_before.add(tuple(at for at in judged if worker.log[at]["phase"] == "step"))
    assert len(judged_before) > 30, "no worker can know the passes"
    assert np.histogram(ends, 4, (0.0, 0.1))[0].min() > len(ends) / 8, "nor the call"


def test_only_one_call_is_judged_where_that_takes_long():
    worker = Worker()
    live = live_set(worker)

    def recheck(judged, case, material, phase, *others):
        Clock.now += 0.6 if phase == "step" else 0.4
        return [{"part": "recheck", "status": "ok"}]

    live.judge.recheck = recheck
    live.time_passes(Random(1))
    judged = Counter(order["phase"] for order in worker.log if order.get("judge"))
    assert judged == dict.fromkeys(PHASES, 3) | {"step": 1}


def test_a_call_wrong_now_and_then_is_judged_wrong_in_most_blocks():
    """A cache that is hit in every tenth call, over the four phases of three blocks."""
    caught = []
    for seed in range(100):
        live, calls = live_set(Worker(phases=("step",))), Random(seed)
        answers = [
            [{"part": "recheck", "status": "ok"}],
            [{"part": "step", "status": "check_failed"}],
        ]
        live.judge.recheck = lambda *given, calls=calls: answers[calls.random() < 0.1]
        live.time_passes(Random(seed))
        caught.append(not live.members[0].live_phases)
    missed = 1 - sum(caught) / len(caught)
    assert missed ** (3 * len(PHASES)) < 0.03


def test_the_judge_is_told_the_draw_by_the_harness():
    worker, told = Worker(phases=("inference",)), []
    live = live_set(worker)
    live.judge.recheck = lambda *given: told.append(given) or [{"part": "recheck", "status": "ok"}]
    live.time_passes(Random(1))
    seeds = [
        worker.log[at - 1]["seed"] for at, order in enumerate(worker.log) if order.get("judge")
    ]
    assert [(phase, draw, request) for _, _, _, phase, draw, request in told] == [
        ("inference", draw_of(seed, 6, "inference"), {"recheck": {}}) for seed in seeds
    ]


def test_a_disturbed_slot_is_measured_again_once_and_marked_if_that_is_disturbed_too():
    once, twice = (Worker(phases=("step",), preempted_in=preempted) for preempted in ({2}, {2, 3}))
    for worker, marked in ((once, []), (twice, [1])):
        live = live_set(worker)
        live.time_passes(Random(5))  # judges calls from pass 4 on
        slots = live.members[0].timing["step"]["slots"]
        assert worker.slots == 14
        assert [slot["pass"] for slot in slots] == list(range(10))
        assert [slot["pass"] for slot in slots if slot["disturbed"] == "preempted"] == marked


def test_a_worker_that_ends_in_any_slot_ends_its_own_passes_alone():
    for dies_in in range(1, 12):
        ends, goes_on = Worker("a", dies_in=dies_in), Worker("b")
        live = live_set(ends, goes_on)
        live.time_passes(Random(dies_in))
        assert ends.slots == dies_in and not live.members[0].live_phases
        assert len(passes_of(live.members[1], "step")) == 10


def test_what_the_harness_saw_of_a_slot_is_kept():
    live = live_set(Worker(phases=("step",), order_s=0.25))
    live.time_passes(Random(1))
    assert {slot["elapsed"] for slot in live.members[0].timing["step"]["slots"]} == {0.25}


def test_long_calls_end_the_passes_of_their_case_alone_and_are_judged_all_the_same():
    slow, fast = Worker(order_s=30.0), Worker()
    live = live_set(slow, fast, budget="60s")
    live.time_passes(Random(3))
    assert [len(passes_of(member, "step")) for member in live.members] == [LEAST_PASSES, 10]
    assert {order["phase"] for order in slow.log if order.get("judge")} == {*PHASES}


class Slowing(Worker):
    """Three times as slow from its third slot on, be that timed or judged."""

    def order(self, order, stop_after=None, judged=False):
        answer = super().order(order, stop_after, judged)
        if answer and "slot" in answer:
            answer["slot"] |= dict.fromkeys(
                ("wall", "low", "high", "device"), self.step * (3 if self.slots > 2 else 1)
            )
        return answer


class WithoutDevice(Worker):
    """Sends slots without the CPU time of their calls."""

    def order(self, order, stop_after=None, judged=False):
        answer = super().order(order, stop_after, judged)
        if answer and "slot" in answer:
            answer["slot"]["device"] = None
        return answer


def test_a_slot_of_a_cpu_without_its_cpu_time_is_an_invalid_answer():
    live = live_set(WithoutDevice("a", phases=("step",)), Worker("b", phases=("step",)))
    live.time_passes(Random(1))
    assert live.members[0].events[-1]["reason"] == "its worker sent an invalid answer"
    assert len(passes_of(live.members[1], "step")) == 10


def test_a_case_slow_in_most_passes_so_far_stops_early_and_one_pass_is_not_most():
    workers = (
        Worker("a", phases=("step",)),
        Worker("b", 0.0025, phases=("step",)),
        Slowing("c", phases=("step",)),
    )
    live = live_set(*workers, leave_beyond=2.0)
    live.time_passes(Random(1))
    slots = live.members[2].timing["step"]["slots"]
    fast = sum(slot["wall"] == 0.001 for slot in slots)
    assert 1 <= fast <= 2 and len(slots) == 2 * fast + 1
    assert [len(passes_of(member, "step")) for member in live.members[:2]] == [10, 1]
    assert [member.timing["step"].get("beyond") for member in live.members] == [None, 2.0, 2.0]


def test_where_ours_is_the_fastest_the_others_are_compared_with_each_other():
    steps = {"fused": 0.001, "jax": 0.003, "torch": 0.005, "norse": 0.009}
    workers = [Worker(name, step, phases=("step",)) for name, step in steps.items()]
    live = live_set(*workers, leave_beyond=2.0)
    live.time_passes(Random(1))
    assert [len(passes_of(member, "step")) for member in live.members] == [10, 10, 10, 1]


def test_ours_stops_early_like_any_other():
    workers = Worker("fused", 0.009, phases=("step",)), Worker("jax", phases=("step",))
    live = live_set(*workers, leave_beyond=2.0)
    live.time_passes(Random(1))
    assert [len(passes_of(member, "step")) for member in live.members] == [1, 10]


def test_a_phase_that_fails_is_not_timed_again_and_others_go_on():
    live = live_set(Worker(fails="backward"))
    live.time_passes(Random(1))
    (member,) = live.members
    assert (len(passes_of(member, "backward")), len(passes_of(member, "step"))) == (0, 10)
    assert {order["phase"] for order in member.worker.log if order.get("judge")} == {*PHASES} - {
        "backward"
    }


def test_a_worker_that_dies_ends_no_other():
    live = live_set(Worker(phases=("step",), dies_in=3), Worker("b", phases=("step",)))
    live.time_passes(Random(5))  # judges calls from pass 4 on
    assert [len(passes_of(member, "step")) for member in live.members] == [2, 10]


def test_the_canary_runs_in_every_pass_and_counts_only_undisturbed():
    live = live_set(Worker())
    live.time_passes(Random(1))
    assert live.canary_seconds == [None if number == 1 else 0.03 for number in range(10)]


def test_passes_of_a_second_set_go_on_behind_those_of_the_first():
    live = live_set(Worker("a"), Worker("b", step=0.0005), passes=4)
    live.time_passes(Random(1))
    for member in live.all_but_the_fastest():
        live.end(member)
    live.time_passes(Random(1))
    assert [(one.planned.id, passes_of(one, "step")) for one in live.members] == [
        ("b", list(range(8)))
    ]


def test_a_worker_whose_seconds_are_too_long_is_refused_and_timed_no_more():
    live = live_set(Worker(phases=("step",), honest=False), Worker("b", phases=("step",)))
    live.time_passes(Random(1))
    (said,) = [event for event in live.members[0].events if event["status"] == "implausible"]
    assert (
        said["part"] == "step"
        and "reports 1.00 ms a call, while the harness's clock measured" in said["reason"]
    )
    assert live.members[0].live_phases == {}
    assert len(passes_of(live.members[1], "step")) == 10


def test_a_worker_that_works_only_in_calls_that_may_be_judged_is_refused(monkeypatch):
    monkeypatch.setattr(
        "snnbench.runner.live_set.disturbance", lambda *facts: None
    )  # whatever else runs on this machine
    live = live_set(
        Worker(phases=("step",), step=0.002, ending=3.0),
        Worker("b", phases=("step",), step=0.002, ending=1.2),
    )
    live.time_passes(Random(1))
    (said,) = [event for event in live.members[0].events if event["status"] == "implausible"]
    assert (
        said["reason"]
        == "judged calls take 6.00 ms, others 2.00 ms: the adapter treats them differently"
    )
    assert not live.members[0].live_phases and live.members[1].live_phases


@pytest.mark.parametrize(
    ("busy", "cores", "refused"), [(3.0, 1, True), (1.0, 1, False), (3.0, 2, False)]
)
def test_on_a_busy_machine_the_call_that_ends_a_slot_is_longer_in_every_adapter(
    monkeypatch, busy, cores, refused
):
    """The harness wakes up to end the slot, and may use the core of just that call. Only the CPU
    time of the call itself shows an adapter that works in such calls alone; on several cores
    threads that wait for each other compute while they wait."""
    monkeypatch.setattr("snnbench.runner.live_set.disturbance", lambda *facts: "preempted")
    live = live_set(Worker(phases=("step",), step=0.002, ending=30.0, busy=busy), threads=cores)
    live.time_passes(Random(1))
    assert [
        event["status"]
        for event in live.members[0].events
        if "status" in event and event["status"] != "ok"
    ] == (["implausible"] if refused else [])


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ({"cpu": 1.9}, "1.9 cores were used, and 1 core given"),
        ({"late": 0.02}, "compute for 20.0 ms after a call of 2.00 ms has come back"),
        ({"outside": [1, 3]}, "may run on cores 1, 3, and was given others alone"),
    ],
)
def test_more_than_was_given_is_refused(use, words):
    live = live_set(Worker(phases=("step",), step=0.002, **use), Worker("b", phases=("step",)))
    live.time_passes(Random(1))
    (event,) = [event for event in live.members[0].events if event["status"] != "ok"]
    assert event["status"] == "implausible" and words in event["reason"]
    assert not live.members[0].live_phases and live.members[1].live_phases


@pytest.mark.parametrize("use", [{"cpu": 1.0}, {"late": 0.0015}, {"late": -1e-9}, {"late": None}])
def test_what_was_given_is_not(use):
    live = live_set(Worker(step=0.002, **use))
    live.time_passes(Random(1))
    assert {event["status"] for event in live.members[0].events} == {"ok"}


@pytest.mark.parametrize(("calls", "share", "asked"), [(1, 0.9, 0), (1, 0.5, 1), (2, 0.9, 1)])
def test_a_slot_of_one_call_that_the_harness_saw_itself_is_not_asked_for_again(calls, share, asked):
    """A call of minutes is not repeated. A call that reports half of its slot's time is, and so are
    several calls, because only the worker knows how many there were."""
    worker = Worker(honest=True)
    (member,) = live_set(worker).members
    member.cross_check_clock("step", {"calls": calls, "wall": share * 60.0, "elapsed": 60.0}, 0.04)
    assert sum("burst" in order for order in worker.log) == asked


def test_what_the_judge_says_is_kept_and_a_phase_that_it_rejects_is_timed_no_more(monkeypatch):
    wrong = {"part": "backward", "status": "check_failed", "reason": "last timed call: off"}
    monkeypatch.setattr(JudgeWorker, "found", [wrong])
    live = live_set(Worker(phases=("backward",)))
    live.time_passes(Random(1))
    (member,) = live.members
    assert (
        member.events == [wrong, {"part": "recheck", "status": "ok"}] and member.live_phases == {}
    )
    assert {"right": False} in member.worker.log


@pytest.mark.parametrize(
    "junk", [{}, {"slot": 3, "cpu": 0.1}, {"slot": {"wall": "fast"}, "cpu": 0.1}, {"took": 1.0}]
)
def test_an_answer_that_makes_no_sense_costs_its_phase_only(junk):
    worker = Worker(phases=("forward", "step"))
    worker.order = lambda order, *more, real=worker.order: (
        junk if order.get("phase") == "forward" else real(order)
    )
    live = live_set(worker)
    live.time_passes(Random(1))
    (member,) = live.members
    assert [event["reason"] for event in member.events if event["part"] == "forward"] == [
        "its worker sent an invalid answer"
    ]
    assert len(passes_of(member, "step")) == 10


def test_times_of_the_device_are_asked_for_behind_every_slot_on_a_gpu_and_nowhere_else():
    told = {"device": 3e-6, "device_warm": None}
    live = live_set(Worker("gpu", device=told), Worker("cpu"))
    live.time_passes(Random(1))
    gpu, cpu = live.members
    assert [{name: slot.get(name) for name in told} for slot in gpu.timing["step"]["slots"]] == [
        told
    ] * 10
    assert all("device_warm" not in slot for slot in cpu.timing["step"]["slots"])
    assert not any("device" in order for order in cpu.worker.log)
    for before, order in zip(gpu.worker.log, gpu.worker.log[1:], strict=False):
        assert ("device" not in order) or (
            before["phase"] == order["phase"] and "burst" not in before
        )


@pytest.mark.parametrize("clock", ["events", "ranks", "mine"])
def test_a_worker_on_a_cpu_has_no_clock_but_its_processs(clock):
    """By another one no slot would count as disturbed."""
    worker = Worker(phases=("step",))
    facts = {"step": {**worker.ready["step"], "device_clock": clock}}
    with pytest.raises(ValueError, match="a clock that the case does not have"):
        ready(worker, "step", facts)


def test_a_worker_that_can_tell_no_times_of_the_device_is_timed_without_them():
    live = live_set(Worker(device={}))
    live.time_passes(Random(1))
    assert len(passes_of(live.members[0], "step")) == 10
    assert {event["status"] for event in live.members[0].events} == {"ok"}


@pytest.mark.parametrize(
    "junk", [3, {"device": "fast"}, {"device": -1.0}, {"device": float("nan")}, {"warm": 1.0}]
)
def test_times_of_the_device_that_make_no_sense_end_their_phase(junk):
    live = live_set(Worker(device=junk, phases=("step",)))
    live.time_passes(Random(1))
    (event,) = live.members[0].events
    assert event["reason"] == "its worker sent an invalid answer"


def test_the_phase_that_ranks_is_timed_in_every_pass_stops_early_and_has_its_energy():
    phases = ("step", "inference")
    live = live_set(
        Worker("a", phases=phases),
        Worker("b", 0.0025, phases=phases),
        ranked="inference",
        leave_beyond=2.0,
    )
    live.meter = EnergyMeter("a meter", iter(range(1, 100)).__next__)
    live.time_passes(Random(1))
    fast, slow = live.members
    assert passes_of(fast, "inference") == list(range(10)) and passes_of(fast, "step") == [
        0,
        3,
        6,
        9,
    ]
    assert slow.timing["inference"]["beyond"] == 2.0 and "beyond" not in slow.timing["step"]
    assert slow.is_stopped_early and len(passes_of(slow, "inference")) == 1
    assert fast.timing["inference"]["energy_of"] == "a meter"
    assert "energy_j" not in fast.timing["step"]
    assert live.all_but_the_fastest() == [slow]
