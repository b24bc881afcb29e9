"""Cases of several ranks are proved like all others and, before that, against one rank."""

import tomllib

import pytest
from support.paths import WRONG
from support.proofs import proof_of
from support.ranked import ranked
from support.slow import COVERED, representatives, without

from snnbench.adapters.ranks import member, time
from snnbench.adapters.registry import FRAMEWORKS
from snnbench.core.case import Case

FAULTS = tomllib.loads((WRONG / "faults.toml").read_text())["ranks"]
LAYER = {"neurons": 31, "time_steps": 41, "batch": 5}
NETWORK = {
    "workload": "cifar-small",
    "width": 3,
    "image": 12,
    "classes": 7,
    "time_steps": 5,
    "batch": 5,
    "norm": True,
}
NETWORK |= {
    "layers": None,
    "neurons": None,
    "bias": None,
    "input_grad": True,
    "loss": "cross-entropy",
    "optimizer": "sgd",
}


def case_of(name, ranks=2, parallel="data", **sizes):
    return Case(name, ranks=ranks, parallel=parallel, **sizes)


def stages_of(name, case, reference=None):
    with ranked(reference or FRAMEWORKS[name], case) as adapter:
        proof = proof_of(adapter, case)
    assert proof.passed, proof.reason
    return {stage.name: stage for stage in proof.stages}


@pytest.mark.parametrize(
    ("name", "parallel"),
    representatives(
        [("torch", "time"), ("torch", "data"), ("fused", "time"), ("fused", "data")], []
    ),
)
def test_a_network_with_norms_and_a_loss_on_uneven_parts(name, parallel):
    stages = stages_of(name, case_of(name, parallel=parallel, **NETWORK))
    first = stages["small problem, fp32, against one rank"]
    assert (first.case.batch, first.case.time_steps) == (3, 5) and first.verdict.grad_error < 2e-5
    assert {
        "small problem, fp32, spikes",
        "small problem, fp32, training",
        "own size, fp32",
    } <= stages.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["torch", "fused", "snntorch", "norse", "sinabs", "spikingjelly", "rockpool"]
)
def test_layers_of_every_framework(name):
    stages_of(name, case_of(name, **LAYER))


@pytest.mark.slow
def test_four_ranks():
    case = case_of("fused", ranks=4, **NETWORK)
    assert stages_of("fused", case)["small problem, fp32, against one rank"].case.batch == 5


@pytest.fixture
def restored(monkeypatch):
    """Undoes what wrong adapters change in the machinery of ranks, in this process too."""
    monkeypatch.setattr(member, "share", member.share)
    monkeypatch.setattr(time.Receive, "backward", time.Receive.__dict__["backward"])


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(("fault", "words"), without(COVERED, FAULTS.items()))
def test_what_ranks_compute_wrong_is_named(fault, words):
    parallel = "time" if fault.endswith("Truncates") else "data"
    case = case_of(fault.partition(":")[2], parallel=parallel, **NETWORK)
    with ranked(f"{WRONG / fault}", case) as adapter:
        proof = proof_of(adapter, case)
    assert not proof.passed
    assert "fp32, against one rank: " in proof.reason and words in proof.reason
