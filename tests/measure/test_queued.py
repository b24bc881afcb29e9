"""Times of a device: without the host's, of memory that its cache holds or does not, on a device
of numbers."""

import time
from functools import partial
from itertools import count

import pytest
from support.simulated_device import LAUNCH_S, SimulatedDevice

from snnbench.measure import queued
from snnbench.measure.ceilings import best_queued
from snnbench.measure.phases import Phases, Prepared
from snnbench.measure.queued import (
    BEYOND,
    MOST_SETS,
    MOST_TOGETHER,
    device_times,
    queued_seconds,
    sets_beyond,
    together,
)

MIB = 1 << 20


class Memory:
    """An array in memory of its own."""

    names = count()

    def __init__(self, nbytes):
        self.nbytes, self.name = nbytes, next(self.names)


class Program:
    """Launches `kernels` for a call; a backward meets the memory of its forward."""

    fixed_memory, shapes = {}, {}

    def __init__(self, device, kernels=1, weights=0):
        self.device, self.kernels, self.weights, self.rolls = device, kernels, weights, 0

    def argument_bytes(self):
        return self.weights

    def roll_parameters(self, turn):
        self.rolls += 1
        self.device.kernel("weights", self.weights)

    def roll_input(self, buffer, given, turn):
        rolled = Memory(given.nbytes) if buffer is None else buffer
        self.device.kernel(rolled.name, rolled.nbytes)
        return rolled

    def release(self):
        pass

    def prepare_inference(self, statistics):
        pass

    def forward(self, x, upstream=None):
        for _ in range(self.kernels):
            self.device.kernel(x.name, x.nbytes)
        return x

    inference = step = backward = forward


def phases_of(device, nbytes, **given):
    program = Program(device, **given)
    given = Memory(nbytes)
    return Phases(program, [given, given], given, 7)


PHASES = ["forward", "backward", "step", "inference"]


@pytest.mark.parametrize("name", PHASES)
@pytest.mark.parametrize("nbytes", [1 * MIB, 7 * MIB, 200 * MIB])
def test_a_kernel_of_3_us_takes_3_us_whatever_it_takes_to_launch_it(name, nbytes):
    device = SimulatedDevice()
    told = device_times(device, phases_of(device, nbytes), name, 20e-6)
    assert told["device"] == pytest.approx(3e-6, rel=1e-6)
    if name == "backward":
        assert told["device_warm"] is None, "a hundred forwards have more memory than the cache"
    else:
        assert told["device_warm"] == pytest.approx(3e-6 if nbytes > 50 * MIB else 1e-6, rel=0.03)


def test_a_small_backward_is_told_to_be_warm():
    device = SimulatedDevice()
    assert device_times(device, phases_of(device, MIB // 8), "backward", 20e-6) == {
        "device": None,
        "device_warm": pytest.approx(1e-6, rel=0.03),
    }


def one_call_with_its_launch(device, phases, name, typical):
    calls, spans = phases.in_a_row(name, 8, True), []
    for one in calls:
        device.wait()
        first = device.mark()
        one.call()
        last = device.mark()
        device.wait()
        spans.append(device.seconds(first, last))
    return {"device": sum(spans) / len(spans)}


def on_two_buffers(device, phases, name, typical):
    two = phases.in_a_row(name, 2, True) * 20
    return {"device": queued_seconds(device, lambda: two, len(two), True)}


def without_a_hold(device, phases, name, typical):
    calls = phases.in_a_row(name, 64, True)
    device.wait()
    first = device.mark()
    for one in calls:
        one.call()
    last = device.mark()
    device.wait()
    return {"device": device.seconds(first, last) / len(calls)}


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [(one_call_with_its_launch, 12e-6), (on_two_buffers, 1e-6), (without_a_hold, 8e-6)],
)
def test_the_device_of_numbers_shows_every_fault(fault, seconds):
    """Planted: one call timed with its launch, buffers that the cache holds, asking counted as
    computing."""
    device = SimulatedDevice()
    wrong = fault(device, phases_of(device, 7 * MIB), "forward", 20e-6)["device"]
    assert wrong == pytest.approx(seconds, rel=0.2) and not 2e-6 < wrong < 4e-6


