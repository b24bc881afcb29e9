"""Neurons with a synaptic current: those of frameworks are proved, wrong ones named, missing
ones refused."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.expected import adapter_of, case_of, of_frameworks, proved
from support.paths import WRONG
from support.proofs import proof_of, refusal_of
from support.slow import COVERED, one_of_each, representatives, without

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.kernels.spec import NeuronSpec
from snnbench.proof.recurrence import before_synapse, run, run_backward, synaptic

SOFT, HARD = (
    NeuronSpec("soft", current_decay=0.5),
    NeuronSpec("hard", detach_reset=True, decay=0.5, current_decay=0.5),
)
ATTACHED = NeuronSpec("hard", decay=0.5, current_decay=0.75)
TABLE = tomllib.loads((WRONG / "faults.toml").read_text())
FAULTS, OF_RECURRENT = TABLE["synapses"], TABLE["recurrent_synapses"]
SIZES = {"neurons": 130, "time_steps": 40, "batch": 4}

PROVED = one_of_each(
    [
        *(
            (name, spec)
            for name in ("torch", "torch:stepwise", "jax", "fused", "fused:reference", "snntorch")
            for spec in (SOFT, HARD)
        ),
        *(
            (name, spec)
            for name in ("spikingjelly", "spikingjelly:stepwise")
            for spec in (SOFT, HARD)
        ),
        *((name, SOFT) for name in ("sinabs", "sinabs:alphas", "sinabs:stepwise", "spyx:cuba-lif")),
        *((name, ATTACHED) for name in ("torch", "jax", "fused", "norse:lif", "spikingjelly")),
        *(
            (name, NeuronSpec("soft", current_decay=0.8))
            for name in ("torch", "jax", "fused", "snntorch", "spikingjelly", "spyx:cuba-lif")
        ),
        *((name, HARD) for name in ("sinabs",)),
    ],
    {"sinabs:alphas", "sinabs:stepwise", "spikingjelly:stepwise", "torch:stepwise", "jax"},
)


@of_frameworks(PROVED)
def test_those_of_frameworks_are_proved(name, spec):
    proved(name, spec, **SIZES)


@pytest.mark.frameworks
@pytest.mark.parametrize("name", representatives(["torch", "fused", "jax", "snntorch"], [1]))
def test_behind_convolutions_and_norms_too(name):
    sizes = {
        "width": 4,
        "image": 9,
        "classes": 7,
        "norm": True,
        "layers": None,
        "neurons": None,
        "bias": None,
    }
    proved(name, SOFT, workload="cifar-small", **sizes, time_steps=6, batch=3)


RECURRENT = {"workload": "recurrent-lif", "time_steps": 37, "batch": 3, "neurons": 97}


@of_frameworks(
    representatives(
        [
            *((name, SOFT) for name in ("fused", "torch", "jax", "snntorch", "spikingjelly")),
            *((name, SOFT) for name in ("sinabs", "fused:reference")),
            *((name, HARD) for name in ("fused", "jax", "sinabs")),
        ],
        (1,),
    )
)
def test_spikes_feed_back_through_the_current(name, spec):
    proved(name, spec, **RECURRENT)


@pytest.mark.slow
@pytest.mark.parametrize("fault", OF_RECURRENT)
def test_a_wrong_recurrence_is_named(fault):
    adapter = registry.load(f"{WRONG / fault}")
    proof = proof_of(adapter, Case(adapter.name, neuron=SOFT, **RECURRENT))
    assert not proof.passed
    assert OF_RECURRENT[fault] in proof.reason


@pytest.mark.parametrize("fault", without(COVERED, FAULTS))
def test_a_wrong_one_is_named(fault):
    adapter = registry.load(f"{WRONG / fault}")
    proof = proof_of(adapter, Case(adapter.name, neuron=replace(SOFT, decay=0.9), **SIZES))
    assert not proof.passed
    assert FAULTS[fault] in proof.reason


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        (
            "snntorch:state-leaky",
            NeuronSpec("none", current_decay=0.5),
            "offered without a synaptic current",
        ),
        ("rockpool", SOFT, "offered without a synaptic current"),
        ("spyx", SOFT, "offered without a synaptic current in construction 'default'"),
        ("spyx:cuba-lif", NeuronSpec("soft"), "always has a synaptic current"),
    ],
)
def test_a_missing_one_is_refused_with_the_reason(name, spec, words):
    assert words in refusal_of(adapter_of(name), case_of(name, spec, **SIZES))


@pytest.mark.parametrize(("name", "spec"), [("spyx:cuba-lif", SOFT), ("norse:lif", ATTACHED)])
def test_a_loop_that_no_spikes_come_back_into_is_refused(name, spec):
    case = case_of(name, spec, **RECURRENT)
    assert "no recurrent linear fits into" in refusal_of(adapter_of(name), case)


@given(st.integers(1, 9), st.floats(0.05, 0.95), st.integers(0, 1000))
def test_the_oracle_filters_and_its_gradient_is_the_transpose(steps, decay, seed):
    spec = NeuronSpec(
        "none", decay=0.7, threshold=1e6, surrogate="straight-through", current_decay=decay
    )
    random = np.random.default_rng(seed)
    x, upstream = random.standard_normal((2, steps, 2, 3))
    assert np.allclose(before_synapse(spec, synaptic(spec, x)), x)
    v, spikes = run(spec, x)
    response = np.array(
        [sum(0.7 ** (age - k) * decay**k for k in range(age + 1)) for age in range(steps)]
    )
    assert np.allclose(v[-1], np.tensordot(response[::-1], x, axes=1))
    gradient = run_backward(spec, v, spikes, upstream)
    assert np.vdot(gradient, x) == pytest.approx(np.vdot(upstream, v))
