"""Wrong networks are rejected, with words that name the node and the fault."""

import tomllib
from dataclasses import replace

import pytest
from support.networks import FUSION, TINY, sized
from support.paths import WRONG
from support.proofs import proof_of
from support.slow import COVERED, representatives, without

from snnbench.adapters import registry
from snnbench.core.case import Case

TABLE = tomllib.loads((WRONG / "faults.toml").read_text())
SMALL = [
    (network, fault, words)
    for network, faults in TABLE["networks"].items()
    for fault, words in faults.items()
]
REAL = [
    (network, fault, words)
    for network, faults in TABLE["real"].items()
    for fault, words in faults.items()
]


IN_SMALL = {fault for _, fault, _ in SMALL}
"""Faults that are planted in the contract's networks too: in the papers' networks they are slow."""


def test_there_are_many():
    assert len({fault for _, fault, _ in REAL}) >= 50


def of_kinds(cases, slow=frozenset()):
    """The cases for `parametrize`; those of covered faults, or `slow`, are marked slow."""
    quick = {i for i, (_, fault, _) in enumerate(cases) if fault not in COVERED | slow}
    return representatives(cases, quick)


@pytest.mark.parametrize(("network", "fault", "words"), of_kinds(SMALL), ids=lambda value: value)
def test_of_the_contract(network, fault, words):
    adapter = registry.load(f"{WRONG}/{fault}")
    sizes = TINY if network == "contract" else {"time_steps": 37, "batch": 3}
    proof = proof_of(adapter, Case(adapter.name, workload=network, **sizes))
    assert not proof.passed
    assert words in proof.reason


@pytest.mark.parametrize(
    ("network", "fault", "words"), of_kinds(REAL, IN_SMALL), ids=lambda value: value
)
def test_of_the_papers(network, fault, words):
    proof = proof_of(registry.load(f"{WRONG}/{fault}"), sized(network))
    assert not proof.passed
    assert words in proof.reason


@pytest.mark.parametrize(
    ("fault", "words"),
    without(
        TABLE["real"]["spiking-resnet18"].keys() - {"rewired.py:NeuronWithoutShortcut"},
        TABLE["real"]["spiking-resnet18"].items(),
    ),
    ids=lambda value: value,
)
def test_of_a_residual_network_with_the_neuron_of_its_paper(fault, words):
    """A shortcut's spike passes its threshold, so that its problem has lower biases."""
    case = replace(sized("spiking-resnet18"), neuron=FUSION)
    proof = proof_of(registry.load(f"{WRONG}/{fault}"), case)
    assert not proof.passed
    assert words in proof.reason
