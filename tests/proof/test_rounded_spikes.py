"""Neurons that fire whole numbers, rounded (I-LIF), with and without a memory: those of frameworks
are proved, wrong ones named, missing ones refused."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.autograd import loop
from support.expected import adapter_of, case_of, of_frameworks, proved
from support.networks import network_of, sized
from support.paths import WRONG
from support.proofs import proof_of, refusal_of
from support.slow import COVERED, one_of_each, without

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.core.variant import VARIANT_FIELDS
from snnbench.kernels.spec import NeuronSpec
from snnbench.proof.free_run import free_run
from snnbench.proof.recurrence import contrary_to, fires, from_threshold, run, run_backward

INTEGER = NeuronSpec(
    decay=0.25, threshold=0.5, surrogate="straight-through", max_spikes=4, rounding="nearest"
)
WITHOUT_MEMORY = replace(INTEGER, decay=0.0, threshold=1.0)
DETACHED = replace(INTEGER, detach_reset=True, max_spikes=2)
NONE = replace(INTEGER, reset="none", max_spikes=1, decay=0.5)
SYNAPTIC = replace(INTEGER, current_decay=0.5)
ALL = [INTEGER, WITHOUT_MEMORY, DETACHED, NONE, SYNAPTIC]
FAULTS = tomllib.loads((WRONG / "faults.toml").read_text())["rounding"]
LAYERED = ("spikingjelly", "spikingjelly:layers")
SIZES = {"neurons": 97, "time_steps": 37, "batch": 3}

PROVED = one_of_each(
    [
        *((name, spec) for name in ("torch", "torch:stepwise", "jax", "fused") for spec in ALL),
        *(
            (name, spec)
            for name in ("spikingjelly", "spikingjelly:single-step", "spikingjelly:stepwise")
            for spec in (INTEGER, WITHOUT_MEMORY, DETACHED)
        ),
        *((name, spec) for name in ("sinabs", "sinabs:alphas") for spec in (INTEGER, NONE)),
        ("rockpool", INTEGER),
        ("rockpool:lif-torch-without-recurrence", WITHOUT_MEMORY),
    ],
    {"torch:stepwise", "spikingjelly:single-step", "spikingjelly:stepwise", "sinabs:alphas", "jax"},
)


@of_frameworks(PROVED)
def test_those_of_frameworks_are_proved(name, spec):
    proved(name, spec, **SIZES)


@pytest.mark.slow
def test_a_bound_that_no_count_reaches_by_chance_is_proved():
    bounded = replace(INTEGER, max_spikes=24)
    proved("torch", bounded, **SIZES)
    adapter = registry.load(f"{WRONG / 'counts.py'}:Unbounded")
    proof = proof_of(adapter, replace(case_of("torch", bounded, **SIZES), framework=adapter.name))
    assert not proof.passed and "with potentials beyond the most spikes: " in proof.reason


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "name",
    without({"jax", "spikingjelly", "spikingjelly:layers"}, ["torch", "fused", "jax", *LAYERED]),
)
def test_a_block_of_the_spike_driven_transformer_is_proved(name):
    case = case_of(name, replace(WITHOUT_MEMORY, reset="none"))
    sizes = vars(sized("sdt-v3-block"))
    same = {each: sizes[each] for each in sizes if each not in ("neuron", *VARIANT_FIELDS)}
    case, adapter = replace(case, **same), adapter_of(name)
    assert (reason := refusal_of(adapter, case)) is None, reason
    proof = proof_of(adapter, case)
    assert proof.passed, proof.reason


@pytest.mark.parametrize("fault", without(COVERED, FAULTS))
def test_a_wrong_one_is_named(fault):
    adapter = registry.load(f"{WRONG / fault}")
    proof = proof_of(adapter, Case(adapter.name, neuron=INTEGER, **SIZES))
    assert not proof.passed
    assert FAULTS[fault] in proof.reason


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        (
            "fused:linear-split",
            INTEGER,
            "offered without spikes that are rounded in construction 'linear-split'",
        ),
        ("norse", INTEGER, "offered without spikes that are rounded in construction 'default'"),
        ("norse", NeuronSpec("none", decay=0.0), "decay 0 is not offered"),
        ("spikingjelly", NONE, "ILIFNode always subtracts"),
        ("spikingjelly", replace(INTEGER, decay=1.0), "ILIFNode always leaks"),
        ("sinabs", WITHOUT_MEMORY, "LIF always remembers"),
        ("rockpool", WITHOUT_MEMORY, "LIFNeuronTorch always remembers"),
    ],
)
def test_a_missing_one_is_refused_with_the_reason(name, spec, words):
    assert words in refusal_of(adapter_of(name), case_of(name, spec, **SIZES))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rounding": "down"}, "is not one of nearest"),
        ({"surrogate": "atan"}, "needs the surrogate straight-through"),
        ({"reset": "hard"}, "with the resets soft and none"),
        ({"learned_decay": "direct"}, "not offered with a learned decay"),
        ({"decay": 0.0, "rounding": None}, "at most 1 .0 only with the reset none or rounding"),
    ],
)
def test_what_cannot_be_rounded_is_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        replace(INTEGER, **fields)


@pytest.mark.parametrize("spec", ALL, ids=NeuronSpec.label)
def test_a_specification_survives_the_way_through_its_text(spec):
    assert NeuronSpec.of(spec.text) == spec


@pytest.mark.parametrize("most", [1, 4, 8])
def test_a_free_run_is_suitable_at_its_higher_counts(most):
    case = Case("torch", neuron=replace(INTEGER, max_spikes=most), **SIZES)
    free = free_run(case, network_of(case))
    assert free.unsuitable is None
    assert free.spikes.max() >= min(most, 4) and 0.1 < free.rates["neuron1"] < 0.2


def test_decisions_fall_half_a_threshold_below_its_multiples():
    v = np.array([-1.0, 0.25, 0.26, 0.74, 0.76, 1.8, 9.0])
    assert fires(INTEGER, v).tolist() == [0, 0, 1, 1, 2, 4, 4]
    assert np.allclose(from_threshold(INTEGER, v), [1.25, 0, 0.01, 0.01, 0.01, 0.05, 7.25])
    assert contrary_to(INTEGER, v, 0.02).tolist() == [0, 0, 0, 2, 1, 4, 4]


@given(st.sampled_from([*ALL[:4]]), st.integers(1, 12), st.integers(0, 1000))
def test_the_oracle_has_the_gradient_of_autograd(spec, steps, seed):
    x, upstream = torch.from_numpy(np.random.default_rng(seed).standard_normal((2, steps, 2, 3)))
    x.requires_grad_()
    spikes = loop(spec, x)
    spikes.backward(upstream)
    v, expected = run(spec, x.detach().numpy())
    assert np.array_equal(spikes.detach().numpy().round(), expected)
    assert np.allclose(run_backward(spec, v, expected, upstream.numpy()), x.grad.numpy())
