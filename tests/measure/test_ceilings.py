"""What a device can do at best is looked at long enough, at sizes that tell something."""

import time
from functools import partial

import pytest
from support.networks import network_of
from support.simulated_device import LAUNCH_S, WAIT_S, SimulatedDevice

from snnbench.core.case import Case
from snnbench.measure import ceilings
from snnbench.measure.ceilings import measure_ceilings
from snnbench.measure.floor import judge_times


class Ticks:
    """A clock that moves a microsecond at every look."""

    def __init__(self):
        self.looks = 0

    def perf_counter(self):
        self.looks += 1
        return self.looks * 1e-6


def test_a_ceiling_is_the_best_of_many_calls_after_one_that_warms_up(monkeypatch):
    monkeypatch.setattr(ceilings, "time", Ticks())
    calls, begun = [], time.process_time()
    assert ceilings.best_seconds(1, [lambda: calls.append(None)], 5) == pytest.approx(1e-6)
    assert len(calls) == pytest.approx(1 + ceilings.LEAST_SECONDS / 1e-6, rel=0.01)
    assert time.process_time() - begun < 1, (
        "looking at the clock must not cost more than what is timed"
    )


def test_calls_that_are_waited_for_together_share_the_wait(monkeypatch):
    """On a device without marks, that is JAX on a GPU, a copy does not pay for a launch and a
    wait of its own."""
    device, waits = SimulatedDevice(cold=4e-6, warm=4e-6), []
    monkeypatch.setattr(ceilings, "time", device)
    monkeypatch.setattr(ceilings, "settled", lambda result: waits.append(device.wait()))
    copy = partial(device.kernel, "a", 1 << 20)
    assert ceilings.best_seconds(32, [copy], 5) == pytest.approx(LAUNCH_S + WAIT_S / 32, rel=0.1)
    assert ceilings.best_seconds(1, [copy], 5) == pytest.approx(LAUNCH_S + 4e-6 + WAIT_S, rel=0.1)


class Device:
    """Notes what is asked of it. In bf16 it is ten times slower."""

    def device_queue(self):
        return None

    def __init__(self):
        self.copied, self.products = [], []

    def copy(self, count):
        self.copied.append(8 * count)
        return lambda: 8 * count / 1e9

    def matmul(self, rows, inner, columns, name):
        self.products.append((rows, inner, columns, name))
        return lambda: 2.0 * rows * inner * columns / (1e9 if name == "bf16" else 1e10)


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setattr(ceilings, "best_seconds", lambda in_a_row, calls, least_calls: calls[0]())
    return Device()


def test_copies_are_of_the_size_of_the_call_and_of_its_cached_part(device):
    case = Case(
        "any", neurons=1024, time_steps=100, batch=32
    )  # 4 MiB of weights, 12.5 MiB of input, 3.1 MiB of spikes
    measured = measure_ceilings(device, case, network_of(case))
    assert sorted(device.copied) == sorted(measured.copies) == [1 << 20, 1 << 22, 1 << 24]
    assert list(measured.copies.values()) == pytest.approx([1e9] * 3)


def test_slow_formats_are_tried_and_not_measured(device):
    case = Case("any", neurons=1024, time_steps=100, batch=32)
    measured = measure_ceilings(device, case, network_of(case))
    assert measured.products == pytest.approx({"fp32": 1e10, "bf16": 1e9, "fp16": 1e10})
    tried = [rows for rows, *_, name in device.products if name == "bf16"]
    assert tried == [int(2e8 / (2 * 1024 * 1024))]
    assert (3200, 1024, 1024, "fp32") in device.products


def test_a_small_product_is_measured_with_more_rows(device):
    case = Case("any", neurons=97, time_steps=37, batch=3)
    measure_ceilings(device, case, network_of(case))
    assert {rows for rows, *_ in device.products} == {int(2e8 / (2 * 97 * 97))}


def test_a_neuron_alone_has_no_product(device):
    case = Case("any", workload="lif", neurons=97, time_steps=37, batch=3)
    assert measure_ceilings(device, case, network_of(case)).products == {}
    assert device.products == []


class Gpu:
    """Copies and multiplies on a device of numbers: 4 TB/s cold, 8 TB/s from the cache, a
    microsecond to begin with."""

    def __init__(self):
        self.queue = SimulatedDevice(cold=1e-6, rates=(4e12, 8e12))

    def device_queue(self):
        return self.queue

    def copy(self, count):
        return partial(self.queue.kernel, object(), 8 * count)

    def matmul(self, rows, inner, columns, name):
        return partial(self.queue.kernel, object(), 4 * rows * inner)


def test_an_honest_kernel_of_3_us_is_not_refused(monkeypatch):
    case = Case("any", workload="lif", neurons=512, time_steps=100, batch=16, device="cuda")
    network, timed, gpu = network_of(case), {"forward": 3e-6}, Gpu()
    measured = measure_ceilings(gpu, case, network)
    assert max(measured.copies.values()) == pytest.approx(
        (16 << 20) / (1e-6 + (16 << 20) / 8e12), rel=0.01
    )
    assert judge_times(case, network, measured, 0.5, timed)["forward"].reason is None
    assert judge_times(case, network, measured, 0.5, {"forward": 0.2e-6})["forward"].reason, (
        "and one that does nothing is"
    )
    # Planted: copies that are launched and waited for one by one.
    monkeypatch.setattr(gpu, "device_queue", lambda: None)
    monkeypatch.setattr(ceilings, "time", gpu.queue)
    monkeypatch.setattr(ceilings, "settled", lambda result: gpu.queue.wait())
    monkeypatch.setattr(ceilings, "IN_A_ROW", 1)
    slow = measure_ceilings(gpu, case, network)
    assert max(slow.copies.values()) < 0.8e12
    assert judge_times(case, network, slow, 0.5, timed)["forward"].reason
