"""What a framework really computes in when it is asked for a short format: the columns output_dtype and state_dtype."""

import os
import sys

import pytest

from snnbench.adapters import JaxAdapter, TorchAdapter, registry
from snnbench.adapters.base.case import Case
from snnbench.environments.recipes import load_recipes
from snnbench.kernels.spec import NEURONS
from snnbench.proof.problem import calibrate, generate, small
from snnbench.proof.stages import prove

pytestmark = pytest.mark.frameworks

ELSEWHERE = {name for recipe in load_recipes().values() for name in recipe.adapters} | {"bindsnet", "snntorch-ipu"}
HERE = [name for name in registry.BUILT_IN if name not in ELSEWHERE]
ON_JAX = [name for name in HERE if isinstance(registry.load(registry.BUILT_IN[name]), JaxAdapter)]

SHORT = {"bf16": "bfloat16", "fp16": "float16", "amp-bf16": "bfloat16"}
OUTPUTS_AS_GIVEN = ("fused", "torch", "norse", "spikingjelly", "jax")
STATE_AS_GIVEN = ("torch", "norse", "spikingjelly", "jax")
"""The others compute in float32 whatever they are asked for: their surrogates hand it out, or it is their choice."""


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    monkeypatch.setitem(sys.modules, "samna", None)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)


def facts_of(adapter, precision, neuron="soft", **changes):
    case = small(Case(adapter.name, neuron=NEURONS[neuron], precision=precision, **changes))
    problem = generate(case, calibrate(case))
    adapter.prepare(case, 1)
    program = adapter.program(case)
    program.load(problem.weights, problem.biases)
    return program.facts(program.forward(program.put_input(problem.input)))


@pytest.mark.parametrize("precision", ["fp32", *SHORT])
@pytest.mark.parametrize("name", HERE)
def test_the_columns_say_what_is_computed_in(name, precision):
    adapter = registry.load(registry.BUILT_IN[name])
    if name in ON_JAX and precision == "amp-bf16":
        assert adapter.refuses(Case(name, precision=precision)) == "JAX has no autocast; use bf16"
        return
    if adapter.refuses(Case(name, precision=precision)):
        return
    found, wanted = facts_of(adapter, precision), SHORT.get(precision, "float32")
    assert found["output_dtype"] == (wanted if name in OUTPUTS_AS_GIVEN else "float32")
    assert found["state_dtype"] == (wanted if name in STATE_AS_GIVEN else "float32")


@pytest.mark.parametrize("precision", SHORT)
@pytest.mark.parametrize(
    ("name", "neuron", "changes"),
    [("snntorch", "none", {}), ("torch", "soft", {"construction": "stepwise"}), ("torch", "soft", {"workload": "lif"})],
)
def test_it_depends_on_the_neuron_and_not_on_how_the_layer_is_spelled(name, neuron, changes, precision):
    given = {"bias": False} if changes.get("workload") == "lif" else {}
    found = facts_of(registry.load(registry.BUILT_IN[name]), precision, neuron, **changes, **given)
    in_float32 = precision == "amp-bf16" and bool(given)  # autocast is for products, and there is none
    assert found["state_dtype"] == ("float32" if in_float32 else SHORT[precision])


@pytest.mark.parametrize("name", HERE)
def test_every_adapter_passes_its_proof_under_autocast_or_says_why_not(name):
    adapter, case = registry.load(registry.BUILT_IN[name]), small(Case(name, precision="amp-bf16"))
    if reason := adapter.refuses(case):
        assert reason == "JAX has no autocast; use bf16"
        return
    proof = prove(adapter, case, calibrate(case))
    assert proof.passed, proof.reason


def test_what_a_compiler_keeps_is_unknown():
    adapter = registry.load(registry.BUILT_IN["torch"])
    program = adapter.program(Case("torch", neurons=5, mode="compile", precision="bf16"))
    import torch

    assert program._state_dtype(torch.zeros(4, 2, 5, dtype=torch.bfloat16)) is None


# -- what may not be missed ------------------------------------------------------------------------------------


def loop_of(step):
    import torch

    from snnbench.adapters.base.time_loop import TimeLoop

    class Loop(TimeLoop):
        def step(self, current, state):
            return step(torch, current, state)

    class Planted(TorchAdapter):
        name = "planted"

        def neuron(self, spec, features):
            return Loop()

    return Planted()


def quietly_in_float32(torch, current, v):
    v = current.float() if v is None else 0.5 * v + current.float()
    return (v > 1).to(current.dtype), v


def one_of_two(torch, current, state):
    v, i = (torch.zeros_like(current), torch.zeros_like(current).float()) if state is None else state
    v, i = 0.5 * v + current, 0.5 * i + current.float()
    return (v + i.to(v.dtype) > 1).to(current.dtype), (v, i)


def short_only_at_first(torch, current, v):
    v = current if v is None else 0.5 * v.float() + current.float()
    return (v > 1).to(current.dtype), v


@pytest.mark.parametrize(
    ("step", "seen"),
    [(quietly_in_float32, "float32"), (one_of_two, "bfloat16, float32"), (short_only_at_first, "float32")],
)
def test_a_state_in_float32_is_seen_though_the_spikes_are_short(step, seen):
    found = facts_of(loop_of(step), "bf16")
    assert (found["output_dtype"], found["state_dtype"]) == ("bfloat16", seen)


def test_a_neuron_that_shows_no_state_has_none_in_the_columns():
    import torch

    class Hidden(TorchAdapter):
        name = "hidden"

        def neuron(self, spec, features):
            return torch.nn.Sigmoid()

    class Parallel(JaxAdapter):
        name = "parallel"

        def neuron(self, spec, features):
            import jax

            return lambda currents: jax.lax.associative_scan(jax.numpy.add, currents)

    assert [facts_of(adapter(), "bf16")["state_dtype"] for adapter in (Hidden, Parallel)] == [None, None]
