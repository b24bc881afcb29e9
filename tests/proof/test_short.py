"""Gradients and decisions in short formats are judged by what rounding to the format does to them:
right ones of plain loops pass, gradients that are too small as a whole and decisions beyond rounding
do not."""

import numpy as np
import pytest
from support.proofs import judged
from support.right_call import Right

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.kernels.spec import NeuronSpec
from snnbench.proof.judge import judge
from snnbench.proof.noise import decision_noise
from snnbench.proof.recurrence import from_threshold

PLAIN = {name: registry.load(registry.FRAMEWORKS[name]) for name in ("torch", "jax")}
AT_REST = NeuronSpec("hard", decay=0.1, surrogate="rectangle", slope=0.5)
"""Its window ends at the potential 0: bf16 rounds small ones less the threshold onto its edge."""
ODD = {"time_steps": 37, "batch": 3}


def fault_of(name, case):
    _, _, verdict = judged(PLAIN[name], case)
    return [f"{name}, {case.precision}, {case}: {finding}" for finding in verdict.findings[-1:]]


@pytest.mark.parametrize(
    ("name", "precision", "workload", "neurons", "spec"),
    [
        ("torch", "bf16", "lif", 97, NeuronSpec("none", decay=0.99)),
        ("torch", "bf16", "linear-lif", 97, NeuronSpec("soft", surrogate="rectangle", slope=5.0)),
        ("torch", "bf16", "linear-lif", 1, NeuronSpec("hard", surrogate="sigmoid", slope=100.0)),
        ("torch", "bf16", "lif", 2, AT_REST),
        ("torch", "fp16", "linear-lif", 16, NeuronSpec("soft", decay=0.5, slope=100.0)),
        ("jax", "bf16", "linear-lif", 16, NeuronSpec("soft", slope=25.0)),
        ("jax", "bf16", "lif", 97, NeuronSpec("soft", decay=0.99)),
    ],
    ids=str,
)
def test_right_loops_pass(name, precision, workload, neurons, spec):
    bias = workload != "lif"
    sizes = {"workload": workload, "neurons": neurons, "bias": bias, **ODD}
    case = Case(name, neuron=spec, precision=precision, **sizes)
    assert fault_of(name, case) == []


@pytest.mark.parametrize("precision", ["bf16", "fp16", "amp-bf16"])
@pytest.mark.parametrize("reset", ["soft", "hard", "none"])
def test_a_gradient_15_percent_too_small_is_wrong_behind_a_rectangle(reset, precision):
    spec = NeuronSpec(reset, surrogate="rectangle")
    call = Right(Case("any", neuron=spec, neurons=97, precision=precision, **ODD))
    assert call.verdict().passed
    call.gradients.parameters["linear1"]["weight"] *= np.float32(0.85)
    assert "the gradient of the weight is 0.85 times the right one" in call.finding()


@pytest.mark.parametrize("factor", [0.85, 1.15])
def test_a_scaled_gradient_is_wrong_among_rounded_ones(factor, monkeypatch):
    """A torch loop's gradients behind a rectangle in bf16 are off by several percent."""
    calls = []

    def keep(problem, call, limits):
        calls.append((problem, call, limits))
        return judge(problem, call, limits)

    monkeypatch.setattr("snnbench.proof.stages.judge", keep)
    spec = NeuronSpec("hard", decay=0.5, surrogate="rectangle")
    judged(PLAIN["torch"], Case("torch", neuron=spec, neurons=97, precision="bf16", **ODD))
    problem, call, limits = calls[0]
    verdict = judge(problem, call, limits)
    assert verdict.passed and verdict.grad_error > 0.05 and verdict.allowed
    call.gradients.input *= np.float32(factor)
    (finding,) = judge(problem, call, limits).findings
    assert "the gradient of the input is" in finding and "with noise (allowed 1 ± " in finding


@pytest.mark.parametrize(
    ("precision", "potential", "passes"),
    [("bf16", 0.997, True), ("bf16", 0.995, False), ("fp16", 0.997, False), ("fp16", 0.9996, True)],
)
def test_a_potential_that_a_format_cannot_tell_from_the_threshold_may_fire(
    precision, potential, passes
):
    sizes = {"neurons": 2, "bias": False, "time_steps": 1, "batch": 3}
    call = Right(Case("any", workload="lif", precision=precision, **sizes))
    call.problem.input = np.full((1, 3, 2), potential, np.float32)
    call.spikes["neuron1"] = np.ones((1, 3, 2), np.float32)
    assert call.verdict(gradients=False).passed is passes


@pytest.mark.parametrize(("every", "passes"), [(10, True), (1, False)])
def test_decisions_within_the_rounding_of_a_slow_neuron_are_not_held_against_it(every, passes):
    """As many as rounding turns, that is; without reset one decision changes no other."""
    spec, sizes = NeuronSpec("none", decay=1.0), {**ODD, "time_steps": 199}
    call = Right(Case("any", neuron=spec, neurons=97, precision="bf16", **sizes))
    (name,), network, spikes = call.spikes, call.problem.network, call.spikes["neuron1"]
    turned, moved = decision_noise(
        call.problem.parameters, call.run, network.node(name), call.problem.precision
    )
    near = np.flatnonzero(from_threshold(spec, call.run.potentials[name]) < moved)[::every]
    spikes.flat[near] = 1 - spikes.flat[near]
    assert (len(near) / spikes.size < turned) is passes
    assert call.verdict(gradients=False, decisions=0.0).passed is passes


@pytest.mark.parametrize("reset", ["soft", "hard", "none"])
@pytest.mark.parametrize("decay", [0.5, 0.99])
def test_one_decision_far_beyond_rounding_is_wrong(reset, decay):
    spec = NeuronSpec(reset, decay=decay)
    call = Right(Case("any", neuron=spec, neurons=97, precision="bf16", **ODD))
    call.flip(near=spec.threshold + (0.3 if decay == 0.5 else 2.0))
    assert "of the decisions are wrong" in call.finding(gradients=False)


@pytest.mark.parametrize("reset", ["soft", "hard", "none"])
def test_rounding_hardly_widens_the_limit_of_many_numbers_and_a_flat_surrogate(reset):
    spec = NeuronSpec(reset)
    call = Right(Case("any", neuron=spec, neurons=97, precision="bf16", **ODD))
    random = np.random.default_rng(3)
    weight = call.gradients.parameters["linear1"]["weight"]
    noise = random.standard_normal(weight.shape, np.float32)
    weight += 0.08 * noise * np.linalg.norm(weight) / np.linalg.norm(noise)
    assert "the gradient of the weight is off by 8.0e-02" in call.finding()
