"""When warming up and sampling end, and in which order a call is prepared, timed and waited for."""

import gc

import numpy as np
import pytest

from snnbench.measure.phases import Phase
from snnbench.measure.sampling import sample
from snnbench.measure.stopping import MOST_WARM_UP, WarmUp, stop_reason


def stopped_at(stream, rel_ci=0.01, budget=60.0):
    """(count, reason) for samples in seconds that also make up the elapsed time."""
    samples = []
    for value in stream:
        samples.append(value)
        if reason := stop_reason(samples, sum(samples), rel_ci, budget):
            return len(samples), reason
    return None


def noise(spread, count=20_000, centre=1e-3):
    return centre * np.exp(spread * np.random.default_rng(0).standard_normal(count))


def test_a_constant_stream_converges_at_the_least_count():
    assert stopped_at([1e-3] * 100) == (30, "converged")


def test_long_calls_do_too():
    """Above one second a call, seven are enough: the fewest whose interval is not just the range."""
    assert stopped_at([2.0] * 100, budget=1000.0) == (7, "converged")


def test_a_stream_of_zeros_ends():
    assert stopped_at([0.0] * 100) == (30, "converged")


def test_a_quiet_stream_converges_and_a_noisy_one_reaches_its_plateau():
    count, reason = stopped_at(noise(0.02))
    assert reason == "converged"
    assert 30 <= count < 1000
    count, reason = stopped_at(noise(1.0), budget=1e9)
    assert reason == "noise_plateau"
    assert count >= 128


def test_a_stricter_interval_needs_more_samples():
    counts = [stopped_at(noise(0.02), rel_ci)[0] for rel_ci in (0.02, 0.01, 0.005)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


@pytest.mark.parametrize("spread", [0.0, 0.02, 1.0])
def test_the_budget_ends_it_but_never_before_three_samples(spread):
    assert stopped_at(noise(spread, centre=1.0), rel_ci=1e-9 if spread else 0.01, budget=0.1) == (3, "budget")


def test_no_stream_runs_for_ever():
    random = np.random.default_rng(1)
    for stream in (np.abs(random.standard_cauchy(3000)), random.choice([0.0, 1.0], 3000), np.geomspace(1e-6, 1e3, 3000)):
        assert stopped_at(stream, budget=1.0) is not None


def test_thousands_of_samples_are_no_trouble():
    """A call of 20 µs gives them within a second. An interval in binomials must not outgrow a float."""
    assert stop_reason(list(np.geomspace(1e-5, 1e-3, 3000)), 0.5, 1e-9, 1.0) == "noise_plateau"


def warmed_at(stream, budget=1e9):
    warm_up = WarmUp(budget)
    for count, value in enumerate(stream, 1):
        if warm_up.done(value):
            return count, warm_up.converged
    return None


def test_warm_up_ends_when_two_windows_agree():
    assert warmed_at([1.0] * 100) == (20, True)
    assert warmed_at([5.0] * 7 + [1.0] * 100) == (22, True) or warmed_at([5.0] * 7 + [1.0] * 100)[1]


def test_warm_up_is_bounded_by_calls_and_by_time():
    assert warmed_at(np.geomspace(1, 1e9, 200)) == (MOST_WARM_UP, False)
    assert warmed_at([1.0] * 100, budget=10.0) == (11, False)
    assert warmed_at([100.0] + [1.0] * 100, budget=10.0) == (11, False), "the first call may compile"
    assert warmed_at([100.0] * 100, budget=10.0) == (3, False)


class Clock:
    """Moves only when it is moved."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def process_time(self):
        return 10 * self.now


class Program:
    """Enqueues for one second, needs three in all, and writes down what is asked of it."""

    device_clock = "process"

    def __init__(self, clock):
        self.clock, self.log = clock, []

    def device_timer(self):
        return None

    def prepare(self, index):
        self.clock.now += 100.0
        self.log.append(("prepare", index))
        return index

    def call(self, state):
        assert not gc.isenabled(), "a collection would fall into a timed call"
        self.clock.now += 1.0
        self.log.append(("call", state))
        return state

    def wait(self, result):
        self.clock.now += 2.0
        self.log.append(("wait", result))


def sampled(rel_ci=0.01, budget=1e6):
    clock = Clock()
    program = Program(clock)
    return program, *sample(Phase(program.prepare, program.call), program, rel_ci, budget, clock)


def test_only_the_call_and_its_wait_are_timed():
    _, samples, _ = sampled()
    assert set(samples.wall) == {3.0}
    assert set(samples.enqueue) == {1.0}
    assert set(samples.device) == {30.0}
    assert samples.at == [103.0 * i for i in range(len(samples.wall))]
    assert (samples.stop_reason, samples.warm_up_calls, samples.warm_up_converged) == ("converged", 20, True)


def test_every_call_is_prepared_called_and_waited_for_in_turn():
    program, samples, result = sampled()
    count = samples.warm_up_calls + len(samples.wall)
    assert program.log == [(what, i) for i in range(count) for what in ("prepare", "call", "wait")]
    assert result == count - 1, "the last result is handed out"


def test_the_budget_counts_everything_that_a_phase_takes():
    _, samples, _ = sampled(rel_ci=1e-9, budget=1.0)
    assert (len(samples.wall), samples.stop_reason) == (3, "budget")


def test_a_first_call_that_compiles_costs_no_samples():
    clock = Clock()
    program = Program(clock)
    wait, compiling = program.wait, iter([5000.0])

    def first(result):
        wait(result)
        clock.now += next(compiling, 0.0)

    program.wait = first
    samples, _ = sample(Phase(program.prepare, program.call), program, 0.01, 5100.0, clock)
    assert (samples.warm_up_converged, samples.stop_reason, len(samples.wall)) == (True, "converged", 7)


def test_collection_is_on_again_even_after_an_error():
    clock = Clock()
    program = Program(clock)

    def fails(state):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        sample(Phase(program.prepare, fails), program, 0.01, 1.0, clock)
    assert gc.isenabled()


class Timer:
    """A device's own clock: only read after the wait."""

    def __init__(self, log):
        self.log = log

    def start(self):
        self.log.append("start")

    def stop(self):
        self.log.append("stop")

    def seconds(self):
        self.log.append("seconds")
        return 7.0


def test_a_device_timer_surrounds_the_call_and_is_read_after_the_wait():
    clock = Clock()
    program = Program(clock)
    program.device_clock, program.device_timer = "events", lambda: Timer(program.log)
    samples, _ = sample(Phase(program.prepare, program.call), program, 0.01, 1.0, clock)
    assert program.log[:6] == [("prepare", 0), "start", ("call", 0), "stop", ("wait", 0), "seconds"]
    assert set(samples.device) == {7.0}
    assert samples.warnings() == ["W-SYNC: device time exceeds wall time: the device was not waited for"]
