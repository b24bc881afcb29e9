"""The time axis where few spikes change: small outputs, short memories, slow synapses. Right loops
pass, and those without memory or reaction do not."""

from dataclasses import replace

import pytest
from support.networks import workload_of
from support.proofs import loaded

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.core.network import INPUT, Network, Node
from snnbench.kernels.spec import NeuronSpec
from snnbench.proof.time_axis import time_axis
from snnbench.workloads.user_network import as_text, learn, reference_of, user_network

TORCH = registry.load(registry.FRAMEWORKS["torch"])
FEW = Case("torch", workload="mnist-mlp", image=8, classes=10, time_steps=20, batch=4)
NEURONS = [
    NeuronSpec("hard", detach_reset=True, decay=0.5, learned_decay="sigmoid"),
    NeuronSpec("hard", detach_reset=True, decay=0.1),
    NeuronSpec("hard", detach_reset=True, decay=0.03),
    NeuronSpec("soft", decay=0.9),
]
SLOW = NeuronSpec("soft", decay=0.99, current_decay=0.98)


def prepared(spec, seed=0, case=FEW):
    case = replace(case, neuron=spec, seed=seed, loss="cross-entropy", optimizer="sgd")
    return loaded(TORCH, workload_of(case).small_case(case))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spec", NEURONS, ids=NeuronSpec.label)
def test_small_outputs_and_short_memories_pass(spec, seed):
    assert time_axis(*prepared(spec, seed)).findings == []


def slow_case():
    """A network of a user: eight neurons behind a slow synapse, with short sequences."""
    nodes = (
        Node("linear1", "linear", (INPUT,), {"outputs": 8}),
        Node("neuron1", "neuron", ("linear1",), {"neuron": SLOW}),
    )
    text = as_text(Network((12,), nodes))
    reference = reference_of("slow", text)
    learn(reference, text)
    case = Case("torch", workload="network", network=reference, time_steps=20, batch=2)
    return user_network.canonical(case)


@pytest.mark.parametrize("seed", range(8))
def test_slow_synapses_pass(seed):
    case = user_network.small_case(replace(slow_case(), seed=seed))
    assert time_axis(*loaded(TORCH, case)).findings == []


class Same:
    """A program that gets the same input in every call."""

    def __init__(self, program, x):
        self.program, self.x = program, x

    def __getattr__(self, name):
        return getattr(self.program, name)

    def put_input(self, array):
        return self.program.put_input(self.x)

    def input_after(self, x):
        return None


@pytest.mark.parametrize("spec", NEURONS, ids=NeuronSpec.label)
def test_what_forgets_and_what_does_not_hear_is_found(spec):
    program, problem = prepared(spec)
    forgetful, _ = prepared(NeuronSpec(spec.reset, spec.detach_reset, decay=1e-9))
    (finding,) = time_axis(forgetful, problem).findings
    assert finding.startswith("has no memory: earlier input does not change later spikes")
    (finding,) = time_axis(Same(program, problem.input), problem).findings
    assert finding == "does not react to its input"


def test_what_does_not_hear_through_a_slow_synapse_is_found():
    program, problem = loaded(TORCH, user_network.small_case(slow_case()))
    assert time_axis(Same(program, problem.input), problem).findings == [
        "does not react to its input"
    ]


def test_one_step_has_no_memory_to_ask_for():
    program, problem = loaded(TORCH, Case("torch", neurons=5, time_steps=1, batch=3))
    assert time_axis(program, problem).findings == []
