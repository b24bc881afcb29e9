"""Workers of a comparison group in a block: started, timed together, started again and ended."""

from random import Random

import pytest
from support.workers import OK, Canary, Clock, JudgeWorker, Monitor, Planned, Worker

from snnbench.executors.executor import CannotStart
from snnbench.executors.launch import Outcome
from snnbench.experiment.measure import Measure
from snnbench.runner import block as block_module
from snnbench.runner.block import Block
from snnbench.runner.budget import Budget


class Launcher:
    """Starts the workers that it was given, by the names of their cases; of several of a name one
    after the other."""

    measure = Measure(threads=1, passes=2, phases=["step"])
    failure = staticmethod(lambda planned, material: None)

    def __init__(self, *workers):
        self.workers, self.alive_at_start = list(workers), {}

    def material(self, planned, limit):
        return planned.id, Outcome()

    def restore(self, path):
        pass

    def start(self, planned, number, free_run, limit=1e9):
        self.alive_at_start.setdefault(planned.id, []).append(
            [w.name for w in self.started if not w.ended]
        )
        worker = next(worker for worker in self.workers if worker.name == planned.id)
        self.workers.remove(worker)
        if isinstance(worker, Missing):
            raise CannotStart("no such image")
        self.started.append(worker)
        return worker

    started: list = []
    canary, judge = Canary, JudgeWorker


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

    def measure(
        missing, together, *workers, room=99, number=0, budget=None, left_out=(), **changes
    ):
        Room.left = room
        launcher = Launcher(*workers)
        launcher.started, launcher.measure = [], Launcher.measure.model_copy(update=changes)
        block = Block(
            launcher, number, "cpu", Random(1), lambda what, timed=0.0: None, budget=budget
        )
        ended = list(
            block.measure([Planned(name) for name in missing], [Planned(name) for name in together])
        )
        assert block.unfinished == [] and all(worker.ended for worker in launcher.started)
        assert [planned.id for planned in block.left_out] == list(left_out)
        return launcher, {one.planned.id: one for one in ended}

    return measure


def died(status):
    return [{"part": "import"}, {"part": "import", "status": status, "reason": "because"}, OK[1]]


def test_members_are_alive_together_and_share_the_name_of_their_set(measure):
    _, ended = measure("ab", "", Worker("a"), Worker("b"))
    assert len({one.live_set for one in ended.values()}) == 1
    assert [len(one.folded["parts"]["step"]["timing"]["slots"]) for one in ended.values()] == [2, 2]
    assert ended["a"].monitor["canary"] == [0.03, None]
    assert ended["a"].monitor["workers"] == 4.0, "judge and canary are two of them"


def test_workers_that_failed_before_they_were_timed_are_no_strangers(measure):
    _, ended = measure(
        "abc", "", Worker("a"), Worker("b", phases=None, events=died("error")), Missing("c")
    )
    assert ended["a"].monitor["workers"] == 4.0
    _, ended = measure("ab", "", Worker("a"), Worker("b", phases=None, events=[{"part": "import"}]))
    assert ended["a"].monitor["workers"] is None, "what a killed one used is not known"


def test_a_case_with_times_is_measured_again_only_if_a_new_one_is_timed(measure):
    _, ended = measure("ab", "c", Missing("a"), Worker("b"), Worker("c"))
    assert list(ended) == ["a", "b", "c"]
    assert (ended["a"].folded["status"], ended["a"].folded["reason"]) == (
        "env_error",
        "no such image",
    )
    _, ended = measure("a", "c", Worker("a", phases=None, events=died("unsupported")), Worker("c"))
    assert list(ended) == ["a"] and ended["a"].folded["status"] == "unsupported"


