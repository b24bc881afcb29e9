"""The built-in adapters: what each variant can spell is proved at odd sizes, what it cannot is
refused with a reason.

Which neurons those are is in expected.toml. Full matrices are `slow`; of each, every framework,
neuron and construction is also in `make test`.
"""

from dataclasses import replace

import pytest
from support.expected import (
    EXPECTED,
    HERE,
    PROVED,
    adapter_of,
    case_of,
    on_jax,
    proved,
    representatives,
    variants,
)
from support.paths import ROOT
from support.proofs import proof_of, refusal_of

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.experiment.config import load_config
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.runner.variants import twins

pytestmark = pytest.mark.frameworks

ODD = {"time_steps": 31, "batch": 5, "neurons": 61}
VARIATIONS = {
    "three layers, dense, no bias": {"layers": 3, "input": "dense", "bias": False},
    "two layers, bf16": {"layers": 2, "precision": "bf16"},
    "two layers, fp16": {"layers": 2, "precision": "fp16"},
    "no input gradient": {"input_grad": False},
    "the neuron alone": {"workload": "lif", "bias": False},
}
PAIRS = [(name, neuron) for name, neurons in PROVED.items() for neuron in neurons]
VARIED = [
    (name, variation) for name, neurons in PROVED.items() if neurons for variation in VARIATIONS
]
REFUSED = [
    (name, neuron)
    for name, neurons in PROVED.items()
    if not name.startswith("fused:")
    and not name.endswith((":stepwise", ":vanilla", ":checkpointed"))
    for neuron in (twins() if ":" in name else NEURONS)
    if neuron not in neurons
]
"""Our constructions, `stepwise`, `vanilla` and `checkpointed` spell what the default construction
spells."""


def matrix(pairs, quick_ones=lambda name: True):
    """All pairs, marked slow but for representatives, chosen among names for which `quick_ones`
    holds."""
    quick = representatives([pair for pair in pairs if quick_ones(pair[0])])
    return [
        pytest.param(*pair, marks=() if pair in quick else pytest.mark.slow, id="-".join(pair))
        for pair in pairs
    ]


def proved_at_odd_sizes(name, neuron, **changes):
    return proved(name, neuron, **{**ODD, **changes})


@pytest.mark.parametrize(
    ("name", "neuron"), matrix(PAIRS, lambda name: not on_jax(name) or name == "jax")
)
def test_what_a_framework_spells_is_the_same_network(name, neuron):
    own_size = proved_at_odd_sizes(name, neuron).stages[-1]
    assert own_size.name == "own size, fp32"
    assert (own_size.case.time_steps, own_size.case.batch, own_size.case.neurons) == (31, 5, 61)
    assert set(own_size.verdict.errors) == {"weight", "bias", "input"}


@pytest.mark.parametrize(
    ("name", "variation"),
    matrix(VARIED, lambda name: name == "jax" or not (":" in name or on_jax(name))),
)
def test_it_is_so_in_every_workload_and_precision(name, variation):
    changes = VARIATIONS[variation]
    neuron = "hard" if "hard" in PROVED[name] and "fp16" in variation else PROVED[name][0]
    if reason := refusal_of(adapter_of(name), case_of(name, neuron, **{**ODD, **changes})):
        lacking = (
            "has no linear layer",
            "this network has none",
            "short operands already",
            "which fp16 cannot hold",
            "recurrent weights stay float32",
            "take them unconverted",
        )
        assert any(words in reason for words in lacking), reason
        return
    errors = set(proved_at_odd_sizes(name, neuron, **changes).stages[-1].verdict.errors)
    assert ("input" in errors) == changes.get("input_grad", True)
    assert ("bias" in errors) == changes.get("bias", True)
    assert ("weight" in errors) == (changes.get("workload") != "lif")


@pytest.mark.parametrize("name", variants("counts"))
def test_counts_of_spikes_are_spelled_too(name):
    proved_at_odd_sizes(name, NeuronSpec("soft", max_spikes=3))


@pytest.mark.parametrize(("name", "neuron"), REFUSED)
def test_what_it_cannot_spell_is_refused_with_a_reason(name, neuron):
    reason = refusal_of(adapter_of(name), case_of(name, neuron))
    assert reason and "\n" not in reason


@pytest.mark.parametrize("name", [name for name, entry in EXPECTED.items() if "reason" in entry])
@pytest.mark.parametrize("neuron", twins())
def test_an_adapter_that_never_runs_says_why(name, neuron):
    reason = refusal_of(adapter_of(name), case_of(name, neuron))
    assert EXPECTED[name]["reason"] in reason and "\n" not in reason


def test_an_adapter_that_never_runs_is_left_out_of_all_and_named_in_the_coverage_set():
    never = {name for name in registry.FRAMEWORKS if adapter_of(name).refusal}
    assert never == {name for name, entry in EXPECTED.items() if "reason" in entry}
    assert never <= {*map(str, load_config(ROOT / "configs" / "coverage.toml").grid.framework)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"construction": "block"}, "has no construction 'block' (it has default"),
        ({"mode": "lazy"}, "has no mode 'lazy' (it has eager"),
        ({"device": "tpu"}, "does not run on tpu"),
        ({"precision": "tf32"}, "TF32 exists on CUDA devices only"),
    ],
)
@pytest.mark.parametrize("name", HERE)
def test_what_the_harness_knows_is_refused_for_all(name, changes, words):
    assert words in refusal_of(adapter_of(name), Case(name, **changes))


@pytest.mark.parametrize("name", [name for name in HERE if not on_jax(name)])
def test_what_is_about_a_linear_layer_is_refused_where_there_is_none(name):
    adapter = adapter_of(name)
    for construction, traits in adapter.constructions.items():
        reason = refusal_of(adapter, Case(name, construction, workload="lif", bias=False))
        about_linear = (reason or "").endswith("and this network has no linear layer")
        assert about_linear == ("linear" in traits)


SCALED = {
    "norse": replace(NEURONS["soft"], decay=0.9),
    "norse:lif": replace(NEURONS["hard"], detach_reset=False, decay=1 / 3, current_decay=0.8),
    "sinabs": replace(NEURONS["soft"], current_decay=0.8),
}
"""Neurons of frameworks that divide their input by no power of two."""


@pytest.mark.parametrize("name", SCALED)
def test_a_factor_on_inputs_is_undone_in_fp32_and_a_power_of_two_in_every_format(name):
    case = case_of(name, SCALED[name], time_steps=31, batch=5, neurons=61)
    proof = proof_of(adapter_of(name), case)
    assert proof.passed, proof.reason
    for precision in ("bf16", "fp16", "amp-bf16"):
        assert f"in {precision} only a power of two can be undone exactly" in refusal_of(
            adapter_of(name), replace(case, precision=precision)
        )
    exact = replace(case.spec, decay=0.875, current_decay=case.spec.current_decay and 0.5)
    assert refusal_of(adapter_of(name), replace(case, neuron=exact, precision="bf16")) is None


def test_a_factor_that_is_not_undone_is_found_out():
    class Twice(type(adapter_of("norse"))):
        def current_scale(self, spec):
            return 1.01 / (1 - spec.decay)

    case = case_of("norse", SCALED["norse"], time_steps=31, batch=5, neurons=61)
    assert not proof_of(Twice(), case).passed
