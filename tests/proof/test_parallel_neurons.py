"""Parallel spiking neurons, a mix of time steps with a neuron without a memory: those of SpikingJelly
are proved, and one that looks ahead is told from one that must not."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.autograd import assert_gradients, mix_time
from support.expected import adapter_of
from support.networks import network_of, sized
from support.paths import WRONG
from support.proofs import loaded, problem_of, proof_of, refusal_of
from support.slow import one_of_each

from snnbench.adapters import registry
from snnbench.adapters.base.torch_network import MixTime
from snnbench.core.network import Network, Node
from snnbench.kernels.spec import NeuronSpec
from snnbench.proof import oracle
from snnbench.proof.time_axis import time_axis

PARALLEL = NeuronSpec("none", decay=0.0, surrogate="atan", threshold=0.5)
WORKLOADS = ("psn", "masked-psn", "sliding-psn")
AHEAD = "looks ahead: a later input changes earlier spikes"


def case_of(workload, framework="torch", **changes):
    return replace(sized(workload), framework=framework, neuron=PARALLEL, **changes)


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "workload"),
    one_of_each([(name, each) for name in ("torch", "jax", "spikingjelly") for each in WORKLOADS]),
)
def test_they_are_proved(name, workload):
    adapter, case = adapter_of(name), case_of(workload, name, layers=2)
    assert (reason := refusal_of(adapter, case)) is None, reason
    proof = proof_of(adapter, case)
    assert proof.passed, proof.reason


@pytest.mark.frameworks
@pytest.mark.parametrize("name", ["torch", "spikingjelly"])
def test_the_dtype_of_the_state_is_read_from_all_steps(name):
    program, problem = loaded(adapter_of(name), case_of("masked-psn", name))
    facts = program.facts(program.forward(program.put_input(problem.input)))
    assert facts["state_dtype"] == (None if name == "spikingjelly" else "float32")


@pytest.mark.parametrize("order", [1, 2, 5, 40])
def test_a_sliding_mix_of_torch_is_a_convolution(order):
    """Of fewer steps than it reaches back, of whole blocks, and of others."""
    for steps in (1, 2, 37, 39, 78):
        mix, x = MixTime(steps, order, True).double(), torch.randn(steps, 3, 2).double()
        torch.nn.init.normal_(mix.weight)
        torch.nn.init.normal_(mix.bias)
        padded = torch.nn.functional.pad(x.flatten(1).T, (order - 1, 0))[:, None]
        expected = torch.nn.functional.conv1d(padded, mix.weight[None, None])[:, 0].T + mix.bias
        torch.testing.assert_close(mix(x), expected.view_as(x))


@pytest.mark.frameworks
def test_classes_of_the_framework_compute_them():
    case = case_of("masked-psn", "spikingjelly")
    modules = adapter_of("spikingjelly").modules(case, network_of(case))
    assert type(modules["mix_time1", "neuron1"].psn).__name__ == "MaskedPSN"


@pytest.mark.frameworks
def test_a_mask_that_is_not_set_is_named():
    adapter = registry.load(f"{WRONG}/parallel.py:MaskNotSet")
    proof = proof_of(adapter, case_of("masked-psn", adapter.name))
    assert "mix_time1 looks ahead: it counts later steps" in proof.reason


@pytest.mark.parametrize("fault", ["CountsLater", "Centred"])
def test_the_time_axis_shows_a_neuron_that_looks_ahead(fault):
    adapter = registry.load(f"{WRONG}/parallel.py:{fault}")
    case = case_of("sliding-psn" if fault == "Centred" else "masked-psn", adapter.name)
    assert AHEAD in time_axis(*loaded(adapter, case)).findings


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_time_axis_of_a_right_one_has_no_finding(workload):
    """Though later inputs change earlier spikes of one of them."""
    case = case_of(workload)
    assert time_axis(*loaded(adapter_of("torch"), case)).findings == []
    problem = problem_of(case)
    future, half = problem.input.copy(), len(problem.input) // 2
    future[half:] = problem.other_input[half:]
    before, after = (
        oracle.forward(problem.network, problem.parameters, x).spikes[problem.last][:half]
        for x in (problem.input, future)
    )
    assert problem.network.looks_ahead == (workload == "psn")
    assert np.array_equal(before, after) != problem.network.looks_ahead


@given(st.integers(1, 9), st.none() | st.integers(1, 9), st.booleans(), st.integers(0, 99))
def test_the_oracle_has_the_gradient_of_autograd(steps, order, sliding, seed):
    sliding = sliding and order is not None
    node = Node("mix", "mix_time", options={"steps": steps, "order": order, "sliding": sliding})
    shapes, random = Network((3,), (node,)).parameters["mix"], np.random.default_rng(seed)
    own = {key: random.standard_normal(shape) for key, shape in shapes.items()}
    x, upstream = random.standard_normal((2, steps, 2, 3))
    assert_gradients(node, mix_time, own, x, upstream)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "mix_time needs the option 'steps'"),
        ({"steps": 0}, "steps = 0 must be a whole number from 1"),
        ({"steps": 3, "order": 0}, "order = 0 must be a whole number from 1"),
        ({"steps": 3, "sliding": True}, "a sliding mix needs an order"),
    ],
)
def test_options_that_make_no_mix_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Node("mix", "mix_time", options=options)
