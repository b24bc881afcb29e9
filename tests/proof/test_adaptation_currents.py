"""Neurons with an adaptation current (adLIF): plain loops are proved, wrong ones named, missing ones
refused."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.expected import adapter_of, case_of, of_frameworks, proved
from support.paths import WRONG
from support.proofs import proof_of, refusal_of
from support.slow import COVERED, one_of_each, without

from snnbench.adapters import registry
from snnbench.adapters.base.spikes import reset, torch_spike
from snnbench.core.case import Case
from snnbench.kernels import LIF
from snnbench.kernels.spec import NeuronSpec
from snnbench.proof.recurrence import run, run_backward

SOFT = NeuronSpec("soft", adaptation=0.25, adaptation_decay=0.9, adaptation_coupling=0.1)
HARD = replace(SOFT, reset="hard", detach_reset=True, decay=0.5, adaptation_coupling=-0.05)
ATTACHED = replace(SOFT, reset="hard", surrogate="atan", adaptation_coupling=0.0)
NONE = replace(SOFT, reset="none", decay=0.5)
ALL = [SOFT, HARD, ATTACHED, NONE]
FAULTS = tomllib.loads((WRONG / "faults.toml").read_text())["adaptation_currents"]
SIZES = {"neurons": 130, "time_steps": 40, "batch": 4}
PROVED = one_of_each(
    [(name, spec) for name in ("torch", "torch:stepwise", "jax") for spec in ALL],
    {"torch:stepwise", "jax"},
)


@of_frameworks(PROVED)
def test_those_of_plain_loops_are_proved(name, spec):
    proved(name, spec, **SIZES)


@pytest.mark.slow
@pytest.mark.frameworks
@pytest.mark.parametrize("name", ["torch", "jax"])
def test_with_recurrence(name):
    proved(name, SOFT, **{**SIZES, "time_steps": 15}, workload="recurrent-lif")


@pytest.mark.parametrize("fault", without(COVERED, FAULTS))
def test_a_wrong_one_is_named(fault):
    adapter = registry.load(f"{WRONG / fault}")
    proof = proof_of(adapter, Case(adapter.name, neuron=SOFT, **SIZES))
    assert not proof.passed
    assert FAULTS[fault] in proof.reason


@pytest.mark.parametrize("name", ["fused", "sinabs"])
def test_a_missing_one_is_refused_with_the_reason(name):
    words = "offered without an adaptation current in construction 'default'"
    assert words in refusal_of(adapter_of(name), case_of(name, SOFT, **SIZES))


def test_the_fused_neuron_refuses_it():
    with pytest.raises(ValueError, match="no LIF has an adaptation current"):
        LIF(SOFT)


@pytest.mark.parametrize("spec", ALL, ids=NeuronSpec.label)
def test_a_specification_survives_the_way_through_its_text(spec):
    assert NeuronSpec.of(spec.text) == spec


@given(st.sampled_from(ALL), st.booleans(), st.integers(1, 12), st.integers(0, 1000))
def test_the_oracle_has_the_gradient_of_autograd(spec, by_potentials, steps, seed):
    """In float64, of a loop written down once more."""
    x, upstream = torch.from_numpy(np.random.default_rng(seed).standard_normal((2, steps, 2, 3)))
    x.requires_grad_()
    spike, spikes, potentials = torch_spike(spec).apply, [], []
    p = a = torch.zeros_like(x[0])
    for current in x:
        potentials.append(spec.decay * p + current - a)
        spikes.append(spike(potentials[-1]))
        p = reset(spec, potentials[-1], spikes[-1], torch.Tensor.detach)
        a = spec.adaptation_decay * a + spec.adaptation * spikes[-1]
        a = a + spec.adaptation_coupling * potentials[-1]
    torch.stack(potentials if by_potentials else spikes).backward(upstream)
    v, expected = run(spec, x.detach().numpy())
    assert np.array_equal(torch.stack(spikes).detach().numpy(), expected)
    assert np.allclose(torch.stack(potentials).detach().numpy(), v)
    by_x = run_backward(spec, v, expected, upstream.numpy(), by_potentials=by_potentials)
    assert np.allclose(by_x, x.grad.numpy())
