"""What a run shows while it goes: how much has ended, what is left, and what runs."""

import io
from types import SimpleNamespace

from rich.console import Console
from support.synthetic import blocks, record

from snnbench.common import units
from snnbench.core.case import Case, full_name
from snnbench.records.rows import rows_of
from snnbench.runner.execute import CaseReport, Runner, Tally
from snnbench.runner.progress import Progress, ending_of


class Shown:
    """The lines of a run of so many cases in so many blocks, each of which is guessed to take 5 s."""

    def __init__(self, work, blocks):
        self.stream, self.tally = io.StringIO(), Tally(work, blocks)
        self.now, self.limit = 0.0, float("inf")
        self.progress = Progress(
            Console(file=self.stream, width=200),
            self.tally.total,
            1.0,
            clock=lambda: self.now,
            limit=lambda: self.limit,
        )

    def ends(self, name, status="ok", seconds=0.0, leaves=False, resumed=False):
        """The line about a case that ends: its counter, and what is left."""
        one = record(name, status, None if status == "ok" else "why").model_copy(
            update={"duration_s": seconds}
        )
        self.tally.end(name, not resumed, leaves)
        self.progress.show(
            CaseReport(one, resumed, self.tally.ended, self.tally.total, self.tally.to_measure)
        )
        line = self.stream.getvalue().splitlines()[-1]
        return line.split()[0], line.partition(" · ")[2]


def test_a_case_that_is_not_measured_is_in_no_estimate():
    run = Shown({"lava": 0, "missing": 0, "pruned": 0, "torch": 2, "jax": 2}, 2)
    guessed = "about 20 s left"
    assert run.ends("lava", "unsupported", leaves=True) == ("[2/10]", guessed)
    assert run.ends("missing", "env_error", leaves=True) == ("[4/10]", guessed)
    assert run.ends("pruned", "pruned", leaves=True) == ("[6/10]", guessed)
    longer = "about 2 min left, for one takes 40 s on average so far"
    assert run.ends("torch", seconds=40.0) == ("[7/10]", longer)
    assert run.ends("jax", seconds=20.0) == ("[8/10]", "about 60 s left")


def test_what_was_done_before_is_in_no_estimate_either():
    run = Shown({"torch": 0, "jax": 2}, 2)
    assert run.ends("torch", seconds=400.0, resumed=True) == ("[1/4]", "about 10 s left")
    assert run.ends("jax", seconds=7.0) == ("[2/4]", "about 7 s left")


def test_a_group_that_ends_at_once_counts_case_by_case():
    """Its workers are alive together, and all records come at its end."""
    run = Shown(dict.fromkeys("abcdef", 1), 1)
    assert [run.ends(name, seconds=10.0)[1] for name in "abc"] == [
        f"about {seconds} s left" for seconds in (50, 40, 30)
    ]


def test_the_total_never_falls_and_a_case_that_stops_early_has_ended():
    run = Shown(dict.fromkeys(["late", "torch"], 3), 3)
    assert run.ends("late", "timeout", 120.0, leaves=True)[0] == "[3/6]"
    assert [run.ends("torch")[0] for _ in range(3)] == ["[4/6]", "[5/6]", "[6/6]"]
    run.tally.add("torch", 2, 2)
    assert [run.ends("torch")[0] for _ in range(2)] == ["[7/8]", "[8/8]"], (
        "its blocks differ too much"
    )


def test_while_there_is_work_some_time_is_left_and_then_nothing_is_said():
    run = Shown({"torch": 2}, 2)
    assert run.ends("torch", seconds=0.001)[1] == "about 1 s left"
    assert run.ends("torch", seconds=0.001)[1] == ""


def test_before_a_case_has_ended_the_starts_so_far_say_how_long_the_others_take():
    run = Shown({"lava": 0, "missing": 0, "torch": 2, "jax": 2}, 2)
    assert run.ends("lava", "unsupported", leaves=True)[1] == "about 20 s left"
    run.progress.tell("block 1: proving torch")
    run.now = 39.0
    run.progress.tell("block 1: proving jax")
    assert run.ends("missing", "env_error", leaves=True)[1] == "about 3 min left"
    run.limit = 50.0
    assert run.ends("missing", "env_error", leaves=True)[1] == "about 50 s left"


