"""Mandatory work and the least time, against figures reckoned by hand."""

import time

import pytest

from snnbench.adapters.base.case import Case
from snnbench.kernels.work import Work
from snnbench.measure import ceilings
from snnbench.measure.floor import Ceilings, floor, implausible, mandatory

CASE = Case("any", neurons=10, time_steps=7, batch=3)
PRODUCT = 2 * 7 * 3 * 10 * 10  # 4200 flops
BORDER = 7 * 3 * 10 * 4  # 840 bytes
WEIGHTS = 10 * 10 * 4  # 400 bytes


def changed(**values):
    return Case(**{**CASE.as_dict(), "neuron": CASE.neuron, **values})


@pytest.mark.parametrize(
    ("case", "phase", "flops", "moved"),
    [
        (CASE, "forward", PRODUCT, WEIGHTS + 2 * BORDER),
        (CASE, "inference", PRODUCT, WEIGHTS + 2 * BORDER),
        # reads weights, input and upstream gradient; writes gradients of weights and input
        (CASE, "backward", 2 * PRODUCT, WEIGHTS + 2 * BORDER + WEIGHTS + BORDER),
        (CASE, "step", 3 * PRODUCT, 3 * WEIGHTS + 5 * BORDER),
        # without an input gradient one product less, and the weights are not read
        (changed(input_grad=False), "backward", PRODUCT, 2 * BORDER + WEIGHTS),
        (changed(layers=3), "forward", 3 * PRODUCT, 3 * WEIGHTS + 2 * BORDER),
        (changed(layers=3), "backward", 6 * PRODUCT, 3 * WEIGHTS + 2 * BORDER + 3 * WEIGHTS + BORDER),
        (changed(layers=3, input_grad=False), "backward", 5 * PRODUCT, 3 * WEIGHTS + 2 * BORDER + 3 * WEIGHTS),
        (changed(precision="bf16"), "forward", PRODUCT, (WEIGHTS + 2 * BORDER) / 2),
        (changed(workload="lif"), "forward", 0, 2 * BORDER),
        (changed(workload="lif"), "backward", 0, 3 * BORDER),
        (changed(workload="lif"), "step", 0, 5 * BORDER),
    ],
)
def test_work_that_nothing_can_avoid(case, phase, flops, moved):
    assert mandatory(case, phase) == Work(flops, moved)


def test_the_floor_is_the_slower_of_the_two_ceilings():
    assert floor(CASE, "forward", Ceilings(flops=PRODUCT, bytes=1e12)) == 1.0
    assert floor(CASE, "forward", Ceilings(flops=1e12, bytes=WEIGHTS + 2 * BORDER)) == 1.0
    assert floor(changed(workload="lif"), "forward", Ceilings(flops=float("inf"), bytes=2 * BORDER)) == 1.0


@pytest.mark.parametrize(("device", "allowed"), [("cpu", 0.5), ("cuda", 0.9), ("cuda:1", 0.9)])
def test_a_time_below_the_floor_is_refused(device, allowed):
    case = changed(device=device)
    assert implausible(case, allowed * 1.001, 1.0) is None
    assert f"below {allowed} of the floor" in implausible(case, allowed * 0.999, 1.0)


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
