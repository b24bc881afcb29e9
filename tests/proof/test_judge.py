"""The judge: one planted fault for each finding."""

from dataclasses import replace

import numpy as np
import pytest
from support.right_call import CASE, Right

from snnbench.core.case import Case
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.proof import oracle
from snnbench.proof.judge import JudgedCall, _spikes, judge

WIDE = Case("any", neurons=2100, time_steps=5, batch=2)


# -- the right one passes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [{}, {"layers": 3}, {"bias": False}, {"workload": "lif"}, {"input": "dense"}]
)
@pytest.mark.parametrize("neuron", NEURONS)
def test_the_right_network_passes(neuron, change):
    verdict = Right(replace(CASE, neuron=NEURONS[neuron], **change)).verdict()
    assert verdict.findings == [] and verdict.passed
    assert verdict.wrong_decisions == 0 and 0 < verdict.grad_error < 1e-6
    assert set(verdict.errors) == {"input"} | (
        {"weight"} if change != {"workload": "lif"} else set()
    ) | ({"bias"} if "bias" not in change and change != {"workload": "lif"} else set())


@pytest.mark.parametrize("layers", [1, 2])
def test_the_right_wide_network_passes(layers):
    verdict = Right(replace(WIDE, layers=layers), gains=1.2).verdict()
    assert verdict.passed and 0 < verdict.grad_error < 1e-6


def test_gradients_need_not_be_judged():
    verdict = Right().verdict(gradients=False)
    assert verdict.passed and verdict.grad_error is None
    assert verdict.firing_rate == pytest.approx(0.15, abs=0.005)


# -- decisions -------------------------------------------------------------------------------------


def test_a_decision_away_from_the_threshold_is_a_finding_that_says_where():
    call = Right()
    ((t, b, n),) = call.flip(near=0.5)
    finding = call.finding(gradients=False)
    assert f"at step {t}, item {b}, neuron {n}: v = 0." in finding
    assert "calls for 0 spikes, the framework gave 1" in finding
    assert call.verdict(gradients=False).distance == pytest.approx(0.5, abs=0.05)


def test_one_spike_is_one_spike():
    assert [_spikes(count) for count in (0.0, 1.0, 2.0)] == ["0 spikes", "1 spike", "2 spikes"]


def test_a_decision_within_rounding_of_the_threshold_is_allowed():
    call = Right()
    call.flip(near=1.0)
    wide = {"distance": 0.05}
    verdict = call.verdict(gradients=False, **wide)
    assert verdict.passed and verdict.wrong_decisions == 1 / (37 * 3 * 97)
    assert not call.verdict(gradients=False, distance=verdict.distance * 0.99).passed


def test_only_so_many_decisions_may_be_within_rounding():
    call = Right()
    call.flip(near=1.0, count=2)
    assert not call.verdict(gradients=False, distance=0.05).passed
    assert call.verdict(gradients=False, distance=0.05, decisions=2e-4).passed


def test_one_flip_is_one_wrong_decision_although_everything_after_it_follows():
    call = Right()
    problem, forced = call.problem, call.spikes["neuron1"]
    forced[5, 1, 7] = 1 - forced[5, 1, 7]
    for t in range(6, 37):
        run = oracle.forward(problem.network, problem.parameters, problem.input, call.spikes)
        forced[t] = run.expected["neuron1"][t]
    verdict = call.verdict(gradients=False)
    assert not verdict.passed and verdict.wrong_decisions == 1 / (37 * 3 * 97)


def test_counts_are_held_against_the_nearest_multiple_of_the_threshold():
    call = Right(replace(CASE, neuron=NeuronSpec(max_spikes=3)))
    last = call.run.potentials["neuron1"][-1]
    b, n = np.unravel_index(np.argmin(np.abs(last - 2)), last.shape)
    call.spikes["neuron1"][-1, b, n] = (
        3 - call.spikes["neuron1"][-1, b, n]
    )  # one for two, or two for one
    assert call.verdict(gradients=False).distance == pytest.approx(abs(last[b, n] - 2), rel=1e-9)


