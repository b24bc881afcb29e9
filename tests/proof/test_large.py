"""Large networks: the papers' sizes are proved within minutes on a machine without a GPU, and
their memory is bounded."""

import json
import tracemalloc
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest
from support.expected import adapter_of
from support.networks import TINY, WIDEST, network_of
from support.paths import WRONG
from support.proofs import proof_of
from support.slow import representatives

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.core.result import Gradients
from snnbench.proof import layers, oracle
from snnbench.proof.judge import JudgedCall, judge
from snnbench.proof.limits import limits_of
from snnbench.proof.problem import Gains, generate
from snnbench.proof.stages import last_stage
from snnbench.proof.training import loss_and_gradient
from snnbench.workloads.resnet import spiking_resnet

IMAGENET = {"width": 64, "image": 224, "classes": 1000, "neuron": WIDEST}


@pytest.mark.parametrize(
    ("workload", "sizes", "judged"),
    [
        (
            "spiking-resnet50",
            {**IMAGENET, "time_steps": 4, "batch": 16},
            ("own size but T=2 B=2, fp32", 2, 2),
        ),
        (
            "alexnet",
            {**IMAGENET, "time_steps": 6, "batch": 1},
            ("own size but T=2 B=1, fp32", 2, 1),
        ),
        (
            "spiking-resnet18",
            {**IMAGENET, "width": 8, "image": 32, "time_steps": 4, "batch": 4},
            ("own size, fp32", 4, 4),
        ),
        (
            "linear-lif",
            {"neurons": 4096, "time_steps": 1000, "batch": 128},
            ("own size, fp32", 1000, 128),
        ),
    ],
)
def test_of_a_large_network_two_steps_and_two_items_are_proved_at_its_own_width(
    workload, sizes, judged
):
    case = Case("any", workload=workload, **sizes)
    stage = last_stage(case, network_of(case))
    assert (stage.name, stage.case.time_steps, stage.case.batch) == judged
    assert stage.network == network_of(case)


@pytest.mark.parametrize("most", representatives(["LARGE", "LEAN"], [1]))
def test_it_is_proved_and_its_fault_found_there(most, monkeypatch):
    monkeypatch.setattr(oracle, "LARGE", 0)
    monkeypatch.setattr(oracle, most, 0)
    proof = proof_of(adapter_of("torch"), Case("torch", workload="contract", **TINY))
    assert proof.passed, proof.reason
    assert proof.stages[-1].name == "own size but T=2 B=2, fp32"
    wrong = proof_of(
        registry.load(f"{WRONG / 'networks.py'}:NormByStep"),
        Case("wrong", workload="contract", **TINY),
    )
    assert "neuron1" in wrong.reason and "norm1" in wrong.reason


def test_what_no_machine_could_judge_is_refused_before_it_runs(snnbench):
    config = snnbench.folder / "large.toml"
    grid = 'framework = ["torch"]\nworkload = ["sew-resnet18"]\nwidth = [64]\nimage = [224]\nbatch = [112, 448]\ntime_steps = [4]'
    config.write_text(f'name = "large"\n[grid]\n{grid}\n')
    planned = json.loads(snnbench("plan", "--config", config, "--json").stdout)["cases"]
    fits, refused = (case["reason"] for case in planned)
    assert fits is None
    assert refused.startswith(
        "the oracle would need about 57 GiB to judge a call, at most 16 are allowed: take fewer time steps"
    )


ITEMS = 64
STEM = Case(
    "any",
    workload="sew-resnet18",
    width=64,
    image=16,
    classes=7,
    neuron=WIDEST,
    time_steps=4,
    batch=ITEMS,
    loss="cross-entropy",
)


def held_by_judging(case, wrong, monkeypatch):
    """Returns the verdict on a call in a lean run with small parts, with the first decisions of the
    first neuron inverted if `wrong`, and the most bytes held per value of the largest node."""
    network = spiking_resnet(case, (1, 0, 0, 0), adds_spikes=True)
    problem = generate(case, network, Gains(dict.fromkeys(network.neurons, 1.0)))
    run = oracle.forward(network, problem.parameters, problem.input)
    loss, upstream = loss_and_gradient(case.loss, run.values[network.output.name], problem.upstream)
    by_parameter, by_input = oracle.backward(network, run, upstream)
    gradients = Gradients(
        {
            node: {key: oracle.whole(value).astype(np.float32) for key, value in own.items()}
            for node, own in by_parameter.items()
        },
        by_input.astype(np.float32),
        loss=loss,
    )
    spikes = {name: array.astype(np.float32) for name, array in run.spikes.items()}
    if wrong:
        spikes["neuron1"][-1, 0] = 1 - spikes["neuron1"][-1, 0]
    del run, by_parameter, by_input
    monkeypatch.setattr(oracle, "LEAN", 0)
    monkeypatch.setattr(layers, "MOST_VALUES", 1)
    monkeypatch.setattr(layers, "MOST_WINDOWS", 1)
    call = JudgedCall(problem.input, spikes, gradients=gradients)
    largest = max(case.time_steps * ITEMS * prod(shape) for shape in network.shapes.values())
    tracemalloc.start()
    try:
        verdict = judge(problem, call, limits_of(case, network))
        return verdict, tracemalloc.get_traced_memory()[1] / largest
    finally:
        tracemalloc.stop()


BOUND = oracle.HELD + oracle.ONE_ITEM / ITEMS


@pytest.mark.parametrize(
    ("precision", "wrong"),
    representatives(product(["fp32", "amp-bf16"], [False, True]), [1, 2]),
)
def test_judging_a_large_call_holds_no_more_than_the_refusal_says(precision, wrong, monkeypatch):
    case = replace(STEM, precision=precision)
    verdict, held = held_by_judging(case, wrong, monkeypatch)
    assert verdict.passed is not wrong, verdict.findings
    assert held <= BOUND


def test_an_array_more_is_seen(monkeypatch):
    forgotten = []

    def run_of(self, items, right=oracle._SomeItems.run):
        forgotten.append(right(self, items))
        return forgotten[-1]

    monkeypatch.setattr(oracle._SomeItems, "run", run_of)
    _, held = held_by_judging(STEM, False, monkeypatch)
    assert held > BOUND
