"""Native neurons of the frameworks: what each is said to compute, it computes, with the right
time axis."""

import numpy as np
import pytest
from support.expected import EXPECTED, NATIVES, on_jax
from support.networks import network_of
from support.proofs import proof_of, refusal_of
from support.slow import representatives, without

from snnbench.adapters import registry
from snnbench.core.case import NATIVE, Case
from snnbench.core.contract import Unsupported

STAGES = ["small problem, {}, time axis", "small problem, {}, gradients", "own size, {}"]


def case_of(name, **changes):
    return Case(name, **{"neuron": NATIVE, "time_steps": 31, "batch": 5, "neurons": 61, **changes})


@pytest.mark.frameworks
@pytest.mark.parametrize("precision", representatives(["fp32", "bf16", "fp16", "amp-bf16"], [0]))
@pytest.mark.parametrize("name", without({"spyx"}, NATIVES))
def test_a_framework_s_tutorial_neuron_has_the_right_time_axis(name, precision):
    adapter = registry.load(registry.FRAMEWORKS[name])
    if on_jax(name) and precision == "amp-bf16":
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
@pytest.mark.parametrize("name", registry.FRAMEWORKS)
def test_a_native_neuron_has_a_description_and_a_source(name):
    adapter = registry.load(registry.FRAMEWORKS[name])
    if "native" not in EXPECTED[name]:
        reason = adapter.refusal or f"{name} has no native neuron"
        assert refusal_of(adapter, case_of(name, device=adapter.devices[-1])) == reason
        assert adapter.native_description is None
        return
    assert refusal_of(adapter, case_of(name, device=adapter.devices[-1])) is None
    assert ": " in adapter.native_description and len(adapter.native_description) < 130
    assert "Source: " in adapter.native.__doc__
    for construction in [*adapter.constructions][1:]:
        case = case_of(name, device=adapter.devices[-1], construction=construction)
        recurrent = adapter.has_trait("feedback", case)
        words = "is about a recurrent neuron" if recurrent else "behind one Linear"
        if construction == "attention":
            words = "is the attention of sdt-block"
        assert words in refusal_of(adapter, case)


def names_of(native):
    """What the formulas of an entry may use: NumPy, and what its `where` defines."""
    names = {"np": np}
    exec(native.get("where", ""), names)
    return names


def spikes_by_formula(native, currents):
    """Spikes (T, B, N) of currents, by the formulas of expected.toml."""
    names = names_of(native)
    v, i = np.zeros(currents.shape[1:]), np.zeros(currents.shape[1:])
    spikes = np.empty(currents.shape)
    for t, x in enumerate(currents):
        before = {**names, "v": v, "i": i, "x": x}
        v = eval(native["potential"], before)
        i = eval(native.get("synapse", "i"), before)
        after = {**names, "v": v}
        spikes[t] = eval(native["spikes"], before if native.get("late") else after)
        v = eval(native["after"], after)
    return spikes


def alone(name, time_steps):
    adapter = registry.load(registry.FRAMEWORKS[name])
    case = case_of(name, workload="lif", bias=False, time_steps=time_steps)
    adapter.prepare(case, 1)
    program = adapter.program(case, network_of(case))
    program.load({})
    return program


@pytest.mark.frameworks
@pytest.mark.parametrize("name", NATIVES)
def test_a_native_neuron_fires_as_its_description_says(name):
    currents = (
        np.random.default_rng(7)
        .normal(0.1, NATIVES[name].get("drive", 0.7), (31, 5, 61))
        .astype(np.float32)
    )
    program = alone(name, 31)
    spikes = program.spikes(program.inference(program.put_input(currents)))["neuron1"]
    assert spikes.mean() > 0.02
    assert (
        np.mean(spikes != spikes_by_formula(NATIVES[name], currents.astype(np.float64))) < 2e-4
    ), "a rounding flip or two"


@pytest.mark.frameworks
@pytest.mark.parametrize("name", NATIVES)
def test_a_native_neuron_s_surrogate_is_the_one_it_says(name):
    late = NATIVES[name].get("late", False)
    program = alone(name, 1 + late)
    currents = np.zeros((1 + late, 5, 61), np.float32)
    currents[0] = np.linspace(0.05, 1.95, 305).reshape(5, 61)
    result = program.forward(program.put_input(currents))
    upstream = np.zeros_like(currents)
    upstream[-1] = 1
    gradient = program.gradients(
        program.backward(result, program.put_upstream(upstream, result))
    ).input[0]
    slope = eval(NATIVES[name]["slope"], {"np": np, "x": currents[0].astype(np.float64)})
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-6)
