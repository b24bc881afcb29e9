"""Mandatory work and the least time, against figures reckoned by hand."""

import time
from dataclasses import replace

import pytest
from support.networks import network_of

from snnbench.adapters.base.case import Case
from snnbench.adapters.base.network import INPUT, Network, Node
from snnbench.measure import ceilings
from snnbench.measure.floor import Ceilings, Work, floor, implausible, mandatory, products

CASE = Case("any", neurons=10, time_steps=7, batch=3)
PRODUCT = 2 * 7 * 3 * 10 * 10  # 4200 flops
BORDER = 7 * 3 * 10 * 4  # 840 bytes
WEIGHTS = 10 * 10 * 4  # 400 bytes


def changed(**values):
    return replace(CASE, **values)


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
    assert mandatory(case, network_of(case), phase) == Work(flops, moved)


def conv(kernel, stride):
    return Network((2, 9, 11), (Node("conv1", "conv", (INPUT,), {"outputs": 4, "kernel": kernel, "stride": stride}),))


@pytest.mark.parametrize(("kernel", "stride", "pixels", "savings"), [(3, 1, 7 * 9, 4), (3, 2, 4 * 5, 1), (5, 1, 5 * 7, 1)])
def test_a_convolution_that_winograd_can_do_counts_a_quarter(kernel, stride, pixels, savings):
    """A direct 3×3 convolution of stride 1 is no lower bound: a floor of its flops would refuse true times."""
    case, network = CASE, conv(kernel, stride)
    direct = 2 * (7 * 3 * pixels) * (2 * kernel**2) * 4
    assert products(case, network)["conv1"].flops == direct / savings
    moved = 4 * (7 * 3 * (2 * 9 * 11 + 4 * pixels) + 4 * 2 * kernel**2)
    assert mandatory(case, network, "forward") == Work(direct / savings, moved)


def test_of_a_network_only_weights_and_the_outer_borders_are_moved():
    case = changed(workload="contract")
    weights = 4 * 2 * 9 + 4 * 4 * 9 + 7 * 4 * 5 * 6
    given, handed_out = 7 * 3 * 2 * 9 * 11, 1 * 3 * 7
    assert mandatory(case, network_of(case), "forward").bytes == 4 * (weights + given + handed_out)
    assert mandatory(case, network_of(case), "backward").bytes == 4 * (2 * weights + 2 * given + handed_out)


def test_a_recurrent_linear_has_no_product_at_the_first_step():
    case = changed(workload="recurrent")
    assert products(case, network_of(case))["neuron1"].flops == 2 * 6 * 3 * 11 * 11


def test_the_floor_is_the_slower_of_the_two_ceilings():
    assert floor(CASE, network_of(CASE), "forward", Ceilings(flops=PRODUCT, bytes=1e12)) == 1.0
    assert floor(CASE, network_of(CASE), "forward", Ceilings(flops=1e12, bytes=WEIGHTS + 2 * BORDER)) == 1.0
    alone = changed(workload="lif")
    assert floor(alone, network_of(alone), "forward", Ceilings(flops=float("inf"), bytes=2 * BORDER)) == 1.0


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
