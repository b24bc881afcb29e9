"""The judge: its limits against the formulas of the method, and one planted fault for each finding."""

from dataclasses import replace

import numpy as np
import pytest

from snnbench.adapters.base.case import Case
from snnbench.adapters.base.contract import Gradients
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.proof import oracle
from snnbench.proof.judge import judge, limits
from snnbench.proof.problem import calibrate, generate

CASE = Case("any", neurons=97, time_steps=37, batch=3)
SOFT = NeuronSpec()


class Call:
    """A right call on the problem of a case, to be spoiled: borders and gradients as a framework hands them out."""

    def __init__(self, case=CASE, gains=None):
        self.case = case
        self.problem = generate(case, gains or calibrate(case))
        self.layers = oracle.forward(self.problem, self.problem.input)
        self.borders = [layer.expected.astype(np.float32) for layer in self.layers]
        self.limit = limits("fp32", case.neuron, case.neurons, case.time_steps, case.batch)
        given = oracle.backward(self.problem, self.problem.input, self.borders, self.layers, self.problem.upstream)
        weights = [layer.weight_gradient.astype(np.float32) for layer in self.layers if self.problem.weights]
        biases = [layer.bias_gradient.astype(np.float32) for layer in self.layers if self.problem.weights]
        self.gradients = Gradients(weights, biases if case.bias else [None] * len(biases), given.astype(np.float32))

    def verdict(self, gradients=True, limit=None):
        given = self.gradients if gradients else None
        return judge(self.problem, self.problem.input, self.borders, given, limit or self.limit)

    def finding(self, **how):
        (finding,) = self.verdict(**how).findings
        return finding

    def flip(self, near, layer=0, count=1):
        """Flip decisions of the last step, which no later one follows, where v is nearest to `near`; their places."""
        last = self.layers[layer].v[-1]
        places = [np.unravel_index(i, last.shape) for i in np.argsort(np.abs(last - near), axis=None)[:count]]
        for b, n in places:
            self.borders[layer][-1, b, n] = 1 - self.borders[layer][-1, b, n]
        return [(self.case.time_steps - 1, int(b), int(n)) for b, n in places]


# -- limits -----------------------------------------------------------------------------------------------------


def test_small_and_short_problems_have_the_smallest_limits():
    limit = limits("fp32", SOFT, 97, 37, 3)
    assert (limit.decisions, limit.distance, limit.gradient, limit.bias_gradient) == (1e-4, 1e-5, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("neuron", "inputs", "steps", "batch", "distance", "gradient"),
    [
        (SOFT, 2048, 100, 16, 2e-5, 1e-5),
        (SOFT, 65536, 100, 16, 1e-5 * np.sqrt(128), 2e-5),
        (SOFT, 512, 4096, 64, 1e-5, 4e-5),
        (replace(SOFT, threshold=0.3), 512, 100, 16, 3e-6, 1e-5),
        (replace(SOFT, decay=0.99), 512, 500, 16, 1e-5 * 7.08881205008336 / 2.9, 1e-5 * 7.08881205008336 / 2.9),
        (replace(SOFT, decay=0.99), 512, 25, 16, 1e-5 * 5 / 2.9, 1e-5 * 5 / 2.9),
        (replace(SOFT, decay=1.0), 512, 400, 16, 1e-5 * 20 / 2.9, 1e-5 * 20 / 2.9),
        (replace(SOFT, decay=0.2), 512, 400, 16, 1e-5, 1e-5),
    ],
)
def test_limits_grow_with_summed_products_and_memory(neuron, inputs, steps, batch, distance, gradient):
    limit = limits("fp32", neuron, inputs, steps, batch)
    assert limit.distance == pytest.approx(distance, rel=1e-9)
    assert limit.gradient == limit.bias_gradient == pytest.approx(gradient, rel=1e-9)
    assert limit.decisions == 1e-4


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16", "amp-bf16"])
def test_rounding_of_stacked_layers_adds_up_in_short_formats_only(precision):
    one, four = (limits(precision, SOFT, 97, 37, 3, layers) for layers in (1, 4))
    assert (four.gradient, four.bias_gradient) == (2 * one.gradient, 2 * one.bias_gradient)
    assert (four.decisions, four.distance) == (one.decisions, one.distance)
    assert limits("fp32", SOFT, 97, 37, 3, 4) == limits("fp32", SOFT, 97, 37, 3)


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
    limit = limits(precision, SOFT, 2048, 100, 16)
    found = (limit.decisions, limit.distance, limit.gradient, limit.bias_gradient)
    assert found == pytest.approx((decisions, distance, gradient, bias_gradient))


