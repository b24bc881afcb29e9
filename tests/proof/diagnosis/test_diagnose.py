"""Names of faults that the wrong adapters do not reach: constants with gradients at hand, and
structure."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from support.diagnosis import CASE, called, currents_of, gradients_of, named, right_spec, spikes_of
from support.proofs import problem_of
from support.slow import one_of_each, representatives

from snnbench.kernels.spec import NEURONS, RESETS, NeuronSpec
from snnbench.proof.diagnosis.diagnose import diagnose
from snnbench.proof.recurrence import run, run_backward


@pytest.mark.parametrize("workload", ["linear-lif", "lif"])
@pytest.mark.parametrize("neuron", NEURONS)
def test_of_the_right_network_it_says_nothing(neuron, workload):
    case = replace(CASE, neuron=NEURONS[neuron], workload=workload)
    problem = problem_of(case)
    spikes = spikes_of(problem)
    assert diagnose(*called(problem, case, spikes)) is None
    assert diagnose(*called(problem, case, spikes, gradients_of(problem, spikes))) is None


# -- constants -------------------------------------------------------------------------------------


CONSTANTS = [
    (words, field, value, neuron)
    for words, field, value in (
        ("the decay is about 0.937, not 0.9375", "decay", 0.937),
        ("the decay is about 0.5, not 0.9375", "decay", 0.5),
        ("the threshold is about 1.001, not 1", "threshold", 1.001),
        ("the threshold is about 0.5, not 1", "threshold", 0.5),
    )
    for neuron in ("soft", "hard", "none")
]


@pytest.mark.parametrize(("words", "field", "value", "neuron"), one_of_each(CONSTANTS))
def test_gradients_make_constants_exact_where_decisions_are_wrong_too(field, value, words, neuron):
    case = replace(CASE, neuron=NEURONS[neuron])
    problem = problem_of(case)
    wrong = replace(right_spec(problem), **{field: value})
    spikes = spikes_of(problem, wrong)
    assert named(problem, case, spikes, gradients_of(problem, spikes, wrong)) == words


@pytest.mark.parametrize("scale", representatives([0.0625, 1.01, 16.0], [1]))
def test_scaled_currents(scale):
    problem = problem_of(CASE)
    scaled = lambda array: scale * array
    spikes = spikes_of(problem, change=scaled)
    # Without gradients this is also another threshold.
    gradients = gradients_of(problem, spikes, change=scaled, pull=scaled)
    assert named(problem, CASE, spikes, gradients) == f"currents are multiplied by about {scale:g}"


@pytest.mark.parametrize("neuron", ["soft", "none"])
def test_looking_ahead_is_told_from_mixing_items_by_the_gradients(neuron):
    case = replace(CASE, neuron=NEURONS[neuron])
    problem = problem_of(case)
    ahead = lambda c: c + 1e-3 * np.concatenate([c[1:], 0 * c[:1]])
    back = lambda g: g + 1e-3 * np.concatenate([0 * g[:1], g[:-1]])
    spikes = spikes_of(problem, change=ahead)
    gradients = gradients_of(problem, spikes, change=ahead, pull=back)
    said = named(problem, case, spikes, gradients)
    assert said.startswith("looks ahead: about 0.001") and said.endswith(
        " of the next step's current is mixed in"
    )


def test_few_wrong_decisions_are_not_called_certain():
    case = replace(CASE, neuron=NEURONS["hard"])
    problem = problem_of(case)
    said = named(problem, case, spikes_of(problem, replace(right_spec(problem), threshold=1.001)))
    assert said.startswith("perhaps ")


OTHERS = [
    ("superspike", 0.25),
    ("superspike", 1.0001),
    ("superspike", 25.0),
    ("atan", 1.0),
    ("sigmoid", 4.0),
    ("exponential", 0.5),
]


@pytest.mark.parametrize(("surrogate", "slope"), representatives(OTHERS, {0, 1, 2, 4}))
def test_surrogate_and_slope_are_named(surrogate, slope):
    problem = problem_of(CASE)
    spikes = spikes_of(problem)
    wrong = replace(right_spec(problem), surrogate=surrogate, slope=slope)
    said = named(problem, CASE, spikes, gradients_of(problem, spikes, wrong))
    assert (
        f"{slope:g}, not" in said
        or f"{surrogate} with slope {slope:g}, not superspike with slope 1" in said
    )


@pytest.mark.parametrize(
    "surrogate", representatives(["triangle", "rectangle", "straight-through"], [1])
)
def test_surrogates_that_are_not_smooth_are_named(surrogate):
    problem = problem_of(CASE)
    spikes = spikes_of(problem)
    said = named(
        problem,
        CASE,
        spikes,
        gradients_of(problem, spikes, replace(right_spec(problem), surrogate=surrogate)),
    )
    assert said.startswith(f"the surrogate is {surrogate} with slope")


def test_another_surrogate_and_another_attachment_at_once():
    problem = problem_of(CASE)
    spikes = spikes_of(problem)
    wrong = replace(right_spec(problem), surrogate="atan", slope=2.0, detach_reset=True)
    said = named(problem, CASE, spikes, gradients_of(problem, spikes, wrong))
    assert (
        said
        == "the surrogate is atan with slope 2, not superspike with slope 1 and the reset is detached"
    )


@pytest.mark.parametrize("every", [1, 2, 10, 25])
def test_the_length_of_a_cut_gradient(every):
    problem = problem_of(CASE)
    spikes = spikes_of(problem)
    v = run(right_spec(problem), currents_of(problem))[0]
    pieces = [slice(t, t + every) for t in range(0, 37, every)]
    cut = lambda _: np.concatenate(
        [run_backward(right_spec(problem), v[t], spikes[t], problem.upstream[t]) for t in pieces]
    )
    gradients = gradients_of(problem, spikes, pull=cut)
    assert named(problem, CASE, spikes, gradients) == (
        f"the gradient is cut {'at every step' if every == 1 else f'every {every} steps'}"
    )


def test_the_gradient_of_the_other_hard_reset():
    case = replace(CASE, neuron=NEURONS["hard"])
    problem = problem_of(case)
    spikes = spikes_of(problem)
    said = named(problem, case, spikes, gradients_of(problem, spikes, NEURONS["hard-straight"]))
    assert said == "the gradient through the reset is that of `hard-straight`, not `hard`"


# -- structure -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("right", "wrong"), list(permutations(RESETS[:4], 2)))
def test_each_reset_is_told_from_each_other(right, wrong):
    case = replace(CASE, neuron=NEURONS[right])
    problem = problem_of(case)
    assert (
        named(problem, case, spikes_of(problem, NEURONS[wrong]))
        == f"resets like `{wrong}`, not `{right}`"
    )


def test_counts_of_spikes():
    case = replace(CASE, neuron=NeuronSpec(max_spikes=2))
    problem = problem_of(case)
    for most, words in (
        (1, "fires at most one spike a step"),
        (9, "fires more than 2 spikes a step"),
    ):
        assert named(problem, case, spikes_of(problem, NeuronSpec(max_spikes=most))) == words


def test_one_step_early_looks_ahead():
    problem = problem_of(CASE)
    spikes = spikes_of(problem)
    early = np.concatenate([spikes[1:], np.zeros_like(spikes[:1])])
    assert named(problem, CASE, early) == "one step early: looks ahead"


def test_neurons_in_another_order():
    problem = problem_of(CASE)
    rolled = np.roll(spikes_of(problem), 1, axis=2)
    assert named(problem, CASE, rolled).startswith("neurons are in another order")


def test_dense_input_handed_back():
    case = replace(CASE, input="dense")
    problem = problem_of(case)
    assert named(problem, case, problem.input.copy()) == "returns its input"
