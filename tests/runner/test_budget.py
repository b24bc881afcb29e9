"""A budget of time: which cases it starts, and that a run keeps to it."""

from support.paths import committed
from support.workers import Clock

from snnbench.core.case import Case
from snnbench.records.bundle import BundleFile
from snnbench.records.rows import rows_of
from snnbench.runner import quick
from snnbench.runner.budget import AT_ONCE, FASTEST_FIRST, LEAST_PASSES, Budget, expected_place


def budget(seconds) -> Budget:
    return Budget(seconds, clock=lambda: Clock.now)


def test_frameworks_start_in_the_order_of_the_committed_quickstart():
    rows = rows_of(BundleFile(committed("quickstart")).read_records()[0])
    places = {
        row.case.framework: row.standing.place
        for row in rows
        if row.standing and row.case.neuron_label == "soft" and row.case.mode == "eager"
    }
    assert list(FASTEST_FIRST) == sorted(places, key=places.get)


def test_a_users_adapter_comes_first_and_an_unlisted_one_last():
    names = ["slax", "norse", "mine", "fused", "jax@0.10"]
    assert sorted(names, key=lambda name: expected_place(Case(name))) == [
        "mine",
        "fused",
        "jax@0.10",
        "norse",
        "slax",
    ]


def test_without_a_limit_everything_fits():
    unlimited = budget(float("inf"))
    assert unlimited.holds_one_more([1e6] * 100, True) and unlimited.holds_pass(99, [1e6], True)
    assert not unlimited.limited


def test_a_case_starts_only_if_its_block_and_the_next_one_still_fit():
    limited, slots = budget(100.0), []
    limited.begin_block(0)
    while limited.holds_one_more(slots, further=True):
        Clock.now += 10.0
        limited.note_start(10.0)
        slots.append(0.5)
    assert len(slots) == 4, "each takes 10 s to start, 4 timed and 1.5 to end, then half of 11.5"
    Clock.now = 0.0
    alone, slots = budget(100.0), []
    alone.begin_block(0)
    while alone.holds_one_more(slots, further=False):
        Clock.now += 10.0
        alone.note_start(10.0)
        slots.append(0.5)
    assert len(slots) == 6


def test_a_start_may_take_no_longer_than_what_the_others_leave():
    limited = budget(100.0)
    limited.begin_block(0)
    assert limited.longest_start([], True) == 100.0
    limited.note_start(20.0)
    assert limited.longest_start([0.5], True) == 100.0 - 4.0 - 3.0, "a pair before a next block"
    assert limited.longest_start([0.5] * 2, True) == 100.0 - 8.0 - 6.0 - 0.5 * (8.0 + 30.0)


def test_while_others_wait_a_start_in_the_first_block_has_a_share_of_the_time():
    limited = budget(90.0)
    limited.begin_block(0)
    assert [limited.longest_start([], True, waiting) for waiting in (9, 1, 0)] == [30.0, 45.0, 90.0]
    limited.note_start(20.0)
    assert limited.longest_start([], True, 9) == 40.0, "others took 20 s"
    limited.begin_block(1)
    assert limited.longest_start([], False, 9) == 90.0


def test_a_framework_that_names_the_neuron_starts_first():
    names = ["mine", "fused", "jax", "snntorch"]
    order = sorted(names, key=lambda name: expected_place(Case(name), ["snntorch"]))
    assert order == ["snntorch", "mine", "fused", "jax"]


def test_a_busy_machine_needs_more_time_for_the_report(monkeypatch):
    monkeypatch.setattr(quick, "usable_cores", lambda: [0, 1])
    seconds = []
    for load in (0.1, 6.0, 99.0):
        monkeypatch.setattr(quick, "load_average", lambda load=load: load)
        seconds.append(quick.budget_of(300.0).seconds)
    assert seconds == [295.0, 285.0, 240.0] and quick.budget_of(10.0).seconds == 5.0
    assert not quick.budget_of(None).limited


def test_on_a_crowded_machine_workers_start_at_once_and_little_time_is_for_fewer():
    seconds_and_crowd = [(300.0, 0.1), (300.0, 5.0), (50.0, 5.0), (50.0, 0.1)]
    budgets = [Budget(seconds, lambda: 0.0, crowd) for seconds, crowd in seconds_and_crowd]
    assert [each.at_once for each in budgets] == [1, AT_ONCE, 2, 1]
    assert [each.is_tight for each in budgets] == [False, False, True, False]
    assert [each.longest_start([], True, 9) for each in budgets[1:]] == [100.0, 50.0, 50.0 / 3]
    assert (Budget(crowd=9.0).at_once, Budget(crowd=9.0).is_tight) == (1, False)


def test_passes_end_before_the_next_block_and_the_first_one_is_always_timed():
    limited = budget(20.0)
    limited.begin_block(0)
    limited.note_start(10.0)
    slots = [1.0, 1.0]
    assert limited.holds_pass(LEAST_PASSES, slots, further=False)
    assert not limited.holds_pass(LEAST_PASSES, slots, further=True)
    assert limited.holds_pass(LEAST_PASSES - 1, slots, further=True)
    Clock.now += 40.0
    assert limited.holds_pass(0, slots, True) and not limited.holds_pass(1, slots, True)