# -- the right one passes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{}, {"layers": 3}, {"bias": False}, {"workload": "lif"}, {"input": "dense"}])
@pytest.mark.parametrize("neuron", NEURONS)
def test_the_right_network_passes(neuron, change):
    verdict = Call(replace(CASE, neuron=NEURONS[neuron], **change)).verdict()
    assert verdict.findings == [] and verdict.passed
    assert verdict.wrong_decisions == 0 and 0 < verdict.grad_error < 1e-6
    assert set(verdict.errors) == {"input"} | ({"weight"} if change != {"workload": "lif"} else set()) | (
        {"bias"} if "bias" not in change and change != {"workload": "lif"} else set()
    )


def test_the_right_network_passes_where_neurons_are_sampled():
    call = Call(Case("any", neurons=2100, time_steps=5, batch=2), gains=[1.2])
    assert call.problem.rows is not None
    assert call.verdict().passed


def test_gradients_need_not_be_judged():
    verdict = Call().verdict(gradients=False)
    assert verdict.passed and verdict.grad_error is None
    assert verdict.firing_rate == pytest.approx(0.15, abs=0.005)


# -- decisions --------------------------------------------------------------------------------------------------


def test_a_decision_away_from_the_threshold_is_a_finding_that_says_where():
    call = Call()
    ((t, b, n),) = call.flip(near=0.5)
    finding = call.finding(gradients=False)
    assert f"at step {t}, item {b}, neuron {n}: v = 0." in finding
    assert "calls for 0 spikes, the framework gave 1" in finding
    assert call.verdict(gradients=False).distance == pytest.approx(0.5, abs=0.05)


def test_a_decision_within_rounding_of_the_threshold_is_allowed():
    call = Call()
    call.flip(near=1.0)
    wide = replace(call.limit, distance=0.05)
    verdict = call.verdict(gradients=False, limit=wide)
    assert verdict.passed and verdict.wrong_decisions == 1 / (37 * 3 * 97)
    assert not call.verdict(gradients=False, limit=replace(wide, distance=verdict.distance * 0.99)).passed


def test_only_so_many_decisions_may_be_within_rounding():
    call = Call()
    call.flip(near=1.0, count=2)
    assert not call.verdict(gradients=False, limit=replace(call.limit, distance=0.05)).passed
    assert call.verdict(gradients=False, limit=replace(call.limit, distance=0.05, decisions=2e-4)).passed


def test_one_flip_is_one_wrong_decision_although_everything_after_it_follows():
    call = Call()
    forced = call.borders[0]
    forced[5, 1, 7] = 1 - forced[5, 1, 7]
    for t in range(6, 37):
        forced[t] = oracle.forward(call.problem, call.problem.input, [forced])[0].expected[t]
    verdict = call.verdict(gradients=False)
    assert not verdict.passed and verdict.wrong_decisions == 1 / (37 * 3 * 97)


def test_counts_are_held_against_the_nearest_multiple_of_the_threshold():
    call = Call(replace(CASE, neuron=NeuronSpec(max_spikes=3)))
    last = call.layers[0].v[-1]
    b, n = np.unravel_index(np.argmin(np.abs(last - 2)), last.shape)
    call.borders[0][-1, b, n] = 3 - call.borders[0][-1, b, n]  # one for two, or two for one
    assert call.verdict(gradients=False).distance == pytest.approx(abs(last[b, n] - 2), rel=1e-9)


