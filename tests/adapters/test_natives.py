"""Native neurons of the frameworks: what each is said to compute, it computes, with the right time axis."""

import os
import sys

import numpy as np
import pytest
from support.networks import network_of
from support.proofs import proof_of, refusal_of

from snnbench.adapters import registry
from snnbench.adapters.base.case import NATIVE, Case
from snnbench.adapters.base.contract import Unsupported

NATIVES = ("snntorch", "norse", "sinabs", "rockpool", "spikingjelly", "spyx")
NATIVES_ELSEWHERE = ("lava-dl", "spikingjelly-cupy", "sinabs-exodus")
"""In environments of their own: tests/end_to_end/test_homes.py runs what can be run of them."""
STAGES = ["small problem, {}, time axis", "small problem, {}, gradients", "own size, {}"]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """As in a worker: no samna; and one thread, for these problems are too small for more."""
    monkeypatch.setitem(sys.modules, "samna", None)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)


def case_of(name, **changes):
    return Case(name, **{"neuron": NATIVE, "time_steps": 31, "batch": 5, "neurons": 61, **changes})


@pytest.mark.frameworks
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16", "amp-bf16"])
@pytest.mark.parametrize("name", NATIVES)
def test_a_framework_s_tutorial_neuron_has_the_right_time_axis(name, precision):
    adapter = registry.load(registry.BUILT_IN[name])
    if (name, precision) == ("spyx", "amp-bf16"):
        assert "JAX has no autocast" in refusal_of(adapter, case_of(name, precision=precision))
        return
    if name == "rockpool" and precision in ("bf16", "fp16"):
        with pytest.raises(Unsupported, match="LIFTorch makes its spikes float32"):
            proof_of(adapter, case_of(name, precision=precision))
        return
    proof = proof_of(adapter, case_of(name, precision=precision))
    assert proof.passed, proof.reason
    assert [stage.name for stage in proof.stages] == [name.format(precision) for name in STAGES]


@pytest.mark.frameworks
@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_who_has_a_native_neuron_says_what_it_is_and_where_it_is_from(name):
    adapter = registry.load(registry.BUILT_IN[name])
    if name not in (*NATIVES, *NATIVES_ELSEWHERE):
        assert refusal_of(adapter, case_of(name, device=adapter.devices[-1])) == f"{name} has no native neuron"
        assert adapter.native_description is None
        return
    assert refusal_of(adapter, case_of(name, device=adapter.devices[-1])) is None
    assert ": " in adapter.native_description and len(adapter.native_description) < 130
    assert "Source: " in adapter.native.__doc__
    for construction in adapter.constructions[1:]:
        assert "behind one Linear" in refusal_of(adapter, case_of(name, device=adapter.devices[-1], construction=construction))


def stepped(spike, step, state=(0.0, 0.0)):
    """Spikes (T, B, N) of currents: `step(v, i, x)` gives potential and synapse, `spike(v)` spikes and what is left of v."""

    def run(currents):
        v, i = (np.full(currents.shape[1:], value) for value in state)
        spikes = np.empty(currents.shape)
        for t, x in enumerate(currents):
            v, i = step(v, i, x)
            spikes[t], v = spike(v)
        return spikes

    return run


def snntorch_steps(currents):
    """θ is taken off at the next step, and is not decayed."""
    v, spikes = np.zeros(currents.shape[1:]), np.empty(currents.shape)
    for t, x in enumerate(currents):
        v = 0.95 * v + x - (v > 1)
        spikes[t] = v > 1
    return spikes


def spyx_steps(currents):
    """β is the framework's own draw; a spike is of the potential before the step."""
    import spyx
    from flax import nnx

    beta = np.clip(np.array(spyx.nn.LIF((61,), rngs=nnx.Rngs(0)).beta[...], np.float64), 0, 1)
    v, spikes = np.zeros(currents.shape[1:]), np.empty(currents.shape)
    for t, x in enumerate(currents):
        spikes[t] = v > 1
        v = beta * v + x - spikes[t]
    return spikes


def zeroed(v):
    return v > 1, v * (v <= 1)


def counted(v):
    count = np.clip(np.floor(v), 0, None)
    return count, v - count


SAID = {
    "snntorch": snntorch_steps,
    "norse": stepped(zeroed, lambda v, i, x: (0.9 * v + 0.1 * (i + x), 0.8 * (i + x))),
    "sinabs": stepped(counted, lambda v, i, x: (np.exp(-1 / 40) * v + x, i)),
    "rockpool": stepped(counted, lambda v, i, x: (np.exp(-1 / 20) * (v + i + x), np.exp(-1 / 20) * (i + x))),
    "spikingjelly": stepped(zeroed, lambda v, i, x: (v + (x - v) / 2, i)),
    "spyx": spyx_steps,
}
SLOPES = {
    "snntorch": lambda x: 1 / (1 + (np.pi * (x - 1)) ** 2),
    "norse": lambda x: 0.1 / (1 + abs(0.1 * x - 1)) ** 2,
    "sinabs": lambda x: np.exp(-abs(x - 1) / 0.5) / 0.5,
    "rockpool": lambda x: np.exp(-1 / 20) * (np.exp(-1 / 20) * x >= 0.5),
    "spikingjelly": lambda x: 0.5 / (1 + (np.pi * (x / 2 - 1)) ** 2),
    "spyx": lambda x: np.maximum(0, 1 - 2 * abs(x - 1)),
}
"""∂(first spike)/∂(first current)."""


def alone(name, time_steps):
    adapter = registry.load(registry.BUILT_IN[name])
    case = case_of(name, workload="lif", bias=False, time_steps=time_steps)
    adapter.prepare(case, 1)
    program = adapter.program(case, network_of(case))
    program.load({})
    return program


@pytest.mark.frameworks
@pytest.mark.parametrize("name", NATIVES)
def test_a_native_neuron_fires_as_its_description_says(name):
    currents = (
        np.random.default_rng(7).normal(0.1, 2.0 if name in ("norse", "spikingjelly") else 0.7, (31, 5, 61)).astype(np.float32)
    )
    program = alone(name, 31)
    spikes = program.spikes(program.inference(program.put_input(currents)))["neuron1"]
    assert spikes.mean() > 0.02
    assert np.mean(spikes != SAID[name](currents.astype(np.float64))) < 2e-4, "a rounding flip or two"


@pytest.mark.frameworks
@pytest.mark.parametrize("name", NATIVES)
def test_a_native_neuron_s_surrogate_is_the_one_it_says(name):
    late = name == "spyx"
    program = alone(name, 1 + late)
    currents = np.zeros((1 + late, 5, 61), np.float32)
    currents[0] = np.linspace(0.05, 1.95, 305).reshape(5, 61)
    result = program.forward(program.put_input(currents))
    upstream = np.zeros_like(currents)
    upstream[-1] = 1
    gradient = program.gradients(program.backward(result, program.put_upstream(upstream, result))).input[0]
    np.testing.assert_allclose(gradient, SLOPES[name](currents[0].astype(np.float64)), rtol=1e-4, atol=1e-6)