def test_a_case_that_does_not_fit_is_timed_later_beside_the_fastest(measure):
    launcher, ended = measure(
        "abcd",
        "",
        *(Worker(name, step=step) for name, step in zip("abcd", (3, 1, 2, 4), strict=True)),
        room=2,
    )
    assert launcher.alive_at_start == {"a": [[]], "b": [["a"]], "c": [["b"]], "d": [["b"]]}
    passes = {
        id: [slot["pass"] for slot in one.folded["parts"]["step"]["timing"]["slots"]]
        for id, one in ended.items()
    }
    assert passes == {"a": [0, 1], "b": list(range(6)), "c": [2, 3], "d": [4, 5]}
    assert len({one.live_set for one in ended.values()}) == 1


@pytest.mark.parametrize("number", [0, 1])
def test_a_case_that_stayed_in_the_first_block_leaves_no_later_one(measure, number):
    workers = Worker("a"), Worker("b", step=0.009)
    _, ended = measure("ab", "", *workers, number=number, leave_beyond=2.0)
    timing = ended["b"].folded["parts"]["step"]["timing"]
    assert (len(timing["slots"]), timing.get("beyond")) == ((2, None) if number else (1, 2.0))


def test_a_case_that_ran_out_of_memory_beside_others_is_started_again_alone(measure):
    first, second = Worker("b", phases=None, events=died("oom_gpu")), Worker("b")
    launcher, ended = measure("ab", "", Worker("a"), first, second)
    assert launcher.alive_at_start["b"] == [["a"], []]
    assert ended["b"].folded["status"] == "ok" and ended["b"].live_set is None
    _, ended = measure("b", "", Worker("b", phases=None, events=died("oom_gpu")))
    assert ended["b"].folded["status"] == "oom_gpu", "it was alone"


def test_interrupted_a_block_ends_its_workers_and_names_them(measure, monkeypatch):
    launcher = Launcher(Worker("a", phases=("step",)), Worker("b", phases=("step",)))
    launcher.started = []

    def interrupted_in_a_slot(self, order, stop_after=None, judged=False, own=Worker.order):
        if "seed" in order and all(worker.slots >= 2 for worker in launcher.started):
            raise KeyboardInterrupt
        return own(self, order, stop_after)

    monkeypatch.setattr(Worker, "order", interrupted_in_a_slot)
    block = Block(launcher, 0, "cpu", Random(1), lambda what, timed=0.0: None)
    with pytest.raises(KeyboardInterrupt):
        list(block.measure([Planned("a"), Planned("b")], []))
    assert all(worker.ended for worker in launcher.started)
    assert [planned.id for planned in block.unfinished] == ["a", "b"]
    assert block.so_far == dict.fromkeys("ab", "proved, step 1.00 ms after 1 of 2 passes")


class SlowStart(Worker):
    def answer(self):
        Clock.now += 10.0
        return super().answer()


class TooSlow(SlowStart):
    """Is killed before it has answered."""

    def answer(self):
        Clock.now += 30.0
        self.phases = None
        return super().answer()

    def end(self):
        self.ended = True
        return Outcome(events=[{"part": "import"}], timed_out=True)


def test_a_budget_leaves_out_what_it_has_no_time_for(measure):
    workers = [SlowStart(name) for name in "abcdef"]
    budget = Budget(50.0, clock=lambda: Clock.now)
    _, ended = measure("abcdef", "", *workers, budget=budget, left_out="def")
    assert [one.folded["status"] for one in ended.values()] == ["ok"] * 3
    assert Clock.now < 50.0


class SlowJudge(JudgeWorker):
    def order(self, order):
        Clock.now += 15.0 * ("prove" in order)
        return super().order(order)


def test_a_judge_that_takes_all_of_a_budget_leaves_the_case_out(measure, monkeypatch):
    monkeypatch.setattr(Launcher, "judge", SlowJudge)
    budget = Budget(25.0, clock=lambda: Clock.now)
    _, ended = measure("ab", "", Worker("a"), Worker("b"), budget=budget, left_out="b")
    assert ended["a"].folded["status"] == "ok"


