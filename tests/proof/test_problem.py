"""The numbers that every framework is given: seeded, calibrated, sampled, representable."""

from dataclasses import fields, replace

import numpy as np
import pytest

from snnbench.adapters.base.case import Case
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.proof import oracle
from snnbench.proof.problem import calibrate, generate, problem_id, proved, small
from snnbench.proof.rounding import round_to

CASE = Case("any", neurons=97, time_steps=37, batch=3)


def made(case):
    return generate(case, calibrate(case))


def arrays(problem):
    return [*problem.weights, *problem.biases, problem.input, problem.other_input, problem.upstream]


def free(problem):
    return oracle.forward(problem, problem.input)


def test_it_is_reproducible_and_another_seed_is_another_problem():
    for one, same, other in zip(*(arrays(made(replace(CASE, seed=seed))) for seed in (5, 5, 6)), strict=True):
        np.testing.assert_array_equal(one, same)
        assert one.dtype == np.float32
        assert not np.array_equal(one, other)


def test_the_two_inputs_differ_and_the_layers_differ():
    problem = made(replace(CASE, layers=2))
    assert not np.array_equal(problem.input, problem.other_input)
    assert abs(np.corrcoef(problem.weights[0].ravel(), problem.weights[1].ravel())[0, 1]) < 0.05


@pytest.mark.parametrize("change", [{"batch": 7}, {"time_steps": 90}, {"framework": "other"}, {"mode": "compile"}])
def test_weights_do_not_depend_on(change):
    one, other = generate(CASE, [1.3]), generate(replace(CASE, **change), [1.3])
    np.testing.assert_array_equal(one.weights[0], other.weights[0])
    np.testing.assert_array_equal(one.biases[0], other.biases[0])


def test_the_gain_is_a_factor_of_weight_and_bias_and_all_resets_share_it():
    one, twice = generate(CASE, [1.0]), generate(CASE, [2.0])
    np.testing.assert_array_equal(twice.weights[0], 2 * one.weights[0])
    np.testing.assert_array_equal(twice.biases[0], 2 * one.biases[0])
    assert len({tuple(calibrate(replace(CASE, neuron=CASE.neuron.with_reset(reset)))) for reset in ("soft", "hard", "none")}) == 1


@pytest.mark.parametrize("input", ["spikes", "dense"])
@pytest.mark.parametrize("workload", ["linear-lif", "lif"])
@pytest.mark.parametrize("seed", range(4))
def test_the_small_problem_fires_at_fifteen_percent(seed, workload, input):
    rate = free(made(replace(CASE, seed=seed, workload=workload, input=input)))[0].expected.mean()
    assert 0.145 <= rate <= 0.155


@pytest.mark.parametrize("neuron", [NeuronSpec(), NeuronSpec(decay=0.2, threshold=0.3), NeuronSpec(decay=1.0)])
def test_the_rate_beyond_the_calibrated_part(neuron):
    case = Case("any", neuron=neuron, neurons=600, time_steps=130, batch=6, layers=2)
    for layer in free(made(case)):
        assert 0.13 <= layer.expected.mean() <= 0.17


@pytest.mark.parametrize("neuron", ["hard", "none"])
def test_other_resets_fire_between_one_and_sixty_percent(neuron):
    assert 0.01 < free(made(replace(CASE, neuron=NEURONS[neuron])))[0].expected.mean() < 0.6


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("neuron", ["soft", "hard", "none"])
def test_several_potentials_pass_twice_the_threshold(neuron, seed):
    problem = made(small(replace(CASE, neuron=NEURONS[neuron], seed=seed, input="dense")))
    assert np.count_nonzero(free(problem)[0].v >= 2) >= 20


def test_up_to_2048_neurons_all_are_judged():
    assert generate(Case("any", neurons=2048, time_steps=2, batch=1), [1.0]).rows is None


def test_of_more_neurons_a_stratified_sample_is_judged():
    case = Case("any", neurons=2500, time_steps=3, batch=2)
    problem = generate(case, [1.0])
    rows = problem.rows
    assert rows[0] == 0 and rows[-1] == 2499
    assert 200 <= len(rows) <= 258 and (np.diff(rows) > 0).all() and np.diff(rows).max() <= 2 * 2500 / 256 + 2
    others = np.delete(problem.upstream, rows, axis=2)
    assert not others.any() and problem.upstream[:, :, rows].all()
    part = problem.judged_part()
    np.testing.assert_array_equal(part.weights[0], problem.weights[0][rows])
    np.testing.assert_array_equal(part.biases[0], problem.biases[0][rows])
    np.testing.assert_array_equal(generate(case, [1.0]).rows, rows)


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16", "amp-bf16"])
def test_short_formats_hold_every_number(precision):
    for array, exact in zip(*(arrays(made(replace(CASE, precision=p, input="dense"))) for p in (precision, "fp32")), strict=True):
        np.testing.assert_array_equal(round_to(array, precision), array)
        assert not np.array_equal(array, exact)
        np.testing.assert_allclose(array, exact, rtol=2**-8, atol=1e-7)


def test_fp32_numbers_are_not_rounded():
    weight = made(CASE).weights[0]
    assert (round_to(weight, "tf32") != weight).mean() > 0.9


def test_inputs_are_events_or_dense_numbers():
    events, dense = made(CASE).input, made(replace(CASE, input="dense")).input
    assert set(np.unique(events)) == {0, 1} and 0.27 < events.mean() < 0.33
    assert dense.min() >= 0 and dense.max() < 1 and 0.47 < dense.mean() < 0.53


def test_without_bias_or_weights():
    assert made(replace(CASE, bias=False)).biases == [None]
    currents = made(replace(CASE, workload="lif"))
    assert currents.weights == [] and currents.inputs == 1 and currents.input.min() < 0
    assert made(CASE).inputs == made(CASE).neurons == 97


def test_the_identity_depends_on_what_the_numbers_depend_on():
    changed = {"workload": "lif", "neuron": NEURONS["hard"], "layers": 2, "neurons": 98, "time_steps": 38}
    changed |= {"batch": 4, "precision": "bf16", "input": "dense", "bias": False, "seed": 1}
    alike = {"framework": "other", "construction": "c", "mode": "compile", "device": "cuda", "input_grad": False}
    assert changed.keys() | alike.keys() == {field.name for field in fields(Case)}
    assert len({problem_id(CASE), *(problem_id(replace(CASE, **{key: value})) for key, value in changed.items())}) == 11
    assert {problem_id(replace(CASE, **{key: value})) for key, value in alike.items()} == {problem_id(CASE)}


def test_wide_stacks_are_proved_at_2048():
    wide = Case("any", neurons=4096)
    assert proved(wide) == wide
    assert proved(replace(wide, layers=2)).neurons == 2048
    assert proved(replace(wide, layers=2, neurons=100)).neurons == 100
    assert small(wide).neurons == 97 and small(wide).time_steps == 37 and small(wide).batch == 3
