"""The limits of the judge against the formulas of the method."""

from dataclasses import replace

import numpy as np
import pytest
from support.networks import network_of

from snnbench.core.case import Case
from snnbench.kernels.spec import NeuronSpec
from snnbench.proof.limits import Limits, limits, limits_of

SOFT = NeuronSpec()


def test_small_and_short_problems_have_the_smallest_limits():
    limit = limits("fp32", SOFT, 97, 37 * 3, 37)
    assert (limit.decisions, limit.distance, limit.gradient, limit.bias_gradient) == (
        1e-4,
        1e-5,
        1e-5,
        1e-5,
    )


@pytest.mark.parametrize(
    ("neuron", "inputs", "steps", "batch", "distance", "gradient"),
    [
        (SOFT, 2048, 100, 16, 2e-5, 1e-5),
        (SOFT, 65536, 100, 16, 1e-5 * np.sqrt(128), 2e-5),
        (SOFT, 512, 4096, 64, 1e-5, 4e-5),
        (replace(SOFT, threshold=0.3), 512, 100, 16, 3e-6, 1e-5),
        (
            replace(SOFT, decay=0.99),
            512,
            500,
            16,
            1e-5 * 7.08881205008336 / 2.9,
            1e-5 * 7.08881205008336 / 2.9,
        ),
        (replace(SOFT, decay=0.99), 512, 25, 16, 1e-5 * 5 / 2.9, 1e-5 * 5 / 2.9),
        (replace(SOFT, decay=1.0), 512, 400, 16, 1e-5 * 20 / 2.9, 1e-5 * 20 / 2.9),
        (replace(SOFT, decay=0.2), 512, 400, 16, 1e-5, 1e-5),
    ],
)
def test_limits_grow_with_summed_products_and_memory(
    neuron, inputs, steps, batch, distance, gradient
):
    limit = limits("fp32", neuron, inputs, max(inputs, steps * batch), steps)
    assert limit.distance == pytest.approx(distance, rel=1e-9)
    assert limit.gradient == limit.bias_gradient == pytest.approx(gradient, rel=1e-9)
    assert limit.decisions == 1e-4


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16", "amp-bf16"])
def test_rounding_of_stacked_layers_adds_up_in_short_formats_only(precision):
    one, four = (limits(precision, SOFT, 97, 111, 37, layers) for layers in (1, 4))
    assert (four.gradient, four.bias_gradient) == (2 * one.gradient, 2 * one.bias_gradient)
    assert (four.decisions, four.distance) == (one.decisions, one.distance)
    assert limits("fp32", SOFT, 97, 111, 37, 4) == limits("fp32", SOFT, 97, 111, 37)


@pytest.mark.parametrize(
    ("precision", "decisions", "distance", "gradient", "bias_gradient"),
    [
        ("tf32", 1e-4, 4e-5, 1e-3, 1e-3),
        ("fp16", 2e-3, 0.02, 0.006, 0.01),
        ("bf16", 8e-3, 0.15, 0.04, 0.06),
        ("amp-bf16", 8e-3, 0.15, 0.04, 0.06),
    ],
)
def test_limits_of_short_formats(precision, decisions, distance, gradient, bias_gradient):
    limit = limits(precision, SOFT, 2048, 2048, 100)
    judged = (limit.decisions, limit.distance, limit.gradient, limit.bias_gradient)
    assert judged == pytest.approx((decisions, distance, gradient, bias_gradient))


@pytest.mark.parametrize(
    "changes", [{}, {"layers": 3}, {"workload": "lif"}, {"precision": "bf16", "layers": 2}], ids=str
)
def test_every_node_of_a_chain_has_the_chain_s_limits(changes):
    case = Case("any", neurons=2048, time_steps=100, batch=16, **changes)
    inputs = 1 if case.workload == "lif" else 2048
    expected = limits(case.precision, SOFT, inputs, max(inputs, 1600), 100, case.layers)
    assert set(limits_of(case, network_of(case)).values()) == {expected}


def test_limits_of_a_network_grow_with_the_values_that_a_gradient_sums_over():
    case = Case("any", workload="contract", time_steps=50, batch=64)
    allowed = limits_of(case, network_of(case))
    assert allowed["conv1"].gradient == pytest.approx(2e-5 * np.sqrt(50 * 64 * 99 / 16384))
    assert allowed["linear1"].gradient == allowed["mean1"].gradient == 2e-5
    assert allowed["neuron1"] == Limits(
        1e-4, 1e-5, allowed["conv1"].gradient, allowed["conv1"].gradient
    )


def test_one_decision_of_a_tiny_network_may_be_within_rounding():
    case = Case("any", workload="contract", time_steps=5, batch=3)
    assert limits_of(case, network_of(case))["neuron2"].decisions == 1 / (5 * 3 * 4 * 5 * 6)


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_one_decision_of_a_small_layer_may_be_another(precision):
    """Its timed calls draw thousands of decisions; one that is a rounding error from its
    threshold ended a right framework."""
    case = Case("torch", neuron=SOFT, neurons=64, time_steps=25, batch=4, precision=precision)
    assert limits_of(case, network_of(case))["neuron1"].decisions == 1 / (25 * 4 * 64)
    large = replace(case, neurons=1024)
    assert limits_of(large, network_of(large))["neuron1"].decisions == 1e-4
