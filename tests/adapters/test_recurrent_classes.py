"""Frameworks' own classes for recurrent neurons compute what a linear and a loop compute."""

from dataclasses import replace

import pytest
from support.expected import adapter_of, case_of, proved
from support.proofs import proof_of, refusal_of

SIZES = {"workload": "recurrent", "time_steps": 37, "batch": 3}
OWN = {
    "snntorch:rleaky": ("soft", "hard", "none", "soft-undecayed(detach_reset=True)"),
    "sinabs:lif-recurrent": ("soft", "hard", "soft-undecayed"),
    "spikingjelly:recurrent-container": ("hard", "soft", "soft(detach_reset=True)"),
    "rockpool:lif-torch": ("soft",),
    "spyx": ("soft", "hard", "none"),
}
PAIRS = [(name, neuron) for name, neurons in OWN.items() for neuron in neurons]
QUICK = {(name, neurons[0]) for name, neurons in OWN.items() if name != "spyx"}


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "neuron"),
    [pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.slow) for pair in PAIRS],
)
def test_a_class_of_the_framework_computes_the_recurrent_neuron(name, neuron):
    proved(name, neuron, **SIZES)


def test_the_reset_to_zero_of_rleaky_is_another_neuron(monkeypatch):
    """It takes the step's whole current off after a spike."""
    monkeypatch.setattr("snnbench.adapters.snntorch.applied", lambda spec: False)
    case = case_of("snntorch:rleaky", "hard", **SIZES)
    proof = proof_of(adapter_of("snntorch"), case)
    assert not proof.passed and "neuron1" in proof.reason, proof.reason


def test_lif_torch_is_refused_with_adam():
    """The squares of its scaled gradients are subnormal."""
    case = replace(case_of("rockpool:lif-torch", "soft", **SIZES), loss="cross-entropy")
    assert refusal_of(adapter_of("rockpool"), replace(case, optimizer="sgd")) is None
    assert "Adam" in refusal_of(adapter_of("rockpool"), replace(case, optimizer="adam"))


@pytest.mark.parametrize("name", ["snntorch:rleaky", "sinabs:lif-recurrent"])
def test_such_a_class_is_refused_where_nothing_is_recurrent(name):
    case = replace(case_of(name, "hard", **SIZES), workload="linear-lif")
    assert refusal_of(adapter_of(name), case).endswith(
        "is about a recurrent neuron, and this network has none"
    )
