"""The harness's clock against the times that a worker reports."""

import pytest

from snnbench.runner.cross_check import (
    LEAST_BURST_S,
    LEAST_SHARE,
    TRIES,
    Late,
    SlotEnding,
    Use,
    computed_late,
    contradiction,
    more_than_given,
    other_endings,
    ran_outside,
)


class Machine:
    """A clock that orders move: by what a burst takes, and by a wait for a core, before each, that
    `waits` has."""

    def __init__(self, call, rate=1.0, waits=()):
        self.now, self.call, self.rate, self.waits, self.bursts = 0.0, call, rate, list(waits), []

    def order(self, burst):
        self.bursts.append(burst)
        self.now += burst * self.call + (self.waits.pop(0) if self.waits else 0.0)
        return {"took": burst * self.call * self.rate}

    def contradiction(self, seconds=LEAST_BURST_S):
        return contradiction(self.order, self.call * self.rate, seconds, lambda: self.now)


@pytest.mark.parametrize("call", [1e-5, 1e-3, 3.0])
def test_a_clock_at_half_speed_is_contradicted_and_a_right_one_is_not(call):
    assert Machine(call).contradiction() is None
    assert Machine(call, rate=0.5).contradiction() is not None
    assert (
        Machine(0.002, rate=0.5).contradiction()
        == "reports 1.00 ms a call, while the harness's clock measured 2.00 ms"
    )


def test_a_burst_takes_about_what_was_asked_for_and_is_never_empty():
    for call, seconds, bursts in ((1e-3, 0.08, [80]), (1e-3, 0.0, [40]), (3.0, 0.08, [1])):
        machine = Machine(call)
        machine.contradiction(seconds)
        assert machine.bursts == bursts


def test_waiting_for_a_core_contradicts_only_if_it_happens_every_time():
    wait = LEAST_BURST_S * (1 / LEAST_SHARE)
    for count in range(TRIES):
        assert Machine(1e-3, waits=[wait] * count).contradiction() is None
    assert Machine(1e-3, waits=[wait] * TRIES).contradiction() is not None


def test_a_worker_that_reports_no_time_is_contradicted_and_one_that_fails_is_not():
    assert "reports 0.00 ns a call" in Machine(1e-3, rate=0.0).contradiction()
    assert contradiction(lambda burst: None, 1e-3, 0.04) is None


def endings(*slots, disturbed=False):
    """Of (last, median) each, with an upper quartile a tenth above the median."""
    return [SlotEnding(last, wall, 1.1 * wall, disturbed) for last, wall in slots]


ONLY_JUDGED = {
    "in a few calm slots": endings((0.0051, 0.0011), (0.0051, 0.0011), (0.0051, 0.0011)),
    "in nearly all": endings(*[(0.0051, 0.0011)] * 8, *[(0.001, 0.001)] * 2),
    "a little": endings(*[(1.3, 1.0)] * 4),
    "on a busy machine": endings(*[(0.0051, 0.0011)] * 8, disturbed=True),
    "half the time busy": endings(*[(0.0051, 0.0011)] * 2)
    + endings(*[(0.0051, 0.0011)] * 6, disturbed=True),
}


@pytest.mark.parametrize("slots", ONLY_JUDGED)
def test_an_adapter_that_works_only_in_judged_calls_is_rejected(slots):
    times = "1.30 s, others 1.00 s" if slots == "a little" else "5.10 ms, others 1.10 ms"
    assert (
        other_endings(ONLY_JUDGED[slots])
        == f"judged calls take {times}: the adapter treats them differently"
    )


RIGHT = {
    "no slots": [],
    "too few": endings(*[(0.0051, 0.0011)] * 2),
    "sometimes": endings(*[(0.0051, 0.0011)] * 7, *[(0.001, 0.001)] * 3),
    "the end of the slot takes a core for a moment": endings(*[(0.0008, 0.00005)] * 10),
    "short": endings(*[(0.0012, 0.001)] * 10),
    "within a quarter": endings(*[(1.2, 1.0)] * 10),
    "preempted": endings(*[(0.0051, 0.0031)] * 10, disturbed=True),
    "too few of a busy machine": endings(*[(0.0051, 0.0011)] * 7, disturbed=True),
}


@pytest.mark.parametrize("slots", RIGHT)
def test_a_last_call_that_is_a_little_or_seldom_longer_than_the_others_is_no_other_call(slots):
    assert other_endings(RIGHT[slots]) is None


COMPUTED_LATE = {
    "all calls": ([Late(5e-3, 8e-3)] * 3, 1),
    "nearly all": ([Late(5e-3, 8e-3)] * 8 + [Late(0.0, 8e-3)] * 2, 1),
    "long calls": ([Late(0.4, 2.0)] * 4, 1),
    "on two cores": ([Late(1.0, 2.0)] * 4, 2),
}
"""Slots and cores."""
NOT_LATE = {
    "no slots": ([], 1),
    "too few": ([Late(5e-3, 8e-3)] * 2, 1),
    "at times": ([Late(5e-3, 8e-3)] * 7 + [Late(0.0, 8e-3)] * 3, 1),
    "a collection of XLA": ([Late(1.5e-3, 1e-3)] * 10, 1),
    "a twentieth": ([Late(0.1, 2.0)] * 10, 1),
    "threads that wait for work": ([Late(0.2, 1e-3)] * 10, 2),
}


@pytest.mark.parametrize("name", [*COMPUTED_LATE, *NOT_LATE])
def test_calls_that_are_computed_on_after_they_came_back_are_rejected(name):
    slots, cores = (COMPUTED_LATE | NOT_LATE)[name]
    assert (computed_late(slots, cores) is not None) == (name in COMPUTED_LATE)


@pytest.mark.parametrize(
    ("cpu", "cores", "refused"), [(1.0, 1, False), (1.5, 1, True), (1.5, 2, False), (2.5, 2, True)]
)
def test_cpu_time_beyond_the_cores_is_refused_and_a_tick_is_not(cpu, cores, refused):
    uses = [Use(cpu * elapsed, elapsed) for elapsed in (0.1, 0.1, 0.3, 0.5)]
    assert (more_than_given(uses, cores) is not None) == refused
    assert more_than_given([Use(0.09, 0.0)], 1) is None and more_than_given([], 1) is None


def test_cores_that_were_not_given_are_named():
    assert ran_outside([1]) == "may run on core 1, and was given others alone"
    assert ran_outside([1, 2]).startswith("may run on cores 1, 2, and")
