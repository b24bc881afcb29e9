"""Neurons that learn their decay: those of frameworks are proved, wrong ones named, missing ones
refused."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.expected import adapter_of, case_of, of_frameworks, proved
from support.paths import WRONG
from support.proofs import proof_of, refusal_of
from support.slow import one_of_each, representatives

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.kernels.spec import (
    LEARNED,
    NeuronSpec,
    decay_by_parameter,
    decay_of,
    parameter_of_decay,
)
from snnbench.proof.recurrence import by_decay, run, run_backward

DIRECT, SIGMOID = (
    NeuronSpec("soft", learned_decay="direct"),
    NeuronSpec("soft", decay=0.8, learned_decay="sigmoid"),
)
TIME_CONSTANT = NeuronSpec("soft", learned_decay="time-constant")
HARD = NeuronSpec("hard", detach_reset=True, decay=0.5, learned_decay="direct")
PLIF = NeuronSpec("hard", decay=0.5, surrogate="atan", learned_decay="sigmoid")
FAULTS = tomllib.loads((WRONG / "faults.toml").read_text())["decays"]
SIZES = {"neurons": 61, "time_steps": 31, "batch": 5, "loss": "spike-count", "optimizer": "adam"}

PROVED = one_of_each(
    [
        *(
            (name, spec)
            for name in ("torch", "torch:stepwise", "jax", "fused", "fused:reference")
            for spec in (DIRECT, SIGMOID, TIME_CONSTANT, HARD, PLIF)
        ),
        *((name, spec) for name in ("snntorch", "snntorch:stepwise") for spec in (DIRECT, HARD)),
        *(
            (name, spec)
            for name in ("spikingjelly", "spikingjelly:single-step", "spikingjelly:parametric")
            for spec in (SIGMOID, PLIF)
        ),
        *((name, DIRECT) for name in ("sinabs", "sinabs:alphas", "spyx")),
        *((name, TIME_CONSTANT) for name in ("sinabs", "rockpool")),
        ("spyx", HARD),
    ],
    {
        "snntorch:stepwise",
        "spikingjelly:single-step",
        "sinabs:alphas",
        "torch:stepwise",
        "spyx",
        "jax",
    },
)


@of_frameworks(PROVED)
def test_those_of_frameworks_are_proved(name, spec):
    proof = proved(name, spec, **SIZES)
    assert proof.stages[-1].verdict.errors["decay"] < 1e-4


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "optimizer"),
    representatives(
        [
            ("torch", "sgd"),
            ("jax", "sgd"),
            ("fused", "sgd"),
            ("snntorch", "adam"),
            ("snntorch:layers", "adam"),
            ("sinabs:layers", "adam"),
        ],
        [2],
    ),
)
def test_in_a_network_every_neuron_learns_its_own(name, optimizer):
    sizes = {
        "width": 4,
        "image": 9,
        "classes": 7,
        "norm": not name.endswith(":layers"),
        "layers": None,
        "neurons": None,
        "bias": None,
    }
    spec = HARD if name.startswith("snntorch") else DIRECT
    changes = {
        **sizes,
        "time_steps": 6,
        "batch": 3,
        "loss": "cross-entropy",
        "optimizer": optimizer,
    }
    proved(name, spec, workload="cifar-small", **changes)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_one_is_named(fault):
    adapter = registry.load(f"{WRONG / fault}")
    proof = proof_of(adapter, Case(adapter.name, neuron=SIGMOID, **SIZES))
    assert not proof.passed
    assert FAULTS[fault] in proof.reason


@pytest.mark.parametrize(
    ("name", "spec", "changes", "words"),
    [
        (
            "norse",
            DIRECT,
            {},
            "norse's neurons are offered without a decay that is learned as 'direct' in construction 'default'",
        ),
        ("sinabs:alphas", TIME_CONSTANT, {}, "learns the decay itself"),
        (
            "snntorch",
            SIGMOID,
            {},
            "snntorch's neurons are offered without a decay that is learned as 'sigmoid'",
        ),
        ("spikingjelly:sliding-psn", SIGMOID, {}, "in construction 'sliding-psn'"),
        ("fused:linear-recompute", DIRECT, {}, "in construction 'linear-recompute'"),
        ("fused", DIRECT, {"mode": "compile"}, "reads a learned decay on the host"),
        ("torch", DIRECT, {"optimizer": None}, "plain gradient descent would leave no decay"),
        (
            "torch",
            DIRECT,
            {"workload": "recurrent-lif"},
            "a recurrent neuron that learns its decay is not offered",
        ),
    ],
)
def test_a_missing_one_is_refused_with_the_reason(name, spec, changes, words):
    assert words in refusal_of(adapter_of(name), case_of(name, spec, **{**SIZES, **changes}))


@pytest.mark.parametrize(("begin", "words"), [(0.995, "0.995"), (0.005, "0.005")])
def test_one_that_can_leave_its_domain_is_refused(begin, words):
    case = case_of("torch", replace(DIRECT, decay=begin), **SIZES)
    assert f"a decay that begins at {words} can leave (0, 1]" in refusal_of(
        adapter_of("torch"), case
    )
    assert not refusal_of(adapter_of("torch"), replace(case, neuron=replace(DIRECT, decay=0.99)))


@pytest.mark.frameworks
@pytest.mark.parametrize(("value", "clamped"), [(1.25, 1.0), (-0.25, 0.0), (0.5, 0.5)])
def test_one_that_training_takes_out_of_its_domain_is_clamped(value, clamped):
    torch = pytest.importorskip("torch")
    from snntorch import Leaky

    from snnbench.kernels.lif import LIF

    currents = torch.randn(37, 3, 11, generator=torch.Generator().manual_seed(1))
    module = LIF(replace(DIRECT, reset="none"))
    leaky = Leaky(DIRECT.decay, learn_beta=True, reset_mechanism="none")

    def stepwise(currents):
        mem, spikes = torch.zeros(3, 11), []
        for current in currents:
            spike, mem = leaky(current, mem)
            spikes.append(spike)
        return torch.stack(spikes)

    results = []
    for parameter, neuron in ((module.decay, module), (leaky.beta, stepwise)):
        parameter.data.fill_(value)
        spikes = neuron(currents)
        spikes.sum().backward()
        results.append((spikes.detach(), float(parameter.grad)))
    (ours, slope), (theirs, reference) = results
    assert torch.equal(ours, theirs)
    assert (slope == 0) == (reference == 0) == (clamped != value)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"learned_decay": "exp"},
            "learned_decay = 'exp' is not one of direct, sigmoid, time-constant",
        ),
        ({"learned_decay": "direct", "decay": 1.0}, "must be below 1"),
        ({"learned_decay": "direct", "current_decay": 0.5}, "not offered with a synaptic current"),
        ({"learned_decay": "direct", "reset": "soft-undecayed"}, "which divides by the decay"),
    ],
)
def test_what_cannot_be_learned_is_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        NeuronSpec(**fields)


@pytest.mark.parametrize(
    "spec",
    [DIRECT, SIGMOID, TIME_CONSTANT, HARD, PLIF, NeuronSpec(current_decay=0.5), NeuronSpec()],
)
def test_a_specification_survives_the_way_through_its_text(spec):
    assert NeuronSpec.of(spec.text) == spec


@given(st.sampled_from(LEARNED), st.floats(0.05, 0.95), st.integers(2, 9), st.integers(0, 1000))
def test_the_oracle_has_the_derivative_by_the_parameter(way, decay, steps, seed):
    spec = NeuronSpec(
        "none", decay=decay, threshold=1e6, surrogate="straight-through", learned_decay=way
    )
    x, upstream = np.random.default_rng(seed).standard_normal((2, steps, 2, 3))
    parameter = parameter_of_decay(spec)
    assert decay_of(spec, parameter, np) == pytest.approx(decay)

    def weighed(w):
        return np.vdot(upstream, run(spec, x, decay=decay_of(spec, w, np))[0])

    v, spikes = run(spec, x)
    found = by_decay(
        spec, v, spikes, run_backward(spec, v, spikes, upstream)
    ).sum() * decay_by_parameter(spec, decay)
    step = 1e-6
    assert found == pytest.approx(
        (weighed(parameter + step) - weighed(parameter - step)) / (2 * step), rel=1e-5, abs=1e-6
    )
