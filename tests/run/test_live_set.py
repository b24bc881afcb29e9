"""Who is ordered to do what in the passes of a block. That real workers carry it out is shown in end_to_end."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

import pytest

from snnbench.adapters.base.case import PHASES
from snnbench.executors.executor import CannotStart
from snnbench.executors.launch import Outcome
from snnbench.experiment.config import Measure
from snnbench.run import block as block_module
from snnbench.run.block import Block
from snnbench.run.live_set import LEAST_PASSES, LiveSet, Member

OK = [{"part": "import", "status": "ok"}, {"part": "end", "cpu_seconds": 1.0}]


class Clock:
    """Monotonic seconds of the harness; workers move it."""

    now = 0.0


@dataclass
class Worker:
    """Answers orders at once, as its fields say, and writes them down."""

    name: str = "a"
    step: float = 0.001
    phases: tuple = PHASES
    preempted_in: set = field(default_factory=set)
    dies_in: int | None = None
    fails: str = ""
    events: list = field(default_factory=lambda: OK)
    order_s: float = 0.1
    log: list = field(default_factory=list)
    slots: int = 0
    ended: bool = False

    def answer(self):
        if self.phases is None:
            return None
        ready = {"device_clock": "process", "warm_up_calls": 3}
        return {"ready": {name: {**ready, "seconds": self.step} for name in self.phases}}

    def order(self, order):
        self.log.append(order)
        Clock.now += self.order_s
        if "end" in order:
            return None
        if order.get("judge"):
            return {"right": True}
        self.slots += 1
        if self.slots == self.dies_in:
            return None
        if order["phase"] == self.fails:
            return {"failed": "error"}
        cpu = 0.5 if self.slots in self.preempted_in else 1.0
        slot = {name: self.step for name in ("began", "wall", "low", "high", "enqueue")}
        return {"slot": {**slot, "calls": 5, "device": cpu * self.step, "samples": [self.step]}, "cpu": 0.08}

    def end(self):
        self.ended = True
        return Outcome(events=self.events)


class Canary(Worker):
    def order(self, order):
        self.log.append(order)
        return {"wall": 0.03, "cpu": 0.03 if len(self.log) != 2 else 0.01}


class Monitor:
    """Sees nothing."""

    def __init__(self, *_):
        self.facts = {"watched": {}}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def slowed_since(self, start):
        return False

    def note_workers(self, seconds):
        self.facts["workers"] = seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    Clock.now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: Clock.now)
    monkeypatch.setattr("snnbench.machine.disturbance.busy_seconds", lambda: 0.0)


def live_set(*workers, **measure) -> LiveSet:
    live = LiveSet(Measure(**{"threads": 1, **measure}), Monitor(), Canary, lambda text: None)
    live.members += [Member.ready(worker.name, datetime.now(UTC), worker) for worker in workers]
    return live


def passes_of(member, phase):
    return [slot["pass"] for slot in member.timing[phase]["slots"]]


def test_the_step_is_timed_in_every_pass_and_others_in_every_third():
    live = live_set(Worker("a"), Worker("b"))
    live.time_passes(Random(1))
    for member in live.members:
        assert passes_of(member, "step") == list(range(10))
        assert [passes_of(member, name) for name in PHASES if name != "step"] == [[0, 3, 6, 9]] * 3


def test_the_order_within_a_pass_is_drawn_anew():
    turns = []
    workers = [Worker(name, phases=("step",)) for name in "abcd"]
    for worker in workers:
        worker.order = lambda order, name=worker.name, real=worker.order: (
            turns.append(name) if "judge" not in order else None,
            real(order),
        )[1]
    live_set(*workers).time_passes(Random(1))
    by_pass = [tuple(turns[i : i + 4]) for i in range(0, 40, 4)]
    assert all(set(turn) == set("abcd") for turn in by_pass)
    assert len(set(by_pass)) > 5


def test_every_phase_is_judged_once_right_after_one_of_its_slots():
    judged_after = set()
    for seed in range(20):
        worker = Worker()
        live_set(worker).time_passes(Random(seed))
        judged = [at for at, order in enumerate(worker.log) if order.get("judge")]
        assert sorted(worker.log[at]["phase"] for at in judged) == sorted(PHASES)
        assert all(worker.log[at - 1] == {"phase": worker.log[at]["phase"], "seconds": 0.08} for at in judged)
        judged_after.add(next(at for at in judged if worker.log[at]["phase"] == "step"))
    assert len(judged_after) > 5, "no worker can know the pass"


def test_a_disturbed_slot_is_measured_again_once_and_marked_if_that_is_disturbed_too():
    once, twice = (Worker(phases=("step",), preempted_in=preempted) for preempted in ({2}, {2, 3}))
    for worker, marked in ((once, []), (twice, [1])):
        live = live_set(worker)
        live.time_passes(Random(1))
        slots = live.members[0].timing["step"]["slots"]
        assert worker.slots == 11
        assert [slot["pass"] for slot in slots] == list(range(10))
        assert [slot["pass"] for slot in slots if slot["disturbed"] == "preempted"] == marked


def test_what_the_harness_saw_of_a_slot_is_kept():
    live = live_set(Worker(phases=("step",), order_s=0.25))
    live.time_passes(Random(1))
    assert {slot["elapsed"] for slot in live.members[0].timing["step"]["slots"]} == {0.25}


def test_long_calls_end_the_passes_of_their_case_alone_and_are_judged_all_the_same():
    slow, fast = Worker(order_s=30.0), Worker()
    live = live_set(slow, fast, budget="60s")
    live.time_passes(Random(3))
    assert [len(passes_of(member, "step")) for member in live.members] == [LEAST_PASSES, 10]
    assert sorted(order["phase"] for order in slow.log if order.get("judge")) == sorted(PHASES)


def test_a_phase_that_fails_is_not_timed_again_and_others_go_on():
    live = live_set(Worker(fails="backward"))
    live.time_passes(Random(1))
    (member,) = live.members
    assert (len(passes_of(member, "backward")), len(passes_of(member, "step"))) == (0, 10)
    assert {order["phase"] for order in member.worker.log if order.get("judge")} == {"forward", "step", "inference"}


def test_a_worker_that_dies_takes_nobody_with_it():
    live = live_set(Worker(phases=("step",), dies_in=3), Worker("b", phases=("step",)))
    live.time_passes(Random(1))
    assert [len(passes_of(member, "step")) for member in live.members] == [2, 10]


def test_the_canary_sings_in_every_pass_and_is_not_believed_where_it_was_preempted():
    live = live_set(Worker())
    live.time_passes(Random(1))
    assert live.canary == {number: None if number == 1 else 0.03 for number in range(10)}


def test_passes_of_a_second_set_go_on_behind_those_of_the_first():
    live = live_set(Worker("a"), Worker("b", step=0.0005), passes=4)
    live.time_passes(Random(1))
    for member in live.all_but_the_fastest():
        live.end(member)
    live.time_passes(Random(1))
    assert [(one.planned, passes_of(one, "step")) for one in live.members] == [("b", list(range(8)))]


# -- a block ----------------------------------------------------------------------------------------------------


class Planned:
    def __init__(self, name):
        self.id = self.case = name


class Launcher:
    """Starts the workers that it was given, by the names of their cases; of several of a name one after the other."""

    measure = Measure(threads=1, passes=2, phases=["step"])
    failed_oracles: dict = {}

    def __init__(self, *workers):
        self.workers, self.alive_at_start = list(workers), {}

    def free_run(self, planned):
        return planned.id, Outcome()

    def start(self, planned, number, free_run):
        self.alive_at_start.setdefault(planned.id, []).append([w.name for w in self.started if not w.ended])
        worker = next(worker for worker in self.workers if worker.name == planned.id)
        self.workers.remove(worker)
        if isinstance(worker, Missing):
            raise CannotStart("no such image")
        self.started.append(worker)
        return worker

    started: list = []
    canary = Canary


class Missing(Worker):
    pass


@pytest.fixture
def measure(monkeypatch):
    monkeypatch.setattr(block_module, "Monitor", Monitor)
    monkeypatch.setattr(block_module, "reader_of", lambda device: None)
    monkeypatch.setattr(block_module, "full_name", str)

    class Room:
        left = 99

        def __init__(self, device):
            pass

        def note(self):
            Room.left -= 1

        @property
        def for_one_more(self):
            return Room.left > 0

    monkeypatch.setattr(block_module, "Room", Room)

    def measure(missing, together, *workers, room=99):
        Room.left = room
        launcher = Launcher(*workers)
        launcher.started = []
        block = Block(launcher, 0, "cpu", Random(1), lambda text: None)
        ended = list(block.measure([Planned(name) for name in missing], [Planned(name) for name in together]))
        assert block.unfinished == [] and all(worker.ended for worker in launcher.started)
        return launcher, {one.planned.id: one for one in ended}

    return measure


def died(status):
    return [{"part": "import"}, {"part": "import", "status": status, "reason": "because"}, OK[1]]


def test_members_are_alive_together_and_share_the_name_of_their_set(measure):
    _, ended = measure("ab", "", Worker("a"), Worker("b"))
    assert len({one.live_set for one in ended.values()}) == 1
    assert [len(one.folded["parts"]["step"]["timing"]["slots"]) for one in ended.values()] == [2, 2]
    assert ended["a"].monitor["canary"].keys() == {0, 1}
    assert ended["a"].monitor["workers"] == 2.0


def test_who_has_times_is_measured_again_only_if_somebody_new_is_timed(measure):
    launcher, ended = measure("ab", "c", Missing("a"), Worker("b"), Worker("c"))
    assert list(ended) == ["a", "b", "c"]
    assert (ended["a"].folded["status"], ended["a"].folded["reason"]) == ("env_error", "no such image")
    launcher, ended = measure("a", "c", Worker("a", phases=None, events=died("unsupported")), Worker("c"))
    assert list(ended) == ["a"] and ended["a"].folded["status"] == "unsupported"


def test_who_does_not_fit_is_timed_later_beside_the_fastest(measure):
    launcher, ended = measure("abcd", "", *(Worker(name, step=step) for name, step in zip("abcd", (3, 1, 2, 4), strict=True)), room=2)
    assert launcher.alive_at_start == {"a": [[]], "b": [["a"]], "c": [["b"]], "d": [["b"]]}
    passes = {id: [slot["pass"] for slot in one.folded["parts"]["step"]["timing"]["slots"]] for id, one in ended.items()}
    assert passes == {"a": [0, 1], "b": list(range(6)), "c": [2, 3], "d": [4, 5]}
    assert len({one.live_set for one in ended.values()}) == 1


def test_who_ran_out_of_memory_beside_others_is_started_again_alone(measure):
    first, second = Worker("b", phases=None, events=died("oom_gpu")), Worker("b")
    launcher, ended = measure("ab", "", Worker("a"), first, second)
    assert launcher.alive_at_start["b"] == [["a"], []]
    assert ended["b"].folded["status"] == "ok" and ended["b"].live_set is None
    _, ended = measure("b", "", Worker("b", phases=None, events=died("oom_gpu")))
    assert ended["b"].folded["status"] == "oom_gpu", "nobody else was there"


def test_interrupted_a_block_ends_its_workers_and_names_them(measure, monkeypatch):
    launcher = Launcher(Worker("a"), Worker("b"))
    launcher.started = []
    monkeypatch.setattr(Worker, "order", lambda self, order: (_ for _ in ()).throw(KeyboardInterrupt))
    block = Block(launcher, 0, "cpu", Random(1), lambda text: None)
    with pytest.raises(KeyboardInterrupt):
        list(block.measure([Planned("a"), Planned("b")], []))
    assert all(worker.ended for worker in launcher.started)
    assert [planned.id for planned in block.unfinished] == ["a", "b"]
