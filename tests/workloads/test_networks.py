"""The named networks: their sizes are those of the papers, and every framework computes them."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from support.expected import HERE, PROVED, adapter_of, case_of, on_jax
from support.networks import FUSION, LIANG, MANY, WIDEST, network_of, sized
from support.paths import ROOT
from support.proofs import proof_of, refusal_of
from support.slow import without
from support.ties_table import ABOVE, CURRENTS, LOWERED, NEURON, currents

from snnbench.core.case import INPUTS, SPIKES, Case
from snnbench.core.network import OF_TWO
from snnbench.proof.problem import draw_input
from snnbench.proof.recurrence import run
from snnbench.workloads import NETWORKS, WORKLOADS, workload_of

PUBLISHED = {  # millions of parameters, neuron layers; ResNets have as many as torchvision counts of theirs
    "cifar-small": (10.40, 5),
    "cifar-medium": (13.65, 9),
    "cifar-large": (16.60, 11),
    "alexnet": (75.59, 9),
    "spiking-resnet18": (11.69, 17),
    "spiking-resnet34": (21.80, 33),
    "spiking-resnet50": (25.56, 49),
    "sew-resnet18": (11.69, 20),
    "resnet34": (21.80, 33),
    "mnist-mlp": (0.80, 2),
    "spikformer": (9.31, 33),  # 9.32 with biases in front of norms, which remove them
}
TIES = (ROOT / "docs" / "ties.md").read_text(encoding="utf-8")
CHAINS = ("snntorch:layers", "norse:layers")
"""Constructions that are refused for networks with norms or shortcuts."""
TORCH = ("torch", "snntorch", "spikingjelly", "norse", "sinabs", "fused")


def case_for(name, workload, neuron):
    framework, _, construction = name.partition(":")
    own = case_of(framework, neuron)
    values = {**vars(sized(workload)), "framework": framework, "neuron": own.neuron}
    return Case(**{**values, "construction": construction or own.construction})


@pytest.mark.parametrize("workload", PUBLISHED)
def test_at_the_published_sizes_a_network_has_the_published_parameters(workload):
    width, image, classes = (
        (128, 32, 10) if "cifar" in workload else (64, 28 if "mnist" in workload else 224, 1000)
    )
    classes = 10 if "mnist" in workload else classes
    if workload == "spikformer":
        width, image, classes = 384, 32, 10
    case = Case(
        "torch",
        workload=workload,
        width=width,
        image=image,
        classes=classes,
        norm=True,
        neurons=1000,
        layers=4,
        heads=12,
    )
    network = workload_of(case).network(workload_of(case).canonical(case))
    count = sum(
        math.prod(shape) for shapes in network.parameters.values() for shape in shapes.values()
    )
    assert (round(count / 1e6, 2), len(network.neurons)) == PUBLISHED[workload]
    assert network.shapes[network.output.name] == (classes,)


def test_an_mlp_has_the_widths_that_it_is_given():
    case = Case("torch", workload="mlp", inputs=700, outputs=20, neurons=256, layers=3)
    network = workload_of(case).network(workload_of(case).canonical(case))
    shapes = [shapes["weight"] for name, shapes in network.parameters.items()]
    assert shapes == [(256, 700), (256, 256), (20, 256)] and len(network.neurons) == 3


def test_every_network_is_listed_once():
    assert {each.name for each in NETWORKS} >= set(PUBLISHED) and len(WORKLOADS) == len(
        {*WORKLOADS}
    )


OWN = {  # own layers, and a network in the named subset that they are not refused for
    "snntorch:layers": "mnist-mlp",
    "norse:layers": "conv-lif",
    "spikingjelly:layers": "cifar-small",
    "sinabs:layers": "sew-resnet18",
}
JAX = [each for each in HERE if on_jax(each)]
DEEP = (
    "cifar-medium",
    "cifar-large",
    "conv-medium",
    "conv-large",
    "alexnet",
    "resnet34",
    "spiking-resnet34",
    "spiking-resnet50",
    "spikformer",
    "sdt-v3-block",
    "masked-psn",
    "sliding-psn",
    "shd-delays",
)
"""Networks of the kinds of layers that a smaller one has, proved with `DEEP_IN` alone."""
DEEP_IN = ("torch", "fused", "jax")
PAIRS = [
    (name, workload)
    for name in [*(f"{each}:vanilla" for each in TORCH), *OWN, *TORCH, *JAX, "rockpool"]
    for workload in WORKLOADS
    if workload not in ("linear-lif", "lif", "data", "network")
    if workload not in DEEP or name in DEEP_IN
]
QUICK = {
    ("torch", "conv-lif"),
    ("fused", "cifar-small"),
    ("sinabs", "spiking-resnet18"),
    ("torch:vanilla", "spikformer-block"),
    ("snntorch", "recurrent-lif"),
    ("spikingjelly", "mlp"),
    ("norse", "shd"),
    ("jax", "mnist-mlp"),
}
"""Each kind of network once, with a framework on torch or with JAX."""
MATRIX = [pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.slow) for pair in PAIRS]


def test_the_quick_pairs_are_of_the_matrix():
    assert {*PAIRS} >= QUICK


@pytest.mark.frameworks
@pytest.mark.parametrize(("name", "workload"), MATRIX)
def test_a_named_network_is_proved(name, workload):
    neuron = "soft" if "rockpool" in name else WIDEST
    case, adapter = case_for(name, workload, neuron), adapter_of(name.partition(":")[0])
    reason, network = refusal_of(adapter, case), network_of(case)
    if network.has_neuron("recurrent") and (
        name.endswith(":layers") or not HERE[name.partition(":")[0]].get("recurrent")
    ):
        assert "recurrent" in reason
        return
    if name in CHAINS and any(node.kind in ("norm", *OF_TWO) for node in network.nodes):
        assert "a norm's statistics are over all steps" in reason
        return
    over_steps = [node.kind for node in network.nodes if node.kind in ("mix_time", "delayed")]
    if name in (*CHAINS, "sinabs:layers") and over_steps:
        assert "norm's statistics are over all steps" in reason or any(
            words in reason for words in ("mix of steps is over all", f"behind a {over_steps[0]}")
        )
        return
    if name == "sinabs:layers" and any(node.kind == "reshape" for node in network.nodes):
        assert "without neurons behind a reshape" in reason
        return
    assert reason is None
    proof = proof_of(adapter, case)
    assert proof.passed, proof.reason


@pytest.mark.parametrize(
    "workload", ["spikformer-block", "sdt-block", "sdt-v3-block", "spikformer"]
)
def test_heads_divide_the_width(workload):
    case = replace(sized(workload), heads=9)
    with pytest.raises(ValueError, match=f"width = {case.width} is no multiple of heads = 9"):
        network_of(case)


@pytest.mark.frameworks
def test_the_attention_of_a_framework_is_proved():
    case = case_for("spikingjelly:attention", "sdt-block", WIDEST)
    adapter = adapter_of("spikingjelly")
    assert (reason := refusal_of(adapter, case)) is None, reason
    (run,) = (r for r in adapter.modules(case, network_of(case)) if len(r) > 2)
    assert run[0] == "neuron1" and run[-1] == "add1"
    proof = proof_of(adapter, case)
    assert proof.passed, proof.reason


@pytest.mark.parametrize("kind", CURRENTS)
def test_a_lowered_threshold_keeps_all_spikes_and_has_no_ties(kind):
    x = currents(kind, 0.15)
    (v, spikes), (lower, same), (_, fewer) = (run(spec, x) for spec in (NEURON, LOWERED, ABOVE))
    assert (v == NEURON.threshold).mean() > 0.05 and not (lower == LOWERED.threshold).any()
    assert np.array_equal(spikes, same) and fewer.sum() < spikes.sum()


@pytest.mark.frameworks
@pytest.mark.parametrize("name", without({*HERE} - {"torch", "snntorch"}, HERE))
def test_a_framework_that_fires_above_a_threshold_is_named(name):
    """docs/ties.md lists them."""
    (listed,) = re.findall(r"fires above its threshold: (.+?)\.", TIES, re.DOTALL)
    case = next(
        case
        for neuron in (WIDEST, *PROVED[name])
        if refusal_of(adapter_of(name), case := case_of(name, neuron, workload="ties", **MANY))
        is None
    )
    proof = proof_of(adapter_of(name), case)
    if f"`{name}`" in listed:
        assert "neuron3 fires above its threshold, not at it, where " in proof.reason
    else:
        assert proof.passed, proof.reason


@pytest.mark.parametrize("steps", range(1, 9))
def test_no_potential_of_attention_lies_on_its_threshold(steps):
    """Without a spike at a decay of ½ a potential is any multiple of 2^(1 − T) eighths, behind sums
    of ones of 2^(1 − T)."""
    neuron = network_of(sized("spikformer-block")).node("neuron4").options["neuron"]
    assert neuron == network_of(sized("sdt-block")).node("neuron5").options["neuron"]
    assert (neuron.threshold * 8 * 2 ** (steps - 1)) % 1 != 0


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "name", without({*JAX, *TORCH, "rockpool"} - {"fused"}, [*TORCH, *JAX, "rockpool"])
)
def test_sounds_without_recurrence_are_proved_with_every_framework(name):
    """Of two layers, with the other readout."""
    case = case_for(name, "shd", "soft" if "rockpool" in name else WIDEST)
    case = replace(case, layers=2, recurrent=False, readout="softmax_sum", loss="cross-entropy")
    proof = proof_of(adapter_of(name), case)
    assert proof.passed, proof.reason


@pytest.mark.slow
@pytest.mark.frameworks
@pytest.mark.parametrize("neuron", [FUSION, LIANG], ids=["fusion", "liang"])
@pytest.mark.parametrize(
    ("name", "depth"),
    [("torch", 34), *((n, 18) for n in ("torch", "jax", "spikingjelly", "fused"))],
)
def test_a_residual_network_is_proved_with_the_neurons_of_the_papers(name, depth, neuron):
    """A spike of a shortcut passes their thresholds."""
    case = replace(case_for(name, f"spiking-resnet{depth}", WIDEST), neuron=neuron)
    proof = proof_of(adapter_of(name), case)
    assert proof.passed, proof.reason


@pytest.mark.slow
@pytest.mark.frameworks
@pytest.mark.parametrize("size", ["small", "medium", "large"])
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_without_norms_is_proved(name, size):
    proof = proof_of(
        adapter_of(name.partition(":")[0]),
        replace(case_for(name, f"cifar-{size}", WIDEST), norm=False),
    )
    assert proof.passed, proof.reason


@pytest.mark.parametrize("input", without({"dense", "images", "spikes"}, INPUTS))
def test_a_network_is_proved_on_every_kind_of_input(input):
    case = replace(sized("conv-lif"), input=input)
    proof = proof_of(adapter_of("torch"), case)
    assert proof.passed, proof.reason


def test_images_are_the_same_at_every_step_and_events_are_few():
    case = sized("conv-lif")
    inputs = {
        kind: draw_input(replace(case, input=kind), workload_of(case).network(case), 2)
        for kind in INPUTS
    }
    assert np.ptp(inputs["images"], axis=0).max() == 0
    assert 0.02 < inputs["events"].mean() < 0.04 and 0.45 < inputs["rate"].mean() < 0.55
    assert {tuple(np.unique(inputs[kind])) for kind in SPIKES} == {(0.0, 1.0)}
