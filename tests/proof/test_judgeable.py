"""Settings that no proof can judge are refused by name before any framework runs, and no others."""

import json
from dataclasses import replace

import pytest
from support.proofs import problem_of, proof_of

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.proof.free_run import free_run, is_whole, read_free_run, write_free_run
from snnbench.proof.judgeable import unjudgeable_gradient
from snnbench.proof.rare import DENSE, rare_inputs
from snnbench.workloads import workload_of

CASE = Case("any", neurons=97, time_steps=37, batch=3)
STRAIGHT = NeuronSpec("hard", surrogate="straight-through")


def reason_of(case):
    return free_run(case, workload_of(case).network(case)).unsuitable


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"precision": "fp16", "neuron": replace(STRAIGHT, reset="hard-straight", decay=0.99)},
            "small problem, fp32: the gradient of the weight is more than fp32 holds, so no "
            "framework can compute it",
        ),
        (
            {"precision": "fp16", "neuron": replace(STRAIGHT, decay=0.5)},
            "small problem, fp16: the gradient of the weight is more than fp16 holds, so no "
            "framework can compute it",
        ),
        (
            {"precision": "bf16", "neuron": NeuronSpec("soft", surrogate="triangle", slope=100.0)},
            "so a wrong one would not show",
        ),
        (
            {
                **{"workload": "lif", "neurons": 3, "bias": False, "time_steps": 2, "seed": 4},
                "precision": "bf16",
                "neuron": NeuronSpec("soft", decay=0.25, surrogate="sigmoid", slope=5.0),
            },
            "own size, bf16: rounding in bf16 changes the gradient of the input by up to 1",
        ),
    ],
)
def test_what_no_format_or_rounding_lets_be_judged_is_refused_with_the_reason(changes, reason):
    assert reason in reason_of(replace(CASE, **changes))


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16", "amp-bf16", "fp16"])
@pytest.mark.parametrize("neuron", ["soft", "hard", "none", "hard-straight"])
def test_the_usual_neurons_are_judged_in_every_format(neuron, precision):
    assert reason_of(replace(CASE, neuron=NEURONS[neuron], precision=precision)) is None


@pytest.mark.parametrize(
    "neuron",
    [
        NeuronSpec("soft", slope=100.0),
        NeuronSpec("hard", decay=0.25, threshold=0.25, surrogate="rectangle"),
        NeuronSpec("soft", decay=0.5, surrogate="atan", slope=25.0, learned_decay="sigmoid"),
    ],
    ids=NeuronSpec.label,
)
@pytest.mark.parametrize("neurons", [2, 97])
def test_steep_ones_are_judged_in_fp32(neuron, neurons):
    assert reason_of(replace(CASE, neuron=neuron, neurons=neurons)) is None


def test_the_reason_is_kept_in_the_file(tmp_path):
    case = replace(CASE, precision="fp16", neuron=replace(STRAIGHT, decay=0.5))
    write_free_run(case, path := tmp_path / "free.npz")
    assert is_whole(path) and read_free_run(path).unsuitable == reason_of(case)


def test_gradients_of_ones_that_grow_beyond_float32_are_not_held_against_a_loop():
    case = replace(CASE, framework="torch", neuron=replace(STRAIGHT, decay=0.9), neurons=31)
    assert reason_of(case) is None
    small = problem_of(workload_of(case).small_case(case))
    dense = replace(small, input=rare_inputs(small.other_input)[DENSE])
    assert "holds" in unjudgeable_gradient(replace(dense, upstream=2**10 * small.upstream))
    proof = proof_of(registry.load(registry.FRAMEWORKS["torch"]), case)
    assert proof.passed, proof.reason


@pytest.mark.parametrize(
    "neuron",
    [
        NeuronSpec("soft", True, 0.99, surrogate="atan", slope=50.0, learned_decay="sigmoid"),
        NeuronSpec("soft", True, 1.0, surrogate="rectangle", slope=10.0),
    ],
    ids=NeuronSpec.label,
)
def test_the_second_step_of_a_steep_neuron_is_judged_by_its_own_start(neuron):
    case = replace(CASE, framework="torch", neuron=neuron, neurons=31, time_steps=20, seed=1)
    proof = proof_of(registry.load(registry.FRAMEWORKS["torch"]), case)
    assert proof.passed, proof.reason


def test_plan_gives_the_reason_of_the_run(snnbench):
    neuron = 'neuron = [{ reset = "soft", surrogate = "triangle", slope = 100.0 }]'
    grid = f'{neuron}\nprecision = ["fp32", "bf16"]\nneurons = [13, 97]\n'
    config = snnbench.config(["torch"], grid=grid)
    planned = json.loads(snnbench("plan", "--config", config, "--json").stdout)["cases"]
    for entry in planned:
        case = Case.from_dict(entry["case"])
        assert entry["state"] == ("to do" if case.precision == "fp32" else "unsupported")
        assert entry["reason"] == reason_of(case)
    assert len(planned) == 4
