"""What a slot times and throws away, when warming up ends, and in which order a call is
prepared, timed and waited for."""

import gc
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snnbench.measure.phases import Phase
from snnbench.measure.slots import (
    LEAST_CALLS,
    LONG_CALL_S,
    MOST_SAMPLES,
    STRETCHED,
    Calls,
    Sampler,
    length,
    warnings_of,
)


class Clock:
    """Moves only when it is moved."""

    def __init__(self):
        self.now = 5.0

    def perf_counter(self):
        return self.now

    def process_time(self):
        return 10 * self.now


class Program:
    """Prepares for `prepared` seconds, enqueues for a third of `call` seconds, and writes down
    what is asked of it."""

    device_clock = "process"
    queue = None

    def __init__(self, call=3e-3, prepared=1e-3):
        self.clock, self.log, self.seconds, self.prepared = Clock(), [], call, prepared

    def device_queue(self):
        return self.queue

    def prepare(self, index):
        self.clock.now += self.prepared
        self.log.append(("prepare", index))
        return index

    def call(self, state):
        assert not gc.isenabled(), "a collection would fall into a timed call"
        self.clock.now += self.seconds / 3
        self.log.append(("call", state))
        return state

    def wait(self, result):
        self.clock.now += 2 * self.seconds / 3
        self.log.append(("wait", result))


def after(program, seconds):
    """A slot that is over after so many seconds."""
    end = program.clock.now + seconds
    return lambda: program.clock.now >= end - 1e-9


def sampler(program, typical=0.0):
    one = Sampler(
        Phase(program.prepare, program.call),
        program,
        program.clock,
        lambda result: program.wait(result),
    )
    one.typical = typical
    return one


def test_only_the_call_and_its_wait_are_timed():
    program = Program()
    calls = sampler(program).slot(after(program, 0.1))
    assert set(np.round(calls.wall, 9)) == {3e-3}
    assert set(np.round(calls.enqueue, 9)) == {1e-3}
    assert set(np.round(calls.device, 9)) == {30e-3}


def test_the_calls_of_the_first_20_ms_are_thrown_away():
    program = Program()
    one = sampler(program)
    calls = one.slot(after(program, 0.1))
    assert calls.began[0] == pytest.approx(5.0 + 5 * 4e-3 + 1e-3), (
        "five calls settle, then one is prepared"
    )
    assert len(calls.wall) == 20
    assert program.log[:3] == [("prepare", 0), ("call", 0), ("wait", 0)]
    assert [index for what, index in program.log if what == "call"] == list(range(25))
    assert one.last == 24


def test_a_long_call_needs_no_settling():
    program = Program(call=0.2)
    calls = sampler(program, typical=0.2).slot(after(program, 0.3))
    assert [what for what, _ in program.log].count("call") == len(calls.wall) == 2


@pytest.mark.parametrize(
    ("call", "count"), [(3e-3, 20), (19e-3, 5), (49e-3, 5), (79e-3, 4), (1.0, 1)]
)
def test_five_calls_at_least_unless_they_take_four_times_as_long(call, count):
    program = Program(call)
    calls = sampler(program, typical=1.0).slot(after(program, length(0.08, 1.0, call + 1e-3)))
    assert len(calls.wall) == count
    assert count >= LEAST_CALLS or count * (call + 1e-3) >= STRETCHED * 0.08
    assert length(0.08, 0.01, 0.01) == pytest.approx(0.1), "those that settle take 20 ms"


def test_thirty_calls_in_3_ms_do_not_end_a_slot():
    program = Program(call=1e-4, prepared=0.0)
    assert len(sampler(program, typical=1.0).slot(after(program, 0.08)).wall) >= 800


@pytest.mark.parametrize("calls", range(1, 25))
def test_any_call_can_be_the_last_and_what_it_can_look_up_is_the_same(calls):
    """A slot ends on an order from outside: until then no variable of its callers knows how many
    calls there will be."""
    program, seen = Program(), []

    def call(state):
        slot = sys._getframe(2)
        assert slot.f_code.co_name == "slot"
        seen.append(
            {name: value for name, value in slot.f_locals.items() if isinstance(value, int | float)}
        )
        return program.call(state)

    one = sampler(program)
    one.phase = Phase(program.prepare, call)
    one.slot(lambda: len(seen) >= calls)
    assert len(seen) == calls and one.last == calls - 1 == one.result
    assert all(one == seen[0] for one in seen)


def test_the_last_result_is_read_before_anything_else_runs():
    program = Program()
    one, seen = sampler(program), []
    one.slot(after(program, 0.1), lambda result: seen.append((result, program.log[-1])))
    assert seen == [(24, ("wait", 24))] and program.log[-1] == ("wait", 24)


def test_the_last_result_waits_for_the_judge_and_is_dropped_before_the_next_slot():
    program = Program()
    one = sampler(program)
    one.slot(after(program, 0.1))
    assert one.result == 24
    held = []
    one.phase = Phase(lambda index: held.append(one.result), program.call)
    one.slot(after(program, 0.0))
    assert held[0] is None