def test_a_host_that_cannot_keep_ahead_has_its_time_nowhere(monkeypatch):
    """A loop of two thousand kernels has no room in the queue: the device works while the host
    still asks."""
    device = SimulatedDevice()
    phases = phases_of(device, 7 * MIB, kernels=2000)
    assert device_times(device, phases, "forward", 2000 * LAUNCH_S) == {
        "device": None,
        "device_warm": None,
    }
    monkeypatch.setattr(queued, "HOLDS", (0,))
    assert device_times(device, phases_of(device, 7 * MIB), "forward", 20e-6)["device"] is None, (
        "planted: no hold at all"
    )


def test_a_hold_lasts_as_long_as_asking_needs():
    device = SimulatedDevice(launch=300e-6)
    assert device_times(device, phases_of(device, 7 * MIB), "forward", 350e-6)[
        "device"
    ] == pytest.approx(3e-6, rel=1e-6)


def test_parameters_are_renewed_before_every_forward_and_are_not_in_its_time():
    device = SimulatedDevice()
    phases = phases_of(device, 7 * MIB, weights=60 * MIB)
    phases.program.shapes = {"linear1": {"weight": (97, 97)}}
    told = device_times(device, phases, "forward", 20e-6)
    assert told["device"] == pytest.approx(3e-6, rel=1e-6)
    assert phases.program.rolls >= sets_beyond(device.cache_bytes, 67 * MIB) + together(20e-6)


@pytest.mark.parametrize("name", PHASES)
@pytest.mark.parametrize("nbytes", [MIB // 8, 7 * MIB, 200 * MIB])
def test_what_has_one_memory_is_cold_behind_what_passes_the_cache(name, nbytes, monkeypatch):
    device = SimulatedDevice()
    phases = phases_of(device, nbytes)
    phases.fixed_memory, sizes, flush = {"x": None}, set(), device.flush
    monkeypatch.setattr(device, "flush", lambda size: sizes.add(size) or flush(size))
    warm = pytest.approx(3e-6 if nbytes > 50 * MIB else 1e-6, rel=0.03)
    assert device_times(device, phases, name, 20e-6) == {
        "device": pytest.approx(3e-6, rel=1e-6),
        "device_warm": warm,
    }
    assert sizes == {BEYOND * device.cache_bytes}
    monkeypatch.setattr(device, "flush", lambda size: None)
    assert device_times(device, phases, name, 20e-6)["device"] == warm, (
        "planted: nothing passes the cache"
    )


def test_calls_pass_four_times_the_cache_before_they_meet_the_same_memory():
    assert sets_beyond(50 * MIB, 7 * MIB) * 7 >= BEYOND * 50
    assert sets_beyond(50 * MIB, 700 * MIB) == 2
    assert sets_beyond(50 * MIB, MIB // 2) is None and sets_beyond(50 * MIB, MIB) <= MOST_SETS
    assert (together(1e-6), together(1e-3), together(10.0)) == (MOST_TOGETHER, 2, 1)


def test_results_of_cold_calls_live_to_the_end_and_those_of_warm_ones_do_not():
    device, alive, most = SimulatedDevice(), set(), []

    class Result:
        def __init__(self):
            alive.add(id(self))
            most.append(len(alive))

        def __del__(self):
            alive.discard(id(self))

    for keep, expected in ((True, 12), (False, 1)):
        most.clear()
        queued_seconds(device, lambda: [Prepared(Result)] * 12, 4, keep)
        assert max(most) == expected


def test_ceilings_of_a_device_have_no_launch_in_them_and_keep_warm_and_cold_apart():
    device = SimulatedDevice(cold=4e-6, warm=2e-6)
    calls = [partial(device.kernel, name, 7 * MIB) for name in range(40)]
    began = time.monotonic()
    assert best_queued(device, calls[:1], 5) == pytest.approx(2e-6, rel=1e-3)
    assert best_queued(device, calls, 5) == pytest.approx(4e-6, rel=1e-3)
    assert time.monotonic() - began < 5


def test_a_ceiling_that_the_host_holds_back_is_none():
    device = SimulatedDevice()

    def slow():
        for _ in range(2000):
            device.kernel("a", MIB)

    with pytest.raises(RuntimeError, match="the host cannot ask"):
        best_queued(device, [slow], 3)
