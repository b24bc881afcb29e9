"""The float64 oracle against hand-computed traces and against autograd of a loop written independently of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from snnbench.adapters.base.case import Case
from snnbench.kernels.spec import NEURONS, RESETS, SURROGATES, NeuronSpec
from snnbench.proof import oracle
from snnbench.proof.problem import calibrate, generate

SIZES = (37, 3, 97)

SLOPES = {
    "superspike": lambda u, k: (1 + k * u.abs()).pow(-2),
    "atan": lambda u, k: 1 / (1 + (torch.pi * k * u).square()),
    "sigmoid": lambda u, k: k * torch.sigmoid(k * u) * torch.sigmoid(-k * u),
    "triangle": lambda u, k: torch.relu(1 - k * u.abs()),
    "rectangle": lambda u, k: k * (u.abs() < 1 / (2 * k)).to(u.dtype),
    "exponential": lambda u, k: k / 2 * (-k * u.abs()).exp(),
    "straight-through": lambda u, k: torch.ones_like(u),
}


def currents_of(seed, scale=1.0):
    return scale * np.random.default_rng(seed).standard_normal(SIZES)


def loop(spec, currents):
    """The recurrence in torch. A straight line through v with slope σ' stands for the spike, so autograd does the rest."""
    after, spikes = torch.zeros_like(currents[0]), []
    for current in currents:
        v = spec.decay * after + current
        fixed = v.detach()
        count = torch.floor(fixed / spec.threshold).clamp(0, spec.max_spikes)
        s = count + SLOPES[spec.surrogate](fixed - spec.threshold, spec.slope) * (v - fixed)
        spikes.append(s)
        s = s.detach() if spec.detach_reset else s
        after = {
            "soft": lambda: v - spec.threshold * s,
            "hard": lambda: v * (1 - s),
            "none": lambda: v,
            "soft-undecayed": lambda: v - spec.threshold / spec.decay * s,
            "hard-straight": lambda: v - (v * s).detach(),
        }[spec.reset]()
    return torch.stack(spikes)


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("detached", [False, True], ids=["attached", "detached"])
@pytest.mark.parametrize("reset", RESETS)
def test_gradient_is_that_of_autograd(reset, detached, surrogate):
    spec = NeuronSpec(reset, detached, decay=0.9, threshold=0.7, surrogate=surrogate, slope=1.3)
    values, upstream = currents_of(0), currents_of(1)
    currents = torch.tensor(values, requires_grad=True)
    expected = loop(spec, currents)
    expected.backward(torch.tensor(upstream))
    v, spikes = oracle.run(spec, values)
    np.testing.assert_array_equal(spikes, expected.detach().numpy())
    gradient = oracle.run_backward(spec, v, spikes, upstream)
    np.testing.assert_allclose(gradient, currents.grad.numpy(), rtol=1e-10, atol=1e-10)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    decay=st.floats(0.05, 1),
    threshold=st.floats(0.2, 3),
    slope=st.floats(0.1, 20),
    max_spikes=st.integers(1, 4),
    reset=st.sampled_from(["soft", "none", "soft-undecayed"]),
    seed=st.integers(0, 1000),
)
def test_gradient_of_any_constants_and_counts(decay, threshold, slope, max_spikes, reset, seed):
    spec = NeuronSpec(reset, decay=decay, threshold=threshold, slope=slope, max_spikes=max_spikes)
    values, upstream = currents_of(seed, 2.0), currents_of(seed + 1)
    currents = torch.tensor(values, requires_grad=True)
    expected = loop(spec, currents)
    expected.backward(torch.tensor(upstream))
    v, spikes = oracle.run(spec, values)
    np.testing.assert_array_equal(spikes, expected.detach().numpy())
    np.testing.assert_allclose(oracle.run_backward(spec, v, spikes, upstream), currents.grad.numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("reset", "potentials", "spikes"),
    [
        ("soft", [0.75, 1.125, 0.8125, 1.15625], [0, 1, 0, 1]),
        ("hard", [0.75, 1.125, 0.75, 1.125], [0, 1, 0, 1]),
        ("hard-straight", [0.75, 1.125, 0.75, 1.125], [0, 1, 0, 1]),
        ("none", [0.75, 1.125, 1.3125, 1.40625], [0, 1, 1, 1]),
        ("soft-undecayed", [0.75, 1.125, 0.3125, 0.90625], [0, 1, 0, 0]),
    ],
)
def test_a_trace_computed_by_hand(reset, potentials, spikes):
    v, s = oracle.run(NeuronSpec(reset, decay=0.5), np.full((4, 1, 1), 0.75))
    assert v.ravel().tolist() == potentials
    assert s.ravel().tolist() == spikes


