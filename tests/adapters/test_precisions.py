"""What a framework really computes in when it is asked for a short format: the columns
output_dtype and state_dtype."""

import pytest
import torch
from support.expected import HERE, adapter_of, case_of, on_jax
from support.networks import network_of, workload_of
from support.proofs import loaded, proof_of, refusal_of

from snnbench.adapters import JaxAdapter, TimeLoop, TorchAdapter
from snnbench.adapters.base import torch_compile
from snnbench.core.case import Case

pytestmark = pytest.mark.frameworks

SHORT = {"bf16": "bfloat16", "fp16": "float16", "amp-bf16": "bfloat16"}
NO_AUTOCAST = "JAX has no autocast; use bf16"


def facts_of(adapter, case):
    program, problem = loaded(adapter, workload_of(case).small_case(case))
    return program.facts(program.forward(program.put_input(problem.input)))


@pytest.mark.parametrize("precision", ["fp32", *SHORT])
@pytest.mark.parametrize("name", HERE)
def test_the_columns_say_what_is_computed_in(name, precision):
    case = case_of(name, precision=precision)
    if reason := refusal_of(adapter_of(name), case):
        assert reason == NO_AUTOCAST or "which fp16 cannot hold" in reason
        return
    facts, asked = facts_of(adapter_of(name), case), SHORT.get(precision, "float32")
    formats = {"short": asked, "float32": "float32"}
    assert facts["output_dtype"] == formats[HERE[name]["spikes"]]
    assert facts["state_dtype"] == formats[HERE[name]["state"]]


@pytest.mark.parametrize("precision", SHORT)
@pytest.mark.parametrize(
    ("name", "neuron", "changes"),
    [
        ("snntorch", "none", {}),
        ("torch:stepwise", "soft", {}),
        ("torch", "soft", {"workload": "lif", "bias": False}),
    ],
)
def test_it_depends_on_the_neuron_and_not_on_how_the_layer_is_spelled(
    name, neuron, changes, precision
):
    facts = facts_of(adapter_of(name), case_of(name, neuron, precision=precision, **changes))
    in_float32 = precision == "amp-bf16" and bool(
        changes
    )  # autocast is for products, and there is none
    assert facts["state_dtype"] == ("float32" if in_float32 else SHORT[precision])


@pytest.mark.parametrize("name", HERE)
def test_every_adapter_passes_its_proof_under_autocast_or_says_why_not(name):
    case = case_of(name, precision="amp-bf16")
    if not HERE[name]["autocast"]:
        assert on_jax(name) and refusal_of(adapter_of(name), case) == NO_AUTOCAST
        return
    proof = proof_of(adapter_of(name), workload_of(case).small_case(case))
    assert proof.passed, proof.reason


def test_what_a_compiler_keeps_is_unknown(monkeypatch):
    monkeypatch.setattr(torch_compile, "set_up", lambda device: None)
    case = Case("torch", neurons=5, mode="compile", precision="bf16")
    program = adapter_of("torch").program(case, network_of(case))
    assert program.state_dtype(torch.zeros(4, 2, 5, dtype=torch.bfloat16)) is None


# -- what may not be missed ------------------------------------------------------------------------


def loop_of(step_of):
    class Loop(TimeLoop):
        def step(self, current, state):
            return step_of(current, state)

    class Planted(TorchAdapter):
        name = "planted"

        def neuron(self, spec, features):
            return Loop()

    return Planted()


def quietly_in_float32(current, v):
    v = current.float() if v is None else 0.5 * v + current.float()
    return (v > 1).to(current.dtype), v


def one_of_two(current, state):
    v, i = (
        (torch.zeros_like(current), torch.zeros_like(current).float()) if state is None else state
    )
    v, i = 0.5 * v + current, 0.5 * i + current.float()
    return (v + i.to(v.dtype) > 1).to(current.dtype), (v, i)


def short_only_at_first(current, v):
    v = current if v is None else 0.5 * v.float() + current.float()
    return (v > 1).to(current.dtype), v


@pytest.mark.parametrize(
    ("step_of", "seen"),
    [
        (quietly_in_float32, "float32"),
        (one_of_two, "bfloat16, float32"),
        (short_only_at_first, "float32"),
    ],
)
def test_a_state_in_float32_is_seen_though_the_spikes_are_short(step_of, seen):
    facts = facts_of(loop_of(step_of), Case("planted", precision="bf16"))
    assert (facts["output_dtype"], facts["state_dtype"]) == ("bfloat16", seen)


def test_a_neuron_that_shows_no_state_has_none_in_the_columns():
    class Hidden(TorchAdapter):
        name = "hidden"

        def neuron(self, spec, features):
            return torch.nn.Sigmoid()

    class Parallel(JaxAdapter):
        name = "parallel"

        def neuron(self, spec, features):
            import jax

            return lambda currents: jax.lax.associative_scan(jax.numpy.add, currents)

    facts = [
        facts_of(adapter(), Case(adapter.name, precision="bf16")) for adapter in (Hidden, Parallel)
    ]
    assert [of_one["state_dtype"] for of_one in facts] == [None, None]
