"""Names of faults that the wrong adapters do not reach: with gradients at hand, in part of a network, at other shapes."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from snnbench.adapters.base.case import Case
from snnbench.adapters.base.contract import Gradients
from snnbench.kernels.spec import NEURONS, RESETS, NeuronSpec
from snnbench.proof import oracle
from snnbench.proof.diagnosis import diagnose as module
from snnbench.proof.diagnosis import hypotheses
from snnbench.proof.diagnosis.diagnose import diagnose
from snnbench.proof.judge import judge, limits
from snnbench.proof.problem import calibrate, generate

CASE = Case("any", neurons=97, time_steps=37, batch=3)


def made(case=CASE, gains=None):
    limit = limits(case.precision, case.neuron, case.neurons, case.time_steps, case.batch)
    return generate(case, gains or calibrate(case)), limit


def spikes_of(problem, spec=None, change=lambda currents: currents):
    """Spikes of a framework with another neuron, or with changed currents, as one border."""
    currents = change(oracle.currents_of(problem, 0, problem.input))
    return [oracle.run(spec or problem.spec, currents)[1].astype(np.float32)]


def gradients_of(problem, borders, spec=None, change=lambda currents: currents, pull=lambda gradient: gradient):
    spec = spec or problem.spec
    v, _ = oracle.run(spec, change(oracle.currents_of(problem, 0, problem.input)), borders[0])
    by_current = pull(oracle.run_backward(spec, v, borders[0], problem.upstream.astype(np.float64))).astype(np.float32)
    if not problem.weights:
        return Gradients([], [], by_current)
    weight = np.tensordot(by_current, problem.input, axes=([0, 1], [0, 1]))
    return Gradients([weight], [by_current.sum(axis=(0, 1))], by_current @ problem.weights[0])


def named(problem, limit, borders, gradients=None):
    """The diagnosis of a call that the judge rejects."""
    assert not judge(problem, problem.input, borders, gradients, limit).passed
    return diagnose(problem, borders, gradients, limit)


@pytest.mark.parametrize("workload", ["linear-lif", "lif"])
@pytest.mark.parametrize("neuron", NEURONS)
def test_of_the_right_network_it_says_nothing(neuron, workload):
    problem, limit = made(replace(CASE, neuron=NEURONS[neuron], workload=workload))
    borders = spikes_of(problem)
    assert diagnose(problem, borders, None, limit) is None
    assert diagnose(problem, borders, gradients_of(problem, borders), limit) is None


# -- constants --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neuron", ["soft", "hard", "none"])
@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("decay", 0.937, "the decay is about 0.937, not 0.9375"),
        ("decay", 0.5, "the decay is about 0.5, not 0.9375"),
        ("threshold", 1.001, "the threshold is about 1.001, not 1"),
        ("threshold", 0.5, "the threshold is about 0.5, not 1"),
    ],
)
def test_gradients_make_constants_exact_where_decisions_are_wrong_too(field, value, words, neuron):
    problem, limit = made(replace(CASE, neuron=NEURONS[neuron]))
    wrong = replace(problem.spec, **{field: value})
    borders = spikes_of(problem, wrong)
    assert named(problem, limit, borders, gradients_of(problem, borders, wrong)) == words


@pytest.mark.parametrize("scale", [0.0625, 1.01, 16.0])
def test_scaled_currents(scale):
    problem, limit = made()
    scaled = lambda array: scale * array
    borders = spikes_of(problem, change=scaled)
    # Without gradients this is also another threshold.
    gradients = gradients_of(problem, borders, change=scaled, pull=scaled)
    assert named(problem, limit, borders, gradients) == f"currents are multiplied by about {scale:g}"


@pytest.mark.parametrize("neuron", ["soft", "none"])
def test_looking_ahead_is_told_from_mixing_items_by_the_gradients(neuron):
    problem, limit = made(replace(CASE, neuron=NEURONS[neuron]))
    ahead = lambda c: c + 1e-3 * np.concatenate([c[1:], 0 * c[:1]])
    back = lambda g: g + 1e-3 * np.concatenate([0 * g[:1], g[:-1]])
    borders = spikes_of(problem, change=ahead)
    gradients = gradients_of(problem, borders, change=ahead, pull=back)
    said = named(problem, limit, borders, gradients)
    assert said.startswith("looks ahead: about 0.001") and said.endswith(" of the next step's current is mixed in")


def test_few_wrong_decisions_are_not_called_certain():
    problem, limit = made(replace(CASE, neuron=NEURONS["hard"]))
    said = named(problem, limit, spikes_of(problem, replace(problem.spec, threshold=1.001)))
    assert said.startswith("perhaps ")


@pytest.mark.parametrize(
    ("surrogate", "slope"),
    [("superspike", 0.25), ("superspike", 1.0001), ("superspike", 25.0), ("atan", 1.0), ("sigmoid", 4.0), ("exponential", 0.5)],
)
def test_surrogate_and_slope_are_named(surrogate, slope):
    problem, limit = made()
    borders = spikes_of(problem)
    wrong = replace(problem.spec, surrogate=surrogate, slope=slope)
    said = named(problem, limit, borders, gradients_of(problem, borders, wrong))
    assert f"{slope:g}, not" in said or f"{surrogate} with slope {slope:g}, not superspike with slope 1" in said


@pytest.mark.parametrize("surrogate", ["triangle", "rectangle", "straight-through"])
def test_surrogates_that_are_not_smooth_are_named(surrogate):
    problem, limit = made()
    borders = spikes_of(problem)
    said = named(problem, limit, borders, gradients_of(problem, borders, replace(problem.spec, surrogate=surrogate)))
    assert said.startswith(f"the surrogate is {surrogate} with slope")


def test_another_surrogate_and_another_attachment_at_once():
    problem, limit = made()
    borders = spikes_of(problem)
    wrong = replace(problem.spec, surrogate="atan", slope=2.0, detach_reset=True)
    said = named(problem, limit, borders, gradients_of(problem, borders, wrong))
    assert said == "the surrogate is atan with slope 2, not superspike with slope 1 and the reset is detached"


@pytest.mark.parametrize("every", [1, 2, 10, 25])
def test_the_length_of_a_cut_gradient(every):
    problem, limit = made()
    borders = spikes_of(problem)
    v = oracle.run(problem.spec, oracle.currents_of(problem, 0, problem.input))[0]
    pieces = [slice(t, t + every) for t in range(0, 37, every)]
    cut = lambda _: np.concatenate([oracle.run_backward(problem.spec, v[t], borders[0][t], problem.upstream[t]) for t in pieces])
    gradients = gradients_of(problem, borders, pull=cut)
    assert named(problem, limit, borders, gradients) == f"the gradient is cut every {every} steps"


def test_the_gradient_of_the_other_hard_reset():
    problem, limit = made(replace(CASE, neuron=NEURONS["hard"]))
    borders = spikes_of(problem)
    said = named(problem, limit, borders, gradients_of(problem, borders, NEURONS["hard-straight"]))
    assert said == "the gradient through the reset is that of `hard-straight`, not `hard`"


# -- structure --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("right", "wrong"), list(permutations(RESETS[:4], 2)))
def test_each_reset_is_told_from_each_other(right, wrong):
    problem, limit = made(replace(CASE, neuron=NEURONS[right]))
    assert named(problem, limit, spikes_of(problem, NEURONS[wrong])) == f"resets like `{wrong}`, not `{right}`"


def test_counts_of_spikes():
    problem, limit = made(replace(CASE, neuron=NeuronSpec(max_spikes=2)))
    for most, words in ((1, "fires at most one spike a step"), (9, "fires more than 2 spikes a step")):
        assert named(problem, limit, spikes_of(problem, NeuronSpec(max_spikes=most))) == words


def test_one_step_early_looks_ahead():
    problem, limit = made()
    borders = spikes_of(problem)
    early = [np.concatenate([borders[0][1:], np.zeros_like(borders[0][:1])])]
    assert named(problem, limit, early) == "one step early: looks ahead"


def test_neurons_in_another_order():
    problem, limit = made()
    rolled = [np.roll(border, 1, axis=2) for border in spikes_of(problem)]
    assert named(problem, limit, rolled).startswith("neurons are in another order")


def test_dense_input_handed_back():
    problem, limit = made(replace(CASE, input="dense"))
    assert named(problem, limit, [problem.input.copy()]) == "returns its input"


# -- places -----------------------------------------------------------------------------------------------------


def silenced(problem, place):
    border = spikes_of(problem)[0]
    border[place] = 1 - border[place]
    return [border]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (np.s_[:, :, 90:], "only the last neurons are wrong, from 90 to 96 (the tail of a tile?)"),
        (np.s_[:, :, 96:], "only the last neurons are wrong, from 96 to 96 (the tail of a tile?)"),
        (np.s_[:, :, [5, 40, 41]], "only some neurons are wrong: 5, 40, 41"),
        (np.s_[30:], "right for the first 30 steps only"),
        (np.s_[:, 1], "only batch item 1 is wrong"),
    ],
)
def test_the_place_of_wrong_decisions_is_told(place, words):
    problem, limit = made()
    assert named(problem, limit, silenced(problem, place)) == words


@pytest.mark.parametrize("neuron", ["soft", "hard", "none"])
def test_any_start_but_rest(neuron):
    problem, limit = made(replace(CASE, neuron=NEURONS[neuron]))
    start = np.random.default_rng(0).normal(0, 0.3, (3, 97))
    borders = spikes_of(problem, change=lambda c: np.concatenate([c[:1] + start, c[1:]]))
    assert named(problem, limit, borders) == "not started from rest"


def test_scattered_wrong_decisions_have_no_name():
    problem, limit = made()
    border = spikes_of(problem)[0]
    scattered = np.random.default_rng(0).random(border.shape) < 0.1
    assert named(problem, limit, silenced(problem, scattered)) is None


# -- shapes -----------------------------------------------------------------------------------------------------


def test_of_a_stack_the_first_layer_is_looked_at():
    problem, limit = made(replace(CASE, layers=2))
    late = [np.roll(border, 1, axis=0) * (np.arange(37) > 0)[:, None, None] for border in spikes_of(problem)]
    late.append(np.zeros_like(late[0]))
    assert named(problem, limit, [border.astype(np.float32) for border in late]) == "one step late"


def test_currents_that_are_given():
    problem, limit = made(replace(CASE, workload="lif"))
    wrong = replace(problem.spec, decay=0.93)
    borders = spikes_of(problem, wrong)
    assert named(problem, limit, borders, gradients_of(problem, borders, wrong)) == "the decay is about 0.93, not 0.9375"
    borders = spikes_of(problem)
    detached = gradients_of(problem, borders, replace(problem.spec, detach_reset=True))
    assert named(problem, limit, borders, detached) == "the reset is detached where it should be attached"


def test_sampled_neurons():
    problem, limit = made(Case("any", neurons=2100, time_steps=8, batch=2), gains=[1.5])
    assert problem.rows is not None
    assert named(problem, limit, spikes_of(problem, NEURONS["none"])) == "resets like `none`, not `soft`"
    assert named(problem, limit, silenced(problem, np.s_[:, :, 2000:])).startswith("only the last neurons are wrong, from 20")
    borders = spikes_of(problem)
    detached = gradients_of(problem, borders, replace(problem.spec, detach_reset=True))
    assert named(problem, limit, borders, detached) == "the reset is detached where it should be attached"


def test_large_problems_are_diagnosed_on_a_part(monkeypatch):
    monkeypatch.setattr(module, "MOST_DECISIONS", 20 * 37 * 3)
    seen = []
    monkeypatch.setattr(module, "structures", lambda e: seen.append(e.right.spikes.shape) or hypotheses.structures(e))
    problem, limit = made()
    borders = spikes_of(problem)
    borders[0][:, :, [8, 50]] = borders[0][:, :, [50, 8]]
    assert named(problem, limit, borders).endswith("neurons 8 and 50 are swapped")
    assert seen and seen[0][2] <= 20


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_short_formats(precision):
    problem, limit = made(replace(CASE, precision=precision))
    assert named(problem, limit, spikes_of(problem, NEURONS["none"])) == "resets like `none`, not `soft`"


@pytest.mark.parametrize("border", [np.zeros((3, 37, 97), np.float32), np.full((37, 3, 97), np.nan, np.float32)])
def test_what_cannot_be_read_has_no_name(border):
    problem, limit = made()
    assert named(problem, limit, [border]) is None
