"""Networks around the neurons: the contract's test networks are proved with every framework."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.expected import HERE, PROVED, adapter_of, case_of, on_jax
from support.networks import READOUTS, network_of
from support.proofs import loaded, proof_of, refusal_of
from support.slow import without

from snnbench.adapters import TorchAdapter, Unsupported
from snnbench.core.case import Case
from snnbench.core.network import INPUT, Network, Node
from snnbench.kernels.spec import NEURONS, NeuronSpec

SIZES = {"contract": {"time_steps": 5, "batch": 3}, "recurrent": {"time_steps": 37, "batch": 3}}
SIZES["potentials"] = SIZES["recurrent"]
KINDS = ("recurrent", "potentials")
QUICK_READOUTS = {("jax", "votes"), ("fused", "max-time"), ("snntorch:layers", "softmax-sum")}


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if on_jax(name) else ())
        for name, entry in HERE.items()
        if entry.get("networks")
    ],
)
def test_a_network_of_all_kinds_is_the_same_with_every_framework(name):
    proof = proof_of(adapter_of(name), case_of(name, workload="contract", **SIZES["contract"]))
    assert proof.passed, proof.reason
    assert set(proof.stages[-1].verdict.errors) == {"weight", "bias", "input"}


@pytest.mark.parametrize("name", ["fused:conv-recompute", "fused:reference"])
@pytest.mark.parametrize(("loss", "norm"), [(None, False), ("cross-entropy", True)])
def test_other_ways_through_our_convolutions_are_proved(name, loss, norm):
    sizes = {"time_steps": 35, "batch": 3, "width": 8, "image": 19, "classes": 7}
    proof = proof_of(
        adapter_of(name), case_of(name, workload="cifar-small", loss=loss, norm=norm, **sizes)
    )
    assert proof.passed, proof.reason


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "kind"),
    without(
        {"jax"},
        [(name, kind) for name, entry in HERE.items() for kind in KINDS if entry.get(kind)],
    ),
)
def test_recurrent_neurons_and_potentials_are_proved(name, kind):
    proof = proof_of(adapter_of(name), case_of(name, workload=kind, **SIZES[kind]))
    assert proof.passed, proof.reason


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "readout"),
    [
        pytest.param(
            name,
            readout,
            marks=() if (name, readout) in QUICK_READOUTS or name == "torch" else pytest.mark.slow,
        )
        for name, neurons in PROVED.items()
        if neurons
        for readout in READOUTS
    ],
)
def test_readouts_are_proved_with_every_framework(name, readout):
    """They have no spikes, so that an adapter knows nothing of them."""
    case = case_of(name, PROVED[name][0], workload=readout, **SIZES["recurrent"])
    if refusal := refusal_of(adapter_of(name), case):
        assert "offered" in refusal or "fits into" in refusal or "about" in refusal, refusal
        return
    proof = proof_of(adapter_of(name), case)
    assert proof.passed, proof.reason


@pytest.mark.parametrize("readout", ["max-time", "softmax-sum", "votes"])
@pytest.mark.parametrize("name", without({"jax"}, ["torch", "jax"]))
def test_readouts_are_proved_in_a_short_format(name, readout):
    case = case_of(name, workload=readout, precision="bf16", **SIZES["recurrent"])
    proof = proof_of(adapter_of(name), case)
    assert proof.passed, proof.reason


def test_ranks_share_the_items_of_a_readout_and_no_time_steps():
    case = case_of("torch", workload="softmax-sum", ranks=2, **SIZES["recurrent"])
    assert refusal_of(adapter_of("torch"), replace(case, parallel="data")) is None
    refusal = refusal_of(adapter_of("torch"), replace(case, parallel="time"))
    assert refusal == "a node integrator is offered to ranks with all its time steps"


def test_potentials_that_are_never_reset_are_refused_in_favour_of_an_integrator():
    case = case_of("torch", "none", workload="potentials", **SIZES["potentials"])
    assert "use that kind" in refusal_of(adapter_of("torch"), case)


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name, entry in HERE.items()
        for kind in ("recurrent", "potentials")
        if not entry.get(kind)
    ],
)
def test_others_refuse_them_in_a_sentence(name, kind):
    refusal = refusal_of(adapter_of(name), case_of(name, workload=kind, **SIZES[kind]))
    assert (
        refusal
        in {
            "potentials": (f"{name} is not offered here with neurons that hand out potentials",),
            "recurrent": (
                f"{name} is not offered here with a recurrent linear inside the time loop",
                f"{name}'s neuron hands out no state: no recurrent linear fits into its loop",
            ),
        }[kind]
    )


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "name", [name for name, neurons in PROVED.items() if neurons and not on_jax(name)]
)
def test_a_construction_is_refused_with_recurrent_neurons_or_builds_them(name):
    """A refusal comes before anything is built."""
    adapter, case = (
        adapter_of(name),
        case_of(name, PROVED[name][0], workload="recurrent", **SIZES["recurrent"]),
    )
    if refusal_of(adapter, case) is None:
        adapter.prepare(case, 1)
        adapter.program(case, network_of(case))


def test_an_adapter_that_does_not_declare_it_is_refused_when_it_is_built():
    class Silent(TorchAdapter):
        name = "silent"

        def neuron(self, spec, features):
            return torch.nn.Identity()

    case = Case("silent", workload="recurrent", **SIZES["recurrent"])
    with pytest.raises(Unsupported, match="no recurrent linear fits into its loop"):
        Silent().program(case, network_of(case))


def scaled(before: str) -> Network:
    """A neuron with currents from `before`: a node of that kind, or the input itself."""
    neuron = NEURONS["soft"]
    nodes = {
        "input": (),
        "norm": (Node("norm1", "norm", (INPUT,)),),
        "add": (Node("norm1", "norm", (INPUT,)), Node("add1", "add", ("norm1", INPUT))),
    }[before]
    last = nodes[-1].name if nodes else INPUT
    return Network((4, 3, 3), (*nodes, Node("neuron1", "neuron", (last,), {"neuron": neuron})))


@pytest.mark.frameworks
@pytest.mark.parametrize(("before", "in_call"), [("input", []), ("norm", []), ("add", ["neuron1"])])
@pytest.mark.parametrize("name", without({"rockpool-jax"}, ["norse", "rockpool-jax"]))
def test_a_scale_is_folded_into_what_lies_before_or_multiplied_in_the_call(name, before, in_call):
    """Norse needs 16, Rockpool's LIFJax 2⁴⁴ times the currents; the answer is that of plain
    torch or JAX."""
    network, rng = scaled(before), np.random.default_rng(5)
    currents = rng.standard_normal((7, 3, *network.input)).astype(np.float32)
    parameters = {
        node: {own: rng.standard_normal(shape).astype(np.float32) for own, shape in shapes.items()}
        for node, shapes in network.parameters.items()
    }
    answers = []
    for framework in (name, "jax" if on_jax(name) else "torch"):
        case = case_of(framework, time_steps=7, batch=3)
        adapter_of(framework).prepare(case, 1)
        program = adapter_of(framework).program(case, network)
        program.load(parameters)
        result = program.forward(program.put_input(currents))
        facts = program.facts(result)
        assert facts.get("scaled_in_call", []) == (in_call if framework == name else [])
        done = program.backward(result, program.put_upstream(np.ones_like(currents), result))
        gradients = program.gradients(done)
        by_parameters = [array for own in gradients.parameters.values() for array in own.values()]
        answers.append([program.output(result), gradients.input, *by_parameters])
    for array, expected in zip(*answers, strict=True):
        assert np.linalg.norm(array - expected) <= 1e-5 * np.linalg.norm(expected)


def test_our_kernels_take_chains_and_norms_of_a_network():
    from snnbench.kernels import ConvLIF, LinearLIF, LinearNormLIF

    case = case_of("fused", workload="contract", **SIZES["contract"])
    layers = adapter_of("fused").program(case, network_of(case)).network.layers
    kinds = [type(layer) for layer in layers]
    assert ConvLIF in kinds and LinearLIF not in kinds
    case = case_of("fused", workload="cifar-small", norm=True, width=8, image=19, classes=7)
    layers = adapter_of("fused").program(case, network_of(case)).network.layers
    own = [
        (type(layer), layer.recompute)
        for layer in layers
        if type(layer).__module__.startswith("snnbench.kernels")
    ]
    assert own == [(ConvLIF, False)] * 3 + [(LinearNormLIF, False)] * 2
    refusal = refusal_of(adapter_of("fused"), case_of("fused:conv-recompute"))
    assert (
        refusal
        == "conv-recompute is about the convolution in front of a neuron, and this network has none"
    )
    case = case_of("fused", layers=3, neurons=7)
    layers = adapter_of("fused").program(case, network_of(case)).network.layers
    assert [type(layer) for layer in layers] == [LinearLIF] * 3
    assert [layer.options["input"] for layer in layers] == ["spikes"] * 3


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("spikingjelly", ["Conv2d", "Loop", "Flatten", "Linear", "Loop"]),
        ("snntorch", ["Conv2d", "Leaky", "Flatten", "Linear", "Leaky"]),
        ("norse", ["Conv2d", "LIFBoxCell", "Flatten", "Linear", "LIFBoxCell"]),
        ("sinabs", ["Conv2d", "LIFSqueeze", "Flatten", "Linear", "LIFSqueeze"]),
    ],
)
def test_layers_are_a_framework_s_own_in_its_own_container(name, own):
    spec = NeuronSpec("hard", detach_reset=True, decay=0.5)
    neuron = {"neuron": spec}
    network = Network(
        (2, 5, 5),
        (
            Node("conv1", "conv", (INPUT,), {"outputs": 3, "kernel": 3}),
            Node("neuron1", "neuron", ("conv1",), neuron),
            Node("flatten1", "flatten", ("neuron1",)),
            Node("linear1", "linear", ("flatten1",), {"outputs": 4}),
            Node("neuron2", "neuron", ("linear1",), neuron),
        ),
    )
    program = adapter_of(name).program(
        case_of(f"{name}:layers", spec, time_steps=5, batch=3), network
    )
    layers = program.network.layers
    if name != "spikingjelly":
        (container,) = layers
        layers = container.by_node.values()
    assert [type(layer).__name__ for layer in layers] == own
    if name == "spikingjelly":
        assert {
            type(layer).__module__.partition(".")[0]
            for layer in layers
            if not hasattr(layer, "lif")
        } == {"spikingjelly"}


@pytest.mark.frameworks
@pytest.mark.parametrize("name", ["snntorch", "sinabs"])
def test_a_container_that_keeps_its_potentials_from_call_to_call_is_rejected(name, monkeypatch):
    spec = NeuronSpec("hard", detach_reset=True, decay=0.5)
    monkeypatch.setattr(
        {"snntorch": "snntorch.utils.reset", "sinabs": "sinabs.reset_states"}[name], keep_potentials
    )
    case = case_of(f"{name}:layers", spec, time_steps=37, batch=3, neurons=97)
    proof = proof_of(adapter_of(name), case)
    assert not proof.passed
    assert "state" in proof.reason or "call" in proof.reason, proof.reason


def keep_potentials(net):
    """In place of a reset: what is kept is let go of the graph only."""
    for module in net.modules():
        for name, buffer in module.named_buffers(recurse=False):
            setattr(module, name, buffer.detach())


def test_hidden_values_are_freed_after_their_last_reader():
    case = case_of("torch", workload="contract", **SIZES["contract"])
    program, _ = loaded(adapter_of("torch"), case)
    unread = {name: part.nodes[-1] for part in program.network.parts for name in part.unread}
    assert unread["pool1"] == "norm3", "the shortcut is the last to read it"
    assert unread[INPUT] == "conv1" and unread["norm2"] == "add1"


@pytest.mark.parametrize("precision", ["bf16", "amp-bf16"])
def test_statistics_stay_in_float32_in_short_formats(precision):
    case = case_of("torch", workload="contract", precision=precision, **SIZES["contract"])
    program, problem = loaded(adapter_of("torch"), case)
    program.forward(program.put_input(problem.input))
    assert {norm.running_mean.dtype for norm in program.network.norms().values()} == {torch.float32}
    assert np.isfinite(program.output(program.inference(program.put_input(problem.input)))).all()
