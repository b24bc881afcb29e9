"""The built-in adapters: what each can spell is proved at odd sizes, what it cannot is refused with a reason."""

import functools
import os
import sys

import pytest

from snnbench.adapters import registry
from snnbench.adapters.base import Case
from snnbench.kernels.spec import NEURONS
from snnbench.problem import calibrate, proved
from snnbench.recipes import load_recipes
from snnbench.worker.proof import prove

pytestmark = pytest.mark.frameworks

SPELLS = {
    "fused": ("soft", "hard", "none", "soft-undecayed", "hard-straight"),
    "torch": ("soft", "hard", "none", "soft-undecayed", "hard-straight"),
    "snntorch": ("soft", "hard", "none"),
    "norse": ("soft", "hard", "none"),
    "sinabs": ("soft", "hard", "none", "soft-undecayed"),
    "rockpool": ("soft",),
    "spikingjelly": ("soft", "hard"),
    "spyx": ("soft", "hard", "none"),
    "jax": ("soft", "hard", "none", "soft-undecayed", "hard-straight"),
}
PAIRS = [(name, neuron) for name in SPELLS for neuron in SPELLS[name]]
ODD = {"time_steps": 31, "batch": 5, "neurons": 61}
VARIATIONS = {
    "three layers, dense, no bias": {"layers": 3, "input": "dense", "bias": False},
    "no input gradient": {"input_grad": False},
    "the neuron alone": {"workload": "lif", "bias": False},
    "bf16": {"precision": "bf16"},
    "fp16": {"precision": "fp16"},
}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """As in a worker: no samna; and one thread, for these problems are too small for more."""
    monkeypatch.setitem(sys.modules, "samna", None)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)


@functools.cache
def adapter_of(name):
    return registry.load(registry.BUILT_IN[name])


@functools.cache
def gains_of(case):
    return calibrate(proved(case))


def proof_of(name, neuron, **changes):
    case = Case(name, neuron=NEURONS[neuron], **{**ODD, **changes})
    assert adapter_of(name).refuses(case) is None
    return prove(adapter_of(name), case, gains_of(Case("any", **{k: v for k, v in vars(case).items() if k != "framework"})))


def test_the_table_is_of_all_adapters():
    in_environments = {name for recipe in load_recipes().values() for name in recipe.adapters}
    assert set(SPELLS) == set(registry.BUILT_IN) - in_environments
    assert all(adapter_of(name).name == name for name in SPELLS)


@pytest.mark.parametrize(("name", "neuron"), PAIRS)
def test_what_a_framework_spells_is_the_same_network(name, neuron):
    proof = proof_of(name, neuron)
    assert proof.passed, proof.reason
    own_size = proof.stages[-1]
    assert own_size.name == "own size, fp32"
    assert (own_size.case.time_steps, own_size.case.batch, own_size.case.neurons) == (31, 5, 61)
    assert set(own_size.verdict.errors) == {"weight", "bias", "input"}


@pytest.mark.parametrize("variation", VARIATIONS)
@pytest.mark.parametrize("name", SPELLS)
def test_it_is_so_in_every_workload_and_precision(name, variation):
    changes = VARIATIONS[variation]
    neuron = "hard" if "hard" in SPELLS[name] and variation == "fp16" else "soft"
    proof = proof_of(name, neuron, **changes)
    assert proof.passed, proof.reason
    errors = set(proof.stages[-1].verdict.errors)
    assert ("input" in errors) == changes.get("input_grad", True)
    assert ("bias" in errors) == changes.get("bias", True)
    assert ("weight" in errors) == (changes.get("workload") != "lif")


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("name", SPELLS)
def test_layers_stack_in_short_formats_whatever_dtype_spikes_have(name, precision):
    neuron = "none" if "none" in SPELLS[name] else "soft"
    proof = proof_of(name, neuron, layers=2, precision=precision)
    assert proof.passed, proof.reason


@pytest.mark.parametrize(
    ("name", "neuron"), [(name, neuron) for name in SPELLS for neuron in NEURONS if neuron not in SPELLS[name]]
)
def test_what_it_cannot_spell_is_refused_with_a_reason(name, neuron):
    assert adapter_of(name).refuses(Case(name, neuron=NEURONS[neuron]))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"construction": "block"}, "has no construction 'block' (it has default"),
        ({"mode": "lazy"}, "has no mode 'lazy' (it has eager"),
        ({"device": "tpu"}, "does not run on tpu"),
        ({"precision": "tf32"}, "TF32 exists on CUDA devices only"),
    ],
)
@pytest.mark.parametrize("name", SPELLS)
def test_what_the_harness_knows_is_refused_for_all(name, changes, words):
    assert words in adapter_of(name).refuses(Case(name, **changes))


def test_a_scale_that_cannot_be_undone_exactly_is_refused():
    from dataclasses import replace

    spec = replace(NEURONS["soft"], decay=0.9)
    assert "only a power of two can be undone exactly" in adapter_of("norse").refuses(Case("norse", neuron=spec))
    assert adapter_of("norse").refuses(Case("norse", neuron=replace(spec, decay=0.875))) is None