def test_a_finding_in_a_stack_names_the_layer_and_no_other():
    call = Call(replace(CASE, layers=3))
    call.flip(near=0.5, layer=0)
    findings = call.verdict(gradients=False).findings
    assert "of the decisions in layer 1 are wrong" in findings[0]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda s: np.where(s.cumsum().reshape(s.shape) == 1, np.nan, s), "hold NaN or infinity"),
        (lambda s: s + np.float32(np.inf) * (s > 0), "hold NaN or infinity"),
        (lambda s: s * np.float32(0.5), "are not whole numbers"),
        (lambda s: s * 2, "lie between 0 and 2, not 0 and 1 (several spikes a step?)"),
        (lambda s: -s, "lie between -1 and "),
        (lambda s: s.transpose(1, 0, 2), "have shape (3, 37, 97), not (T, B, N) = (37, 3, 97)"),
        (lambda s: s[:-1], "have shape (36, 3, 97)"),
    ],
)
def test_what_is_no_spike_train_is_a_finding(spoil, words):
    call = Call()
    with np.errstate(invalid="ignore"):
        call.borders = [spoil(call.borders[0]).astype(np.float32)]
    assert words in call.finding()


def test_neurons_that_are_not_sampled_are_not_judged():
    call = Call(Case("any", neurons=2100, time_steps=5, batch=2), gains=[1.2])
    sampled = int(call.problem.rows[100])
    other = next(n for n in range(2100) if n not in call.problem.rows)
    for neuron, passes in ((other, True), (sampled, False)):
        call.borders[0][:, :, neuron] = 1 - call.borders[0][:, :, neuron]
        assert call.verdict(gradients=False).passed is passes


# -- gradients --------------------------------------------------------------------------------------------------


def weight(call):
    return call.gradients.weights[0]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda g: g.weights.__setitem__(0, None), "the gradient of the weight is missing"),
        (lambda g: g.biases.__setitem__(0, None), "the gradient of the bias is missing"),
        (lambda g: g.biases[0].fill(0), "the gradient of the bias is zero"),
        (lambda g: np.multiply(g.input, np.float32(1.0001), out=g.input), "the gradient of the input is 1.0001 times"),
        (lambda g: np.multiply(g.weights[0], np.float32(0.5), out=g.weights[0]), "the gradient of the weight is 0.5 times"),
        (lambda g: g.weights[0].__setitem__((3, 4), np.nan), "the gradient of the weight is off by nan"),
        (lambda g: g.input.__setitem__((0, 0, 0), np.inf), "the gradient of the input is off by inf"),
        (lambda g: g.weights[0].__setitem__(5, 0), "the gradient of the weight is off by"),
        (lambda g: g.weights.__setitem__(0, g.weights[0][:, :-1]), "the gradient of the weight has shape (97, 96)"),
    ],
)
def test_each_wrong_gradient_is_one_finding(spoil, words):
    call = Call()
    spoil(call.gradients)
    with np.errstate(invalid="ignore"):
        assert words in call.finding()


def test_an_input_gradient_that_is_not_asked_for_is_not_missed():
    call = Call()
    call.gradients.input = None
    assert call.verdict().passed


def test_the_layer_of_a_wrong_gradient_is_named():
    call = Call(replace(CASE, layers=2))
    call.gradients.weights[1] *= np.float32(1.001)
    assert "the gradient of the weight of layer 2 is 1.001 times" in call.finding()


def test_gradients_just_inside_and_outside_the_limit():
    for factor, passes in ((1 + 0.9e-5, True), (1 + 1.2e-5, False)):
        call = Call()
        call.gradients.biases[0] = (call.gradients.biases[0].astype(np.float64) * factor).astype(np.float32)
        assert call.verdict().passed is passes


def test_neurons_without_upstream_gradient_must_have_none():
    call = Call(Case("any", neurons=2100, time_steps=5, batch=2), gains=[1.2])
    other = next(n for n in range(2100) if n not in call.problem.rows)
    weight(call)[other, 0] = 1e-3
    assert "the gradient of the weight is not zero for neurons without upstream gradient" in call.finding()