def test_a_potential_on_the_threshold_fires_and_counts_are_clipped():
    v = np.array([0.999, 1.0, 2.0, 3.5, -4.0])
    assert oracle.fires(NeuronSpec(), v).tolist() == [0, 1, 1, 1, 0]
    assert oracle.fires(NeuronSpec(max_spikes=2), v).tolist() == [0, 1, 2, 2, 0]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(reset=st.sampled_from(RESETS), decay=st.floats(0.1, 1), seed=st.integers(0, 1000))
def test_forced_on_its_own_spikes_it_is_the_free_one(reset, decay, seed):
    spec, currents = NeuronSpec(reset, decay=decay), currents_of(seed)
    v, spikes = oracle.run(spec, currents)
    for free, forced in zip((v, spikes), oracle.run(spec, currents, spikes), strict=True):
        np.testing.assert_array_equal(free, forced)


@pytest.mark.parametrize("reset", ["soft", "hard", "soft-undecayed"])
def test_a_forced_flip_is_one_wrong_decision_and_touches_only_later_steps_of_its_neuron(reset):
    spec, currents = NeuronSpec(reset), currents_of(3)
    v, spikes = oracle.run(spec, currents)
    flipped = spikes.copy()
    flipped[10, 1, 5] = 1 - flipped[10, 1, 5]
    forced, expected = oracle.run(spec, currents, flipped)
    touched = np.argwhere(forced != v)
    assert len(touched) and (touched[:, 1:] == [1, 5]).all() and touched[:, 0].min() == 11
    assert expected[10, 1, 5] != flipped[10, 1, 5]
    np.testing.assert_array_equal(expected[:10], spikes[:10])


@pytest.mark.parametrize("neuron", NEURONS)
def test_gradients_of_a_stack_are_those_of_autograd(neuron):
    case = Case("any", neuron=NEURONS[neuron], neurons=97, time_steps=37, batch=3, layers=2)
    problem = generate(case, calibrate(case))
    layers = oracle.forward(problem, problem.input)
    borders = [layer.expected for layer in layers]
    given_back = oracle.backward(problem, problem.input, borders, layers, problem.upstream)

    leaf = lambda array: torch.tensor(array, dtype=torch.float64, requires_grad=True)
    x, weights, biases = leaf(problem.input), [leaf(w) for w in problem.weights], [leaf(b) for b in problem.biases]
    spikes = x
    for weight, bias in zip(weights, biases, strict=True):
        spikes = loop(problem.spec, spikes @ weight.T + bias)
    spikes.backward(torch.tensor(problem.upstream, dtype=torch.float64))
    np.testing.assert_allclose(given_back, x.grad, rtol=1e-9, atol=1e-9)
    for layer, weight, bias in zip(layers, weights, biases, strict=True):
        np.testing.assert_allclose(layer.weight_gradient, weight.grad, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(layer.bias_gradient, bias.grad, rtol=1e-9, atol=1e-9)


def test_the_gradient_test_would_see_a_wrong_slope():
    spec, currents, upstream = NeuronSpec(), currents_of(0), currents_of(1)
    v, spikes = oracle.run(spec, currents)
    right = oracle.run_backward(spec, v, spikes, upstream)
    wrong = oracle.run_backward(replace(spec, slope=1.0001), v, spikes, upstream)
    assert np.linalg.norm(wrong - right) > 1e-5 * np.linalg.norm(right)
