"""Large networks: the papers' sizes are proved within minutes on a machine without a GPU, and
their memory is bounded."""

import json

import pytest
from support.expected import adapter_of
from support.networks import TINY, WIDEST, network_of
from support.paths import WRONG
from support.proofs import proof_of

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.proof import oracle
from snnbench.proof.stages import last_stage

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


@pytest.mark.parametrize("most", ["LARGE", "LEAN"])
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
    grid = 'framework = ["torch"]\nworkload = ["sew-resnet18"]\nwidth = [8, 64]\nimage = [224]\nbatch = [112]\ntime_steps = [4]'
    config.write_text(f'name = "large"\n[grid]\n{grid}\n')
    planned = json.loads(snnbench("plan", "--config", config, "--json").stdout)["cases"]
    fits, refused = (case["reason"] for case in planned)
    assert fits is None
    assert refused.startswith(
        "the oracle would need about 54 GiB to judge a call, at most 16 are allowed: take fewer time steps"
    )
