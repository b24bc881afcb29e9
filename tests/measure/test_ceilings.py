"""What a device can do at best is looked at long enough, at sizes that tell something."""

import time

import pytest
from support.networks import network_of

from snnbench.adapters.base.case import Case
from snnbench.measure import ceilings
from snnbench.measure.ceilings import measure_ceilings


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
    assert ceilings.best_seconds(lambda: calls.append(None), 5) == pytest.approx(1e-6)
    assert len(calls) == pytest.approx(1 + ceilings.LEAST_SECONDS / 1e-6, rel=0.01)
    assert time.process_time() - begun < 1, "looking at the clock must not cost more than what is timed"


class Device:
    """Notes what is asked of it. In bf16 it is ten times slower."""

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
    monkeypatch.setattr(ceilings, "best_seconds", lambda call, least_calls: call())
    return Device()


def test_copies_are_of_the_size_of_the_call_and_of_its_cached_part(device):
    case = Case("any", neurons=1024, time_steps=100, batch=32)  # 4 MiB of weights, 12.5 MiB of input, 3.1 MiB of spikes
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
