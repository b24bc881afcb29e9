"""The built-in adapters: what each variant can spell is proved at odd sizes, what it cannot is refused with a reason."""

import functools
import os
import sys
from dataclasses import replace

import pytest

from snnbench.adapters import JaxAdapter, registry
from snnbench.adapters.base.case import Case
from snnbench.environments.recipes import load_recipes
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.proof.problem import calibrate, proved
from snnbench.proof.stages import prove
from snnbench.run.variants import twins

pytestmark = pytest.mark.frameworks

DETACHED_SOFT, ATTACHED_HARD = "soft(detach_reset=True)", "hard(detach_reset=False)"
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
"""What the default construction of each framework computes, of the named neurons."""

MORE = {
    "snntorch:state-leaky": ("none",),
    "snntorch:linear-leaky": ("none",),
    "norse:lif-box-cell": ("soft", "hard", "none", DETACHED_SOFT, ATTACHED_HARD),
    "norse:lif": (ATTACHED_HARD,),
    "sinabs:alphas": ("soft", "hard", "none", "soft-undecayed"),
    "rockpool:lif-torch": ("soft",),
    "rockpool:lif-torch-without-recurrence": ("soft",),
    "rockpool-jax": ("soft",),
    "spikingjelly:single-step": ("soft", "hard", DETACHED_SOFT, ATTACHED_HARD),
    "spikingjelly:cuda": (),
    "spikingjelly:triton": (),
    "spikingjelly:torch": ("soft", "hard", DETACHED_SOFT, ATTACHED_HARD),
    "spikingjelly:parametric": ("soft", "hard", DETACHED_SOFT, ATTACHED_HARD),
    "spikingjelly:sliding-psn": ("none",),
    "spyx:psu-parallel": ("none",),
    "spyx:lif": ("soft-undecayed",),
    "jax:associative-scan": ("none",),
    "bindsnet": (),
    "snntorch-ipu": (),
}
"""What the other constructions compute on a CPU, of the named neurons and their twins; `stepwise` has tests of its own."""

TWINS = {
    "snntorch": (DETACHED_SOFT, "soft-undecayed(detach_reset=True)"),
    "norse": (DETACHED_SOFT, ATTACHED_HARD),
    "spikingjelly": (DETACHED_SOFT, ATTACHED_HARD),
}
PAIRS = [(name, neuron) for table in (SPELLS, MORE) for name in table for neuron in table[name]]
COUNTING = ("torch", "sinabs", "sinabs:alphas", "rockpool", "rockpool:lif-torch")
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
    return registry.load(registry.BUILT_IN[name.partition(":")[0]])


def case_of(name, **changes):
    framework, _, construction = name.partition(":")
    return Case(framework, construction or adapter_of(name).constructions[0], **changes)


@functools.cache
def gains_of(case):
    return calibrate(proved(case))


def proof_of(name, neuron, **changes):
    spec = neuron if isinstance(neuron, NeuronSpec) else twins()[neuron]
    case = case_of(name, neuron=spec, **{**ODD, **changes})
    assert adapter_of(name).refuses(case) is None
    return prove(adapter_of(name), case, gains_of(replace(case, framework="any", construction="default")))


def test_the_table_is_of_all_adapters():
    in_environments = {name for recipe in load_recipes().values() for name in recipe.adapters}
    here = [name for name in registry.BUILT_IN if name not in in_environments]
    assert all(adapter_of(name).name == name for name in here)
    others = {case_of(name).framework_variant for name in {*SPELLS, *MORE}}
    for name in here:
        told_elsewhere = ("stepwise", *(adapter_of(name).constructions[1:] if name == "fused" else ()))
        for construction in adapter_of(name).constructions:
            assert construction in told_elsewhere or Case(name, construction).framework_variant in others


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


@pytest.mark.parametrize(("name", "neuron"), [(name, neuron) for name in TWINS for neuron in TWINS[name]])
def test_resets_whose_gradient_is_the_other_way_are_spelled_too(name, neuron):
    proof = proof_of(name, neuron)
    assert proof.passed, proof.reason


@pytest.mark.parametrize("name", COUNTING)
def test_counts_of_spikes_are_spelled_too(name):
    proof = proof_of(name, NeuronSpec("soft", max_spikes=3))
    assert proof.passed, proof.reason


QUICK = [name for name in MORE if MORE[name] and not isinstance(adapter_of(name), JaxAdapter)]


@pytest.mark.parametrize("name", QUICK)
def test_other_constructions_stack_in_bf16(name):
    if name == "rockpool:lif-torch":
        assert "recurrent weights stay float32" in adapter_of(name).refuses(case_of(name, precision="bf16"))
        return
    proof = proof_of(name, MORE[name][0], layers=2, precision="bf16")
    assert proof.passed, proof.reason


@pytest.mark.parametrize("name", [*QUICK, "spyx:lif"])
def test_other_constructions_are_there_without_a_linear_layer(name):
    if name == "snntorch:linear-leaky":
        assert "LinearLeaky holds its linear layer" in adapter_of(name).refuses(
            case_of(name, workload="lif", neuron=NEURONS["none"])
        )
        return
    proof = proof_of(name, MORE[name][0], workload="lif", bias=False)
    assert proof.passed, proof.reason


@pytest.mark.parametrize(
    ("name", "neuron"),
    [(name, neuron) for name in SPELLS for neuron in NEURONS if neuron not in SPELLS[name]]
    + [(name, neuron) for name in MORE for neuron in twins() if neuron not in MORE[name]],
)
def test_what_it_cannot_spell_is_refused_with_a_reason(name, neuron):
    reason = adapter_of(name).refuses(case_of(name, neuron=twins()[neuron]))
    assert reason and "\n" not in reason


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
    spec = replace(NEURONS["soft"], decay=0.9)
    assert "only a power of two can be undone exactly" in adapter_of("norse").refuses(Case("norse", neuron=spec))
    assert adapter_of("norse").refuses(Case("norse", neuron=replace(spec, decay=0.875))) is None