def test_before_the_first_start_it_is_not_known_and_after_it_said_how_long_all_take():
    run = Shown({"torch": 2, "jax": 2}, 2)
    run.progress.begin(4)
    run.progress.tell("block 1: proving torch")
    run.now = 39.0
    run.progress.tell("block 1: proving jax")
    run.now = 60.0
    run.progress.tell("pass 1 of 5, 2 cases")
    assert run.stream.getvalue().splitlines() == [
        "4 measurements; the first start shows how long they take here",
        "the first start took 39 s: about 3 min left if the others take as long",
    ]


def test_a_longer_time_left_has_its_reason():
    run = Shown(dict.fromkeys(["torch", "jax", "norse"], 2), 2)
    assert run.ends("torch", seconds=10.0)[1] == "about 50 s left"
    assert run.ends("jax", seconds=10.0)[1] == "about 40 s left"
    longer = "about 3 min left, for one takes 53 s on average so far"
    assert run.ends("norse", seconds=140.0)[1] == longer
    run.tally.add("norse", 6, 6)
    assert run.ends("torch", seconds=53.0)[1] == "about 7 min left", "more is to be measured"


def test_on_a_busy_machine_the_first_guess_is_longer():
    quiet, busy = (
        Progress(Console(file=io.StringIO()), 1, 1.0, crowd=crowd) for crowd in (0.5, 3.0)
    )
    for progress in (quiet, busy):
        progress.to_measure = 2
    assert (quiet._remaining(), busy._remaining()) == ("about 10 s left", "about 32 s left")


def test_it_says_first_that_more_may_be_measured():
    run = Shown({"torch": 3}, 3)
    run.progress.may_grow = True
    run.progress.begin(3)
    assert run.stream.getvalue().startswith("3 measurements, and more while ranks are open; the")


def test_blocks_that_are_added_are_announced_before_the_first_of_them(monkeypatch):
    said, runner = [], object.__new__(Runner)
    runner.plan, runner.planned_blocks, runner.on_warning = None, 2, said.append
    runner.fresh, runner.seed, runner.tally = True, 0, Tally({"torch": 0, "jax": 0}, 2)
    monkeypatch.setattr(Runner, "_without_ended", lambda _, group: group)
    monkeypatch.setattr(Runner, "_blocks_to_decide", lambda _, group: 4)
    monkeypatch.setattr(Runner, "_block", lambda _, group, block: iter([len(said)]))
    group = [SimpleNamespace(id=name) for name in ("torch", "jax")]
    assert [*runner._further_blocks([group])] == [1, 1]
    assert said == ["4 more measurements: ranks are not decided after 2 blocks"]
    assert runner.tally.to_measure == 4


def test_a_limit_is_said_first_and_a_single_start_needs_no_estimate():
    run = Shown({"torch": 1}, 1)
    run.progress.begin(1)
    assert run.stream.getvalue() == ""
    run.limit = 300.0
    run.progress.begin(2)
    assert run.stream.getvalue() == (
        "2 measurements, 5 min at most; the first start shows how long they take here\n"
    )


def test_the_time_of_a_block_is_the_one_that_a_table_of_it_shows():
    (one,) = blocks("torch", count=1)
    for slot in one.timing("step").slots[1:]:
        slot.disturbed, slot.wall = "preempted", 3 * slot.wall
    for clean in (False, True):
        seconds = rows_of([one])[0].estimates["step"].seconds
        line = ending_of(CaseReport(one, False, 1, 1, 0))
        assert f"ok, step {units.seconds(seconds)}" in line
        assert line.endswith(" from disturbed slots") is not clean
        one.timing("step").slots = one.timing("step").slots[:1]


def test_what_all_cases_have_in_common_is_shown_once():
    run, names = Shown({"torch": 1, "norse": 1}, 1), [full_name(Case(name)) for name in "ab"]
    run.progress.common = names[0].removeprefix("a")
    with run.progress:
        assert run.stream.getvalue() == f"all:{run.progress.common}\n"
        run.progress.tell(f"block 1: proving {names[1]}")
        assert run.progress.heartbeat.what == "block 1: proving b"
        run.ends("torch")
        assert run.stream.getvalue().splitlines()[-1].startswith("[1/2] torch block 1: ok")