def test_a_finding_in_a_stack_names_the_layer_and_no_other():
    call = Right(replace(CASE, layers=3))
    call.flip(near=0.5, neuron="neuron1")
    findings = call.verdict(gradients=False).findings
    assert "of the decisions in neuron1, behind linear1, are wrong" in findings[0]


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
    call = Right()
    with np.errstate(invalid="ignore"):
        call.spikes["neuron1"] = spoil(call.spikes["neuron1"]).astype(np.float32)
    assert words in call.finding()
    assert call.verdict(gradients=False).wrong_decisions is None  # not 0: none was judged


def test_one_silent_neuron_of_2100_is_found():
    call = Right(WIDE, gains=1.2)
    call.spikes["neuron1"][:, :, 1234] = 0
    assert "of the decisions are wrong" in call.finding(
        gradients=False
    ) and "neuron 1234" in call.finding(gradients=False)


# -- gradients -------------------------------------------------------------------------------------


def times(array, factor):
    array *= np.float32(factor)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda own, x: own.update(weight=None), "the gradient of the weight is missing"),
        (lambda own, x: own.update(bias=None), "the gradient of the bias is missing"),
        (lambda own, x: own["bias"].fill(0), "the gradient of the bias is zero"),
        (lambda own, x: times(x, 1.0001), "the gradient of the input is 1.0001 times"),
        (lambda own, x: times(own["weight"], 0.5), "the gradient of the weight is 0.5 times"),
        (
            lambda own, x: own["weight"].__setitem__((3, 4), np.nan),
            "the gradient of the weight is not finite",
        ),
        (
            lambda own, x: x.__setitem__((0, 0, 0), np.inf),
            "the gradient of the input is not finite",
        ),
        (lambda own, x: own["weight"].__setitem__(5, 0), "the gradient of the weight is off by"),
        (
            lambda own, x: own.update(weight=own["weight"][:, :-1]),
            "the gradient of the weight has shape (97, 96)",
        ),
    ],
)
def test_each_wrong_gradient_is_one_finding(spoil, words):
    call = Right()
    spoil(call.gradients.parameters["linear1"], call.gradients.input)
    with np.errstate(invalid="ignore"):
        assert words in call.finding()


@pytest.mark.parametrize("asked", [True, False])
def test_an_input_gradient_is_missed_where_it_is_asked_for(asked):
    call = Right(replace(CASE, input_grad=asked))
    call.gradients.input = None
    assert call.verdict().findings == ["the gradient of the input is missing"] * asked


def test_the_layer_of_a_wrong_gradient_is_named():
    call = Right(replace(CASE, layers=2))
    call.gradients.parameters["linear2"]["weight"] *= np.float32(1.001)
    assert "the gradient of the weight of linear2 is 1.001 times" in call.finding()


def test_gradients_just_inside_and_outside_the_limit():
    for factor, passes in ((1 + 0.9e-5, True), (1 + 1.2e-5, False)):
        call = Right()
        own = call.gradients.parameters["linear1"]
        own["bias"] = (own["bias"].astype(np.float64) * factor).astype(np.float32)
        assert call.verdict().passed is passes


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            lambda own, x: times(own["weight"], 0.5),
            "the gradient of the weight is 0.5 times the right one",
        ),
        (lambda own, x: own["weight"].fill(0), "the gradient of the weight is zero"),
        (lambda own, x: times(own["weight"][1234], 0), "the gradient of the weight is off by"),
        (lambda own, x: times(x[:, :, 1234], 1.01), "the gradient of the input is off by"),
        (lambda own, x: times(x[1, 0], 1.01), "the gradient of the input is off by"),
        (
            lambda own, x: own["weight"].__setitem__((3, 4), np.nan),
            "the gradient of the weight is not finite",
        ),
    ],
)
def test_a_gradient_that_is_wrong_anywhere_shows_in_projections(spoil, words):
    call = Right(WIDE, gains=1.2)
    spoil(call.gradients.parameters["linear1"], call.gradients.input)
    with np.errstate(invalid="ignore"):
        assert words in call.finding()