def test_a_worker_that_a_budget_stops_has_no_record_and_one_out_of_its_own_time_has(measure):
    workers = SlowStart("a"), TooSlow("b")
    budget = Budget(45.0, clock=lambda: Clock.now)
    _, ended = measure("ab", "", *workers, budget=budget, left_out="b")
    assert list(ended) == ["a"]
    workers = SlowStart("a"), TooSlow("b")
    _, ended = measure("ab", "", *workers)
    assert ended["b"].folded["status"] == "timeout"


def test_after_a_start_that_took_its_share_those_that_compile_nothing_come_first(measure):
    names = ["jax", "fused", "torch"]
    workers = TooSlow("jax"), SlowStart("fused"), SlowStart("torch")
    budget = Budget(90.0, clock=lambda: Clock.now)
    launcher, ended = measure(names, "", *workers, budget=budget, left_out=["jax"])
    assert list(launcher.alive_at_start) == ["jax", "torch", "fused"]
    assert {*ended} == {"torch", "fused"}


class BesideOthers(Worker):
    """Starts in some seconds, of which those beside other starts count."""

    seconds = 10.0

    def __init__(self, name):
        super().__init__(name)
        self.launched = Clock.now

    def answer(self):
        Clock.now = max(Clock.now, self.launched + self.seconds)
        return super().answer()


@pytest.fixture
def beside(monkeypatch):
    def start(self, planned, *_):
        self.started.append(BesideOthers(planned.id))
        return self.started[-1]

    monkeypatch.setattr(Launcher, "start", start)


@pytest.mark.parametrize(("crowd", "left_out"), [(1.5, ""), (0.0, "def")])
def test_where_programs_wait_for_cores_workers_start_beside_each_other(
    measure, beside, crowd, left_out
):
    budget = Budget(50.0, lambda: Clock.now, crowd)
    launcher, ended = measure("abcdef", "", budget=budget, left_out=left_out)
    assert {*ended} == {*"abcdef"} - {*left_out} and Clock.now < 50.0
    assert len(launcher.started) == len({worker.name for worker in launcher.started})
    assert launcher.started[1].duration_s == (10.0 if crowd else 0.0)


def test_what_a_worker_computed_before_its_turn_takes_no_time_from_its_proof(
    measure, beside, monkeypatch
):
    monkeypatch.setattr(BesideOthers, "seconds", 30.0)
    _, ended = measure("ab", "", budget=Budget(52.0, lambda: Clock.now, crowd=3.0))
    assert [one.folded["status"] for one in ended.values()] == ["ok", "ok"]


def test_the_limit_of_a_start_ends_with_it(measure, monkeypatch):
    def start(self, planned, number, material, limit=1e9):
        worker = Worker(planned.id, timeout=limit, seconds_left=limit - 7.0)
        self.started.append(worker)
        return worker

    monkeypatch.setattr(Launcher, "start", start)
    launcher, ended = measure("a", "", budget=Budget(50.0, lambda: Clock.now), timeout=120.0)
    (worker,) = launcher.started
    assert (worker.timeout, worker.seconds_left) == (120.0, 113.0)
    assert ended["a"].folded["status"] == "ok"


def test_no_worker_starts_while_others_are_timed(measure, monkeypatch):
    own, starting = Worker.order, []

    def order(self, order, *rest, **more):
        if "seed" in order:
            starting.extend(one for one in launcher.started if not (one.log or one.ended))
        return own(self, order, *rest, **more)

    launcher = Launcher(*map(SlowStart, "abc"))
    launcher.started = []
    monkeypatch.setattr(Worker, "order", order)
    budget = Budget(24.0, lambda: Clock.now, crowd=1.1)
    block = Block(launcher, 0, "cpu", Random(1), lambda *_: None, budget=budget)
    assert [one.planned.id for one in block.measure([*map(Planned, "abc")], [])] == ["a", "b"]
    assert len(launcher.started) == 3 and not starting
    assert all(worker.ended for worker in launcher.started)
