"""The float64 recurrence against hand-computed traces and against autograd of a loop written
independently of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.autograd import loop

from snnbench.kernels.spec import RESETS, SURROGATES, NeuronSpec
from snnbench.proof.recurrence import contrary_to, fires, from_threshold, run, run_backward

SIZES = (37, 3, 97)


def random_currents(seed, scale=1.0):
    return scale * np.random.default_rng(seed).standard_normal(SIZES)


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("detached", [False, True], ids=["attached", "detached"])
@pytest.mark.parametrize("reset", RESETS)
def test_gradient_is_that_of_autograd(reset, detached, surrogate):
    spec = NeuronSpec(reset, detached, decay=0.9, threshold=0.7, surrogate=surrogate, slope=1.3)
    values, upstream = random_currents(0), random_currents(1)
    currents = torch.tensor(values, requires_grad=True)
    expected = loop(spec, currents)
    expected.backward(torch.tensor(upstream))
    v, spikes = run(spec, values)
    np.testing.assert_array_equal(spikes, expected.detach().numpy())
    gradient = run_backward(spec, v, spikes, upstream)
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
    values, upstream = random_currents(seed, 2.0), random_currents(seed + 1)
    currents = torch.tensor(values, requires_grad=True)
    expected = loop(spec, currents)
    expected.backward(torch.tensor(upstream))
    v, spikes = run(spec, values)
    np.testing.assert_array_equal(spikes, expected.detach().numpy())
    np.testing.assert_allclose(
        run_backward(spec, v, spikes, upstream), currents.grad.numpy(), rtol=1e-8, atol=1e-8
    )


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
    v, s = run(NeuronSpec(reset, decay=0.5), np.full((4, 1, 1), 0.75))
    assert v.ravel().tolist() == potentials
    assert s.ravel().tolist() == spikes


def test_a_potential_on_the_threshold_fires_and_counts_are_clipped():
    v = np.array([0.999, 1.0, 2.0, 3.5, -4.0])
    assert fires(NeuronSpec(), v).tolist() == [0, 1, 1, 1, 0]
    assert fires(NeuronSpec(max_spikes=2), v).tolist() == [0, 1, 2, 2, 0]


def test_contrary_decisions_are_other_ones_near_a_threshold_alone():
    v = np.array([-4.0, 0.98, 0.999, 1.0, 1.001, 1.02, 1.999, 2.0, 3.5])
    assert contrary_to(NeuronSpec(), v, 0.01).tolist() == [0, 0, 1, 0, 0, 1, 1, 1, 1]
    assert contrary_to(NeuronSpec(max_spikes=2), v, 0.01).tolist() == [0, 0, 1, 0, 0, 1, 2, 1, 2]
    currents = random_currents(7)
    np.testing.assert_array_equal(
        run(NeuronSpec(), currents, contrary=0.0)[1], run(NeuronSpec(), currents)[1]
    )
    v, spikes = run(NeuronSpec(), currents, contrary=0.1)
    np.testing.assert_array_equal(
        spikes != fires(NeuronSpec(), v), from_threshold(NeuronSpec(), v) <= 0.1
    )


@settings(max_examples=20, deadline=None, derandomize=True)
@given(reset=st.sampled_from(RESETS), decay=st.floats(0.1, 1), seed=st.integers(0, 1000))
def test_forced_on_its_own_spikes_it_is_the_free_one(reset, decay, seed):
    spec, currents = NeuronSpec(reset, decay=decay), random_currents(seed)
    v, spikes = run(spec, currents)
    for free, forced in zip((v, spikes), run(spec, currents, spikes), strict=True):
        np.testing.assert_array_equal(free, forced)


@pytest.mark.parametrize("reset", ["soft", "hard", "soft-undecayed"])
def test_a_forced_flip_is_one_wrong_decision_and_touches_only_later_steps_of_its_neuron(reset):
    spec, currents = NeuronSpec(reset), random_currents(3)
    v, spikes = run(spec, currents)
    flipped = spikes.copy()
    flipped[10, 1, 5] = 1 - flipped[10, 1, 5]
    forced, expected = run(spec, currents, flipped)
    touched = np.argwhere(forced != v)
    assert len(touched) and (touched[:, 1:] == [1, 5]).all() and touched[:, 0].min() == 11
    assert expected[10, 1, 5] != flipped[10, 1, 5]
    np.testing.assert_array_equal(expected[:10], spikes[:10])


def test_the_gradient_test_would_see_a_wrong_slope():
    spec, currents, upstream = NeuronSpec(), random_currents(0), random_currents(1)
    v, spikes = run(spec, currents)
    right = run_backward(spec, v, spikes, upstream)
    wrong = run_backward(replace(spec, slope=1.0001), v, spikes, upstream)
    assert np.linalg.norm(wrong - right) > 1e-5 * np.linalg.norm(right)