# -- networks --------------------------------------------------------------------------------------

CONTRACT = Case("any", workload="contract", time_steps=5, batch=3)


def judged(call, output=None, statistics=None):
    given = JudgedCall(call.problem.input, call.spikes, output, call.gradients, statistics)
    return judge(call.problem, given, call.limits).findings


def test_the_right_network_passes_with_its_output_and_its_statistics():
    call = Right(CONTRACT)
    before = {
        name: {"mean": np.zeros(4, np.float32), "variance": np.ones(4, np.float32)}
        for name in ("norm1", "norm2", "norm3")
    }
    after = {
        n: {k: 0.9 * before[n][k] + 0.1 * value for k, value in own.items()}
        for n, own in call.run.statistics.items()
    }
    assert judged(call, call.run.values["mean1"].astype(np.float32), (before, after)) == []
    for name, words in (
        ("norm1", "mean of norm1 is zero"),
        ("norm3", "variance of norm3 is off by"),
    ):
        findings = judged(call, statistics=(before, {**after, name: before[name]}))
        assert len(findings) == 2 and any(f"the running {words}" in finding for finding in findings)
    assert "the running mean of norm1 is missing" in judged(call, statistics=(before, {}))


@pytest.mark.parametrize("neuron", ["neuron1", "neuron2"])
def test_wrong_decisions_are_placed_at_their_neuron_and_what_is_before_it(neuron):
    call = Right(CONTRACT)
    call.spikes[neuron][-1, 0, 1, 2, 3] = 1 - call.spikes[neuron][-1, 0, 1, 2, 3]
    call.gradients = None
    (finding,) = [finding for finding in judged(call) if f"in {neuron}, behind" in finding]
    assert "neuron (1, 2, 3): v = " in finding


def test_a_wrong_output_is_a_finding():
    call = Right(CONTRACT)
    output = call.run.values["mean1"].astype(np.float32)
    assert judged(call, 2 * output) == [
        "the output, of mean1, is 2 times the right one (relative L2, allowed 2.0e-05)"
    ]
    assert judged(call, output[:, :, :-1]) == [
        "the output, of mean1, has shape (1, 3, 6), not (T, B, N) = (1, 3, 7)"
    ]


def test_shapes_are_looked_at_before_the_oracle_runs(monkeypatch):
    """A pool before the neuron has another shape, on which the oracle would trip."""
    call = Right(CONTRACT)
    call.spikes["neuron1"] = call.spikes["neuron1"][..., ::2, ::2]
    del call.spikes["neuron2"]
    monkeypatch.setattr(oracle, "forward", None)
    assert judged(call) == [
        "spikes of neuron1 have shape (5, 3, 4, 5, 6), not (T, B, C, H, W) = (5, 3, 4, 9, 11)",
        "spikes of neuron2 are missing",
    ]


def test_of_many_wrong_gradients_those_nearest_to_the_output_are_named():
    call = Right(CONTRACT)
    for arrays in call.gradients.parameters.values():
        for name in arrays:
            arrays[name] = arrays[name] * np.float32(2)
    findings = judged(call)
    assert len(findings) == 4 and findings[-1].endswith("more gradients")
    assert "bias of linear1 is 2 times" in findings[0]


@pytest.mark.parametrize("workload", ["recurrent", "potentials"])
def test_gradients_of_the_other_neurons_are_named(workload):
    call = Right(replace(CASE, workload=workload))
    assert judged(call) == []
    node, key = {"recurrent": ("neuron1", "recurrent"), "potentials": ("linear2", "weight")}[
        workload
    ]
    call.gradients.parameters[node][key] = call.gradients.parameters[node][key] * np.float32(0.5)
    words = "recurrent weight of neuron1" if workload == "recurrent" else "weight of linear2"
    assert judged(call)[0].startswith(f"the gradient of the {words} is 0.5 times the right one")
