"""Neurons with an adaptive threshold (ALIF): those of frameworks are proved, wrong ones named,
missing ones refused."""

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
from support.slow import COVERED, one_of_each, representatives, without

from snnbench.adapters import registry
from snnbench.adapters.base.spikes import reset, torch_spike
from snnbench.core.case import Case
from snnbench.kernels.spec import NeuronSpec
from snnbench.proof.recurrence import risen, run, run_backward

SOFT = NeuronSpec("soft", adaptation=0.25, adaptation_decay=0.9)
HARD = NeuronSpec("hard", detach_reset=True, decay=0.5, adaptation=0.5, adaptation_decay=0.95)
ATTACHED = NeuronSpec("hard", decay=0.75, adaptation=0.1, adaptation_decay=0.97)
UNDECAYED = NeuronSpec(
    "soft-undecayed", surrogate="triangle", adaptation=0.0625, adaptation_decay=0.9375
)
DETACHED = NeuronSpec(
    "soft", detach_reset=True, surrogate="atan", adaptation=0.25, adaptation_decay=0.5
)
NONE = NeuronSpec("none", adaptation=0.25, adaptation_decay=0.9)
ALL = [SOFT, HARD, ATTACHED, UNDECAYED, DETACHED, NONE]
FAULTS = tomllib.loads((WRONG / "faults.toml").read_text())["adaptation"]
SIZES = {"neurons": 130, "time_steps": 40, "batch": 4}
POTENTIALS = {
    "workload": "mnist-mlp",
    "loss": "membrane",
    "image": 9,
    "classes": 7,
    "layers": None,
    "bias": None,
}

PROVED = one_of_each(
    [
        *(
            (name, spec)
            for name in ("torch", "torch:stepwise", "jax", "fused", "fused:reference")
            for spec in ALL
        ),
        *(
            (name, spec)
            for name in ("sinabs", "sinabs:alphas", "sinabs:stepwise")
            for spec in (SOFT, HARD, NONE)
        ),
        ("norse:lsnn", ATTACHED),
        ("spyx:alif", UNDECAYED),
    ],
    {"sinabs:alphas", "sinabs:stepwise", "torch:stepwise", "spyx:alif", "jax"},
)


@of_frameworks(PROVED)
def test_those_of_frameworks_are_proved(name, spec):
    proved(name, spec, **SIZES)


@pytest.mark.frameworks
@pytest.mark.parametrize("name", representatives(["torch", "fused", "jax", "sinabs"], [1]))
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
    proved(
        name,
        SOFT,
        workload="cifar-small",
        **sizes,
        time_steps=6,
        batch=3,
        loss="cross-entropy",
        optimizer="adam",
    )


@pytest.mark.frameworks
@pytest.mark.parametrize("name", without({"jax"}, ["torch", "jax"]))
@pytest.mark.parametrize(
    "options", [{"workload": "recurrent-lif"}, POTENTIALS], ids=["recurrence", "potentials"]
)
def test_with_recurrence_and_where_potentials_are_handed_out(name, options):
    proved(name, SOFT, **{**SIZES, "time_steps": 15}, **options)


@pytest.mark.parametrize("fault", without(COVERED, FAULTS))
def test_a_wrong_one_is_named(fault):
    adapter = registry.load(f"{WRONG / fault}")
    proof = proof_of(adapter, Case(adapter.name, neuron=SOFT, **SIZES))
    assert not proof.passed
    assert FAULTS[fault] in proof.reason


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        ("snntorch", SOFT, "offered without an adaptive threshold in construction 'default'"),
        ("norse", SOFT, "offered without an adaptive threshold in construction 'default'"),
        ("norse:lsnn", SOFT, "only reset to zero, with gradient"),
        ("norse:lsnn", NeuronSpec("hard"), "always has an adaptive threshold"),
        (
            "spyx:alif",
            replace(UNDECAYED, adaptation=0.5),
            "adds 1 − adaptation_decay to the threshold",
        ),
        ("spyx:alif", NeuronSpec("soft-undecayed"), "always has an adaptive threshold"),
        ("sinabs", UNDECAYED, "subtracts its threshold, or a constant"),
        ("fused:linear-recompute", SOFT, "in construction 'linear-recompute'"),
    ],
)
def test_a_missing_one_is_refused_with_the_reason(name, spec, words):
    assert words in refusal_of(adapter_of(name), case_of(name, spec, **SIZES))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"adaptation": 0.5}, "go together"),
        ({"adaptation_decay": 0.5}, "go together"),
        ({"adaptation_coupling": 0.5}, "go together"),
        (
            {"adaptation": 0.5, "adaptation_decay": 0.5, "adaptation_coupling": -2.0},
            "adaptation_coupling = -2.0 must be from -1 to 1",
        ),
        (
            {"adaptation": 0.0, "adaptation_decay": 0.5},
            "adaptation = 0.0 must be a positive number",
        ),
        (
            {"adaptation": 0.5, "adaptation_decay": 1.0},
            "adaptation_decay = 1.0 must be above 0 and below 1",
        ),
        (
            {"adaptation": 0.5, "adaptation_decay": 0.5, "max_spikes": 2},
            "not offered with several spikes",
        ),
        (
            {"adaptation": 0.5, "adaptation_decay": 0.5, "current_decay": 0.5},
            "not offered with a synaptic current",
        ),
    ],
)
def test_what_cannot_adapt_is_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        NeuronSpec(**fields)


@pytest.mark.parametrize("spec", ALL, ids=NeuronSpec.label)
def test_a_specification_survives_the_way_through_its_text(spec):
    assert NeuronSpec.of(spec.text) == spec


@given(st.sampled_from(ALL), st.integers(1, 12), st.integers(0, 1000))
def test_the_oracle_has_the_gradient_of_autograd(spec, steps, seed):
    """In float64, of a loop written down once more."""
    x, upstream = torch.from_numpy(np.random.default_rng(seed).standard_normal((2, steps, 2, 3)))
    x.requires_grad_()
    spike, spikes = torch_spike(spec).apply, []
    p = a = torch.zeros_like(x[0])
    for current in x:
        v = spec.decay * p + current
        spikes.append(spike(v - a))
        p = reset(spec, v, spikes[-1], torch.Tensor.detach, a)
        a = spec.adaptation_decay * a + spec.adaptation * spikes[-1]
    torch.stack(spikes).backward(upstream)
    over, expected = run(spec, x.detach().numpy())
    assert np.array_equal(torch.stack(spikes).detach().numpy(), expected)
    assert np.allclose(run_backward(spec, over, expected, upstream.numpy()), x.grad.numpy())
    forced, _ = run(spec, x.detach().numpy(), expected)
    assert np.array_equal(forced, over)
    assert np.allclose(
        spec.adaptation_decay * risen(spec, expected)[-1] + spec.adaptation * expected[-1],
        a.detach().numpy(),
    )
