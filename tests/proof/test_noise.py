"""Limits that follow what float32 can do: right gradients of steep surrogates, of few numbers and
of sums that cancel pass, and wrong ones beside them do not."""

from dataclasses import replace

import numpy as np
import pytest
from support.proofs import judged
from support.right_call import Right

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.kernels.spec import NeuronSpec

TORCH = registry.load(registry.FRAMEWORKS["torch"])
ODD = {"neurons": 97, "time_steps": 37, "batch": 3}
STEEP = [
    NeuronSpec("soft", slope=25.0),
    NeuronSpec("soft", slope=100.0),
    NeuronSpec("soft", surrogate="exponential", slope=25.0),
    NeuronSpec("hard", decay=0.5, surrogate="sigmoid", slope=100.0),
]


@pytest.mark.parametrize("spec", STEEP, ids=NeuronSpec.label)
def test_steep_surrogates_of_a_plain_loop_pass(spec):
    _, _, verdict = judged(TORCH, Case("torch", neuron=spec, **ODD))
    assert verdict.passed, verdict.findings
    assert max(verdict.allowed.values(), default=0.0) < 5e-4


@pytest.mark.parametrize("neurons", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_few_numbers_pass(neurons, seed):
    spec = NeuronSpec("soft", decay=0.99)
    case = Case("torch", neuron=spec, layers=2, neurons=neurons, time_steps=97, batch=2, seed=seed)
    _, _, verdict = judged(TORCH, case)
    assert verdict.passed, verdict.findings


def off_by(spec, **wrong):
    """A right call of a neuron with the gradients of another."""
    case = replace(Right().case, neuron=spec)
    right, other = Right(case), Right(replace(case, neuron=replace(spec, **wrong)))
    right.gradients = other.gradients
    return right.verdict()


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        (STEEP[0], {"slope": 25.01}),
        (STEEP[1], {"slope": 100.2}),
        (STEEP[2], {"slope": 25.01}),
        (STEEP[3], {"slope": 100.2}),
        (NeuronSpec("soft", slope=25.0), {"surrogate": "triangle"}),
    ],
)
def test_another_slope_is_wrong_all_the_same(spec, wrong):
    verdict = off_by(spec, **wrong)
    assert not verdict.passed
    assert verdict.grad_error < 2 or "surrogate" in wrong


def test_limits_of_a_flat_surrogate_stay_as_they_are():
    verdict = off_by(NeuronSpec("soft"), slope=1.0001)
    assert not verdict.passed and not verdict.allowed


def test_a_gradient_of_zeros_may_be_missing():
    """In a single step, a recurrent weight has no effect."""
    call = Right(Case("any", workload="recurrent-lif", neurons=5, time_steps=1, batch=3))
    call.gradients.parameters["neuron1"]["recurrent"] = None
    assert call.verdict().passed
    call.gradients.parameters["linear1"]["bias"] = None
    assert "the gradient of the bias of linear1 is missing" in call.finding()


def test_noise_that_overflows_widens_nothing():
    call = Right()
    call.problem.upstream = np.full_like(call.problem.upstream, 3e38)
    call.gradients.parameters["linear1"]["bias"][:] = np.inf
    verdict = call.verdict()
    assert any("bias is not finite" in finding for finding in verdict.findings)
    assert "bias" not in verdict.allowed
