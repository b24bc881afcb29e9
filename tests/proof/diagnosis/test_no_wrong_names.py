"""What has no name gets none: a wrong name costs more than a missing one. And names that no
wrong adapter reaches."""

from dataclasses import replace

import numpy as np
import pytest
from support.diagnosis import CASE, currents_of, gradients_of, named, right_spec, spikes_of
from support.proofs import problem_of
from support.slow import representatives

from snnbench.kernels.spec import NEURONS
from snnbench.kernels.surrogates import derivative
from snnbench.proof.diagnosis import arrays
from snnbench.proof.limits import limits_of
from snnbench.proof.recurrence import run, run_backward

NEURON = pytest.mark.parametrize("neuron", representatives(["soft", "hard", "none"], [0]))


def problem_with(neuron):
    case = replace(CASE, neuron=NEURONS[neuron])
    return case, problem_of(case)


def with_weight(problem, weight):
    return replace(
        problem,
        parameters={
            "linear1": {**problem.parameters["linear1"], "weight": weight.astype(np.float32)}
        },
    )


@NEURON
@pytest.mark.parametrize("noise", [1e-4, 1e-2, 1.0])
def test_noise_in_a_gradient_has_no_name(neuron, noise):
    case, problem = problem_with(neuron)
    random, spikes = np.random.default_rng(1), spikes_of(problem)
    noisy = lambda array: (
        array * (1 + noise * random.standard_normal(array.shape)).astype(np.float32)
    )
    for name in ("weight", "bias", "input"):
        gradients = gradients_of(problem, spikes)
        if name == "input":
            gradients.input = noisy(gradients.input)
        else:
            gradients.parameters["linear1"][name] = noisy(gradients.parameters["linear1"][name])
        assert named(problem, case, spikes, gradients) is None


@NEURON
def test_a_gradient_that_is_off_by_neuron_has_no_name(neuron):
    case, problem = problem_with(neuron)
    spikes, factors = spikes_of(problem), np.random.default_rng(2).uniform(0.8, 1.2, 97)
    assert (
        named(
            problem,
            case,
            spikes,
            gradients_of(problem, spikes, pull=lambda gradient: factors * gradient),
        )
        is None
    )


@NEURON
@pytest.mark.parametrize("noise", representatives([1e-2, 0.1], [0]))
def test_noise_in_the_weights_has_no_name(neuron, noise):
    case, problem = problem_with(neuron)
    weight = problem.parameters["linear1"]["weight"]
    wrong = with_weight(
        problem, weight * (1 + noise * np.random.default_rng(3).standard_normal(weight.shape))
    )
    spikes = spikes_of(wrong)
    assert named(problem, case, spikes) is None
    assert named(problem, case, spikes, gradients_of(wrong, spikes)) is None


@NEURON
def test_a_little_noise_is_told_by_its_size(neuron):
    case, problem = problem_with(neuron)
    weight = problem.parameters["linear1"]["weight"]
    wrong = with_weight(
        problem, weight * (1 + 1e-3 * np.random.default_rng(3).standard_normal(weight.shape))
    )
    spikes = spikes_of(wrong)
    said = named(problem, case, spikes, gradients_of(wrong, spikes))
    assert said.startswith("potentials are inexact, by up to about 0.00")


@NEURON
def test_two_faults_at_once_are_not_called_one(neuron):
    case, problem = problem_with(neuron)
    wrong = with_weight(problem, np.round(problem.parameters["linear1"]["weight"] * 64) / 64)
    spec = replace(right_spec(problem), decay=0.93)
    spikes = spikes_of(wrong, spec)
    assert named(problem, case, spikes) is None
    assert named(problem, case, spikes, gradients_of(wrong, spikes, spec)) is None


@NEURON
@pytest.mark.parametrize(("levels", "bits"), [(128, 8), (7, 4), (15, 5), (1, 2)])
def test_rounded_weights_are_told_with_their_bits(neuron, levels, bits):
    case, problem = problem_with(neuron)
    weight = problem.parameters["linear1"]["weight"]
    step = np.abs(weight).max() / levels
    spikes = spikes_of(
        wrong := with_weight(
            problem, np.clip(np.round(weight / step), -(2 ** (bits - 1)), levels) * step
        )
    )
    said = named(problem, case, spikes, gradients_of(wrong, spikes))
    assert said == f"weights are rounded to {bits} bits (in steps of 1/{levels} of the largest)"


@NEURON
@pytest.mark.parametrize("distance", representatives([0.1, 0.37, 3.0], [1]))
def test_the_distance_at_which_a_surrogate_is_cut_off_is_found(neuron, distance):
    case, problem = problem_with(neuron)
    spikes, spec = spikes_of(problem), right_spec(problem)
    v, _ = run(spec, currents_of(problem))
    slope = np.where(np.abs(v - 1) <= distance, derivative(spec, np)(v - 1), 0)
    by_current = run_backward(spec, v, spikes, problem.upstream.astype(np.float64), slope=slope)
    said = named(problem, case, spikes, gradients_of(problem, spikes, pull=lambda _: by_current))
    assert said.startswith("the surrogate is zero where the potential is further than about ")
    assert float(said.split("about ")[1].split()[0]) == pytest.approx(distance, rel=0.05)


@NEURON
@pytest.mark.parametrize("place", [np.s_[:3], np.s_[-2:]])
def test_lost_steps_are_counted(neuron, place):
    case, problem = problem_with(neuron)

    def pull(gradient):
        gradient = gradient.copy()
        gradient[place] = 0
        return gradient

    spikes = spikes_of(problem)
    words = "first 3 steps" if place == np.s_[:3] else "last 2 steps"
    assert (
        named(problem, case, spikes, gradients_of(problem, spikes, pull=pull))
        == f"the gradient of the {words} is lost"
    )


@pytest.mark.slow
@NEURON
def test_places_of_a_wrong_gradient(neuron):
    case, problem = problem_with(neuron)
    spikes = spikes_of(problem)
    every_seventh = lambda gradient: np.where(np.arange(37)[:, None, None] % 7 == 3, 0, gradient)
    said = named(problem, case, spikes, gradients_of(problem, spikes, pull=every_seventh))
    assert (
        said
        == "the gradient of the input is wrong for steps 3, 10, 17, 24, 31 only, and zero there"
    )
    by_item = lambda gradient: gradient * np.array([1, 0.5, 2])[:, None]
    said = named(problem, case, spikes, gradients_of(problem, spikes, pull=by_item))
    assert said == "the gradient of the input is right for the first batch item only"


def test_an_error_as_large_as_its_limit_is_in_all_places(monkeypatch):
    """It passes the limit only where the gradient is large: in a third of the neurons."""
    case = replace(CASE, precision="bf16")
    problem = problem_of(case)
    spikes, random = spikes_of(problem), np.random.default_rng(3)
    gradients = gradients_of(problem, spikes)
    limit = limits_of(case, problem.network)["linear1"].bias_gradient
    share = 1.1 * limit * random.choice([-1, 1], 97)
    gradients.parameters["linear1"]["bias"] *= (1 + share).astype(np.float32)
    assert named(problem, case, spikes, gradients) is None
    monkeypatch.setattr(arrays, "MOST_ELSEWHERE", 10.0)
    assert "is wrong for neurons" in named(problem, case, spikes, gradients)