def test_collection_is_on_again_even_after_an_error():
    program = Program()

    def fails(state):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Sampler(Phase(program.prepare, fails), program, program.clock).slot(after(program, 0.08))
    assert gc.isenabled()


def warmed(walls, **options):
    program, left = Program(prepared=0.0), iter(walls)

    def wait(result):
        program.clock.now += next(left) - program.seconds / 3

    program.wait = wait
    one = sampler(program)
    return one.warm_up(**options), one


def test_warm_up_ends_when_two_windows_agree():
    assert warmed([3e-3] * 100)[0] == 20
    count, one = warmed([9e-3] * 7 + [3e-3] * 100)
    assert 20 < count < 30
    assert one.typical == one.period == pytest.approx(3e-3)
    assert one.result is None


def test_warm_up_is_bounded_by_half_a_second_beside_the_first_call_which_may_compile():
    assert warmed(np.geomspace(3e-3, 1e3, 200))[0] < 100
    assert warmed([60.0] + [0.3] * 100)[0] == 3
    assert warmed([60.0] + [30.0] * 100)[0] == 2
    count, one = warmed([30.0] * 100, compiled=True)
    assert count == 1 and one.typical == one.period == pytest.approx(30.0)
    assert warmed([0.3] * 100, compiled=True)[0] == 2


def calls_of(wall):
    return Calls(
        [7.1234567891], list(wall), list(np.multiply(0.5, wall)), list(np.multiply(0.9, wall))
    )


def test_a_slot_is_summed_up_by_its_median_and_quartiles():
    summary = calls_of([5e-3, 1e-3, 2e-3, 3e-3, 4e-3]).summary("process")
    assert summary["samples"] == [5e-3, 1e-3, 2e-3, 3e-3, 4e-3], "in their order"
    assert {name: summary[name] for name in ("began", "calls", "wall", "low", "high", "enqueue", "device")} == {
        "began": 7.123457, "calls": 5, "wall": 3e-3, "low": 2e-3, "high": 4e-3, "enqueue": 1.5e-3, "device": 2.7e-3,
    }  # fmt: skip


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=500))
def test_a_summary_lies_within_its_calls(wall):
    summary = calls_of(wall).summary("process")
    assert (
        min(wall) - 1e-9 <= summary["low"] <= summary["wall"] <= summary["high"] <= max(wall) + 1e-9
    )
    assert summary["calls"] == len(wall) and len(summary["samples"]) == min(len(wall), MOST_SAMPLES)
    assert {summary["samples"][0], summary["samples"][-1]} == {
        round(wall[0], 9),
        round(wall[-1], 9),
    }


class Queue:
    """A device's own marks: only read after the wait."""

    def __init__(self, log):
        self.log = log

    def mark(self):
        self.log.append("mark")

    def seconds(self, first, last):
        self.log.append("seconds")
        return 7.0


def test_marks_of_the_device_surround_the_call_and_are_read_after_the_wait():
    program = Program()
    program.queue = Queue(program.log)
    calls = sampler(program, typical=1.0).slot(after(program, 0.0))
    assert program.log[:6] == [("prepare", 0), "mark", ("call", 0), "mark", ("wait", 0), "seconds"]
    assert set(calls.device) == {7.0}
    assert calls.summary("events")["device"] is None, (
        "with the host's time in it, it is no time of the device"
    )


@pytest.mark.parametrize(
    ("unwaited", "warned"), [(0, False), (1, False), (5, False), (6, True), (100, True)]
)
def test_work_that_is_not_waited_for_is_warned_of_and_a_clock_that_is_delayed_now_and_then_is_not(
    unwaited, warned
):
    """One of two clocks may stop while another program has the core."""
    calls = Calls(wall=[1e-3] * 100, device=[2e-3] * unwaited + [0.9e-3] * (100 - unwaited))
    words = ["W-SYNC: device time exceeds wall time: the device was not waited for"] * warned
    assert warnings_of("events", calls) == words
    assert warnings_of("process", calls) == []


@pytest.mark.parametrize(("repeatable", "prepared"), [(True, [0]), (False, [0, 1, 2])])
def test_a_burst_is_calls_in_a_row_and_tells_what_it_took(repeatable, prepared):
    program = Program()
    phase = Phase(program.prepare, lambda state: gc.disable() or program.call(state), repeatable)
    one = Sampler(phase, program, program.clock, program.wait)
    assert one.burst(3) == pytest.approx(3 * program.seconds + len(prepared) * program.prepared)
    gc.enable()
    assert [index for what, index in program.log if what == "prepare"] == prepared
    assert [what for what, _ in program.log].count("wait") == 3 and one.result is None


def test_replacing_the_clock_afterwards_changes_nothing(monkeypatch):
    monkeypatch.setattr("time.perf_counter", lambda: 1.0)
    monkeypatch.setattr("time.process_time", lambda: 1.0)
    program, ends = Program(), iter([False, False, True])
    one = Sampler(Phase(program.prepare, program.call), program, wait=program.wait)
    one.typical = LONG_CALL_S
    calls = one.slot(lambda: next(ends))
    assert len(set(calls.began)) == len(calls.began) == 3
