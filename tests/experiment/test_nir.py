"""NIR files become networks that spike as NIR's equations do in steps of dt; what has no equivalent
is refused by its node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nir_files import GOLDEN, affine, chain, integrated, lif, spikes_of, write_nir

from snnbench.experiment.network import NetworkFault, NetworkTable
from snnbench.experiment.nir.file import MOST_VALUES, read_nir
from snnbench.experiment.nir.network import network_of
from snnbench.proof import oracle
from snnbench.workloads.user_network import as_text, of_text

DT = 1e-4


def table(**changed):
    return NetworkTable(**{"nir": "a.nir", "dt": DT, "decay": "euler", "reset": "soft"} | changed)


def imported(path, **changed):
    return network_of(read_nir(path), table(**changed))


def conv(outputs, inputs, seed=0, stride=1, padding=1, **changed):
    random = np.random.default_rng(seed)
    weight = 0.5 * random.standard_normal((outputs, inputs, 3, 3)).astype("f4")
    pair = {
        "stride": np.array([stride, stride]),
        "padding": np.array([padding, padding]),
        "dilation": np.array([1, 1]),
    }
    return "Conv2d", {
        "weight": weight,
        "bias": 0.1 * random.standard_normal(outputs).astype("f4"),
        "groups": 1,
        **pair,
        **changed,
    }


def pool(kind, kernel=2, padding=0):
    pair = np.array([kernel, kernel])
    return kind, {"kernel_size": pair, "stride": pair, "padding": np.array([padding, padding])}


PER_NEURON = {
    "r": np.linspace(10, 30, 7),
    "v_threshold": np.linspace(0.5, 2, 7),
    "v_leak": np.linspace(-0.1, 0.2, 7),
}
BY_CHANNEL = np.arange(1, 5).reshape(4, 1, 1)
CUBA = (
    "CubaLIF",
    {"tau_syn": 1e-3, "tau_mem": 2e-3, "r": 20.0, "v_leak": 0.0, "v_threshold": 1.0, "w_in": 3.0},
)
FLATTEN = ("Flatten", {"start_dim": 1, "end_dim": -1})
CHAINS = {
    "scalars": [affine(7, 5), lif()],
    "every neuron its own": [affine(7, 5), lif(7, **PER_NEURON), affine(3, 7, 1), lif(3)],
    "a leak without a bias": [
        ("Linear", {"weight": affine(7, 5)[1]["weight"]}),
        lif(7, v_leak=0.3),
    ],
    "IF": [affine(7, 5), ("IF", {"r": 1e4, "v_threshold": 1.5})],
    "CubaLIF": [affine(7, 5), CUBA, affine(3, 7, 1), lif()],
    "Scale before weights": [("Scale", {"scale": np.linspace(0.5, 2, 5)}), affine(7, 5), lif()],
    "Scale before a neuron": [affine(7, 5), ("Scale", {"scale": np.linspace(0.5, 2, 7)}), lif()],
    "other time constants": [affine(7, 5), lif(tau=1e-3), affine(3, 7, 1), lif(tau=4e-3, r=40)],
}
IMAGES = {
    "conv": [conv(4, 2), lif(), FLATTEN, affine(3, 4 * 6 * 8), lif()],
    "conv in groups": [
        ("Scale", {"scale": np.array([0.5, 2.0]).reshape(2, 1, 1)}),
        conv(4, 1, groups=2),
        lif(),
    ],
    "conv of stride 2": [conv(4, 2, stride=2, padding=0), lif()],
    "pool behind a neuron": [conv(4, 2), lif(), pool("SumPool2d"), conv(3, 4, 1), lif()],
    "pool before a neuron": [conv(4, 2), pool("SumPool2d"), lif(v_leak=0.2)],
    "mean before a flatten": [conv(4, 2), lif(), pool("AvgPool2d"), FLATTEN, affine(3, 48), lif()],
    "Scale by channel": [
        ("Scale", {"scale": np.array([0.5, 2.0]).reshape(2, 1, 1)}),
        conv(4, 2),
        lif(),
    ],
    "pool first": [pool("SumPool2d"), conv(4, 2), lif()],
    "by channel": [conv(4, 2), lif(r=np.linspace(10, 30, 4).reshape(4, 1, 1))],
    "Scale before a flatten": [
        ("Scale", {"scale": np.linspace(0.5, 2, 96).reshape(2, 6, 8)}),
        FLATTEN,
        affine(3, 96),
        lif(),
    ],
}
CASES = {
    **{name: ((5,), nodes) for name, nodes in CHAINS.items()},
    **{name: ((2, 6, 8), nodes) for name, nodes in IMAGES.items()},
}


def assert_same_spikes(path, shape, nodes, decay="euler", reset="soft", seed=0):
    network = imported(write_nir(path, **chain(*nodes, shape=shape)), decay=decay, reset=reset)
    x = (np.random.default_rng(seed).random((37, 3, *shape)) < 0.3).astype(np.float32)
    parameters = {name: dict(own) for name, own in network.given.items()}
    run, expected = oracle.forward(network, parameters, x), spikes_of(nodes, x, DT, decay, reset)
    assert len(expected) == len(network.neurons)
    for name, spikes in zip(network.neurons, expected, strict=True):
        assert 0 < spikes.mean() < 0.95, "a neuron that never or always spikes shows nothing"
        assert np.mean(run.spikes[name].reshape(spikes.shape) != spikes) <= 1e-3, name
    return network


@pytest.mark.parametrize("decay", ["euler", "exact"])
@pytest.mark.parametrize(
    "last",
    [("LI", {"tau": 2e-3, "r": 3.0, "v_leak": 0.2}), ("I", {"r": np.linspace(1, 2, 3)})],
    ids=["LI", "I"],
)
def test_an_integrator_has_the_potentials_of_its_file(tmp_path, last, decay):
    nodes = [affine(7, 5), lif(), affine(3, 7, 1)]
    network = imported(write_nir(tmp_path / "a.nir", **chain(*nodes, last)), decay=decay)
    x = (np.random.default_rng(0).random((37, 3, 5)) < 0.3).astype(np.float32)
    parameters = {name: dict(own) for name, own in network.given.items()}
    run = oracle.forward(network, parameters, x)
    own = {key: np.asarray(value) for key, value in last[1].items()}
    currents = run.spikes["neuron1"] @ nodes[2][1]["weight"].T.astype(float) + nodes[2][1]["bias"]
    right = integrated(last[0], own, currents, DT, decay)
    assert network.output.kind == "integrator"
    assert np.allclose(run.values["integrator1"], right, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("decay", ["euler", "exact"])
@pytest.mark.parametrize("reset", ["soft", "soft-undecayed", "hard"])
@pytest.mark.parametrize("name", CASES)
def test_a_network_spikes_as_its_file_says(tmp_path, name, reset, decay):
    assert_same_spikes(tmp_path / "a.nir", *CASES[name], decay, reset)


@given(st.integers(0, 10_000), st.floats(5e-4, 1e-2), st.floats(5, 40), st.floats(0.5, 2))
@settings(max_examples=20)
def test_any_time_constant_resistance_and_threshold(tmp_path_factory, seed, tau, r, threshold):
    nodes = [affine(31, 5, seed), lif(tau=tau, r=r, v_threshold=threshold)]
    network = imported(write_nir(tmp_path_factory.mktemp("nir") / "a.nir", **chain(*nodes)))
    x = (np.random.default_rng(seed).random((37, 3, 5)) < 0.3).astype(np.float32)
    run = oracle.forward(network, {name: dict(own) for name, own in network.given.items()}, x)
    expected = spikes_of(nodes, x, DT, "euler", "soft")[0]
    assert np.mean(run.spikes["neuron1"] != expected) <= 2e-3


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"reset": "hard"}, {"reset": "soft"}),
        ({"reset": "soft"}, {"reset": "soft-undecayed"}),
        ({"decay": "exact"}, {"decay": "euler"}),
        ({"dt": 2e-4}, {"dt": DT}),
    ],
)
def test_a_file_read_otherwise_is_another_network(tmp_path, wrong, right):
    """What the config says counts: read with another reset, decay or step the spikes are others."""
    path = write_nir(tmp_path / "a.nir", **chain(affine(31, 5), lif(tau=5e-4, r=8)))
    x = (np.random.default_rng(1).random((37, 3, 5)) < 0.3).astype(np.float32)

    def spikes(how):
        network = imported(path, **how)
        return oracle.forward(
            network, {name: dict(own) for name, own in network.given.items()}, x
        ).spikes["neuron1"]

    assert np.mean(spikes(wrong) != spikes(right)) > 0.01


@pytest.mark.parametrize(
    ("library", "how", "decay"),
    [
        ("snntorch", {"dt": 1e-4}, 0.9375),
        ("norse", {"dt": 1e-6, "decay": "exact"}, 0.9048374),
        ("sinabs", {"dt": 1.0, "decay": "exact", "gain": "unit"}, 0.95122945),
    ],
)
def test_files_of_three_libraries(library, how, decay):
    network = imported(GOLDEN / f"{library}.nir", **how)
    assert [node.kind for node in network.nodes] == ["linear", "neuron", "linear", "neuron"]
    assert network.shapes[network.output.name] == (5,) and network.input == (13,)
    (spec,) = network.specs
    assert (spec.decay, spec.threshold, spec.reset) == (decay, 1.0, "soft")


def test_unit_gain_leaves_weights_as_they_are(tmp_path):
    nodes = [affine(7, 5), lif(r=1.0)]
    network = imported(write_nir(tmp_path / "a.nir", **chain(*nodes)), gain="unit")
    assert np.array_equal(network.given["linear1"]["weight"], nodes[0][1]["weight"])


def test_a_text_holds_a_whole_network(tmp_path):
    network = imported(write_nir(tmp_path / "a.nir", **chain(*IMAGES["conv"], shape=(2, 6, 8))))
    again = of_text(as_text(network))
    assert again == network and as_text(again) == as_text(network)
    assert all(
        np.array_equal(again.given[name][key], own[key])
        for name, own in network.given.items()
        for key in own
    )


REFUSED = {
    "node b: delays are not imported": [affine(7, 5), ("Delay", {"delay": 1.0}), lif()],
    "node b: an integrator behind a synapse is not imported": [affine(7, 5), ("CubaLI", {})],
    "node a: the type Mystery is not imported": [("Mystery", {})],
    "node a: a graph within the graph": [("NIRGraph", {})],
    "node b: tau differs from neuron to neuron": [
        affine(7, 5),
        lif(7, tau=np.linspace(1e-3, 2e-3, 7)),
    ],
    "node b: resets to v_reset, which is not 0": [affine(7, 5), lif(v_reset=0.5)],
    "node b: with dt = 0.0001 a tau of 5e-05 gives the decay -1": [affine(7, 5), lif(tau=5e-5)],
    "node b: with dt = 0.0001 a tau of 1e+09 gives the decay 1": [affine(7, 5), lif(tau=1e9)],
    "node b: with dt = 0.0001 a tau of 1e-300 gives the decay -inf, which must be above 0": [
        affine(7, 5),
        ("LIF", {"tau": 1e-300, "r": 1.0, "v_leak": 0.0, "v_threshold": 1.0}),
    ],
    "node b: tau = -1 must be positive": [affine(7, 5), lif(tau=-1)],
    "node b: v_threshold must be positive": [affine(7, 5), lif(v_threshold=0)],
    "node b: r or w_in is 0": [affine(7, 5), lif(r=0)],
    "node a: has no weights before it": [lif()],
    "node c: has no weights before it": [affine(7, 5), lif(), lif()],
    "node a: the weight has shape (7, 6), and it reads 5 features": [affine(7, 6), lif()],
    "node a: the weight has shape (7, 5, 1)": [("Linear", {"weight": np.zeros((7, 5, 1))}), lif()],
    "node a: Affine lacks the array 'bias'": [("Affine", {"weight": np.zeros((7, 5))}), lif()],
    "node a: the bias has shape (3,), not (7,)": [
        ("Affine", {"weight": np.zeros((7, 5)), "bias": np.zeros(3)}),
        lif(),
    ],
    "node a: Linear lacks the array 'weight'": [("Linear", {}), lif()],
    "node a: weight must hold finite numbers": [
        ("Linear", {"weight": np.full((7, 5), np.nan)}),
        lif(),
    ],
    "node b: r has shape (3,), which (7,) features do not have": [affine(7, 5), lif(r=np.ones(3))],
    "node b: LIF lacks the array 'tau'": [affine(7, 5), ("LIF", {"r": 1.0, "v_threshold": 1.0})],
    "node b: v_leak is not 0, which no bias before a synapse": [
        affine(7, 5),
        (CUBA[0], {**CUBA[1], "v_leak": 0.1}),
    ],
    "has no neuron": [affine(7, 5)],
    "node a: Conv2d reads features (C, H, W), not (5,)": [conv(4, 2), lif()],
    "gives linear1 weights that are no finite numbers": [
        ("Linear", {"weight": np.full((7, 5), 1e38)}),
        lif(r=1e9),
    ],
}
REFUSED_IMAGES = {
    "node a: the weight has shape (4, 2, 3, 3), and it reads 2 features": [
        conv(4, 2, groups=2),
        lif(),
    ],
    "node a: a dilated convolution": [conv(4, 2, dilation=np.array([2, 2])), lif()],
    "node a: stride = [1.0, 2.0] is not imported": [
        ("Conv2d", {**conv(4, 2)[1], "stride": np.array([1, 2])}),
        lif(),
    ],
    "node a: a kernel of (3, 2) is not imported": [
        ("Conv2d", {**conv(4, 2)[1], "weight": np.ones((4, 2, 3, 2))}),
        lif(),
    ],
    "node b: its parameters differ within a channel": [
        conv(4, 2),
        lif(r=np.linspace(1, 2, 192).reshape(4, 6, 8)),
    ],
    "node c: its parameters differ, and a pool or flatten": [
        conv(4, 2),
        pool("SumPool2d"),
        lif(r=np.arange(1, 5).reshape(4, 1, 1)),
    ],
    "node c: NIR does not say whether a mean counts its padding": [
        conv(4, 2),
        lif(),
        pool("AvgPool2d", 3, 1),
        FLATTEN,
    ],
    "node a: padding 'same' is imported for odd kernels": [
        ("Conv2d", {**conv(4, 2)[1], "stride": 2, "padding": "same"}),
        lif(),
    ],
    "node a: Linear reads features (N,), not (2, 6, 8)": [
        ("Linear", {"weight": np.ones((3, 96))}),
        lif(),
    ],
    "node a: a kernel of 7 does not fit": [pool("SumPool2d", 7), conv(4, 2), lif()],
}
ALL_REFUSED = [(words, nodes, (5,)) for words, nodes in REFUSED.items()]
ALL_REFUSED += [(words, nodes, (2, 6, 8)) for words, nodes in REFUSED_IMAGES.items()]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("words", "nodes", "shape"), ALL_REFUSED, ids=[words for words, *_ in ALL_REFUSED]
)
def test_what_has_no_equivalent_is_refused_by_its_node(tmp_path, words, nodes, shape):
    with pytest.raises(NetworkFault) as refused:
        imported(write_nir(tmp_path / "a.nir", **chain(*nodes, shape=shape)))
    assert str(refused.value).startswith(words) and "\n" not in str(refused.value)


GOOD = chain(affine(7, 5), lif())
EDGES = {
    "node b: 0 nodes read it, not 1": GOOD["edges"][:-1],
    "node a: reads 0 nodes, not 1": GOOD["edges"][1:],
    "node a: reads 2 nodes, not 1": [*GOOD["edges"], ("b", "a")],
    "node a: reads input 2 times": [*GOOD["edges"], ("input", "a")],
    "node z: an edge names it": [*GOOD["edges"], ("a", "z")],
    "node a: is not on the way": [("input", "output"), ("a", "b"), ("b", "a")],
    "node b: 2 nodes read it, not 1": [("b", "input"), *GOOD["edges"]],
}


@pytest.mark.parametrize("words", EDGES)
def test_a_graph_that_is_no_chain_is_refused_by_a_node(tmp_path, words):
    with pytest.raises(NetworkFault, match=words):
        imported(write_nir(tmp_path / "a.nir", GOOD["nodes"], EDGES[words]))


@pytest.mark.parametrize("shape", [(0,), (5, 5), (-1,), (1.5,), (), (1, 2, 3, 4, 5), (2, 5)])
def test_an_input_of_no_shape_is_refused(tmp_path, shape):
    with pytest.raises(NetworkFault, match=r"node input: has the shape"):
        imported(write_nir(tmp_path / "a.nir", **chain(affine(7, 5), lif(), shape=shape)))


def test_a_batch_of_one_in_the_shape_of_the_input_is_none(tmp_path):
    assert imported(
        write_nir(tmp_path / "a.nir", **chain(affine(7, 5), lif(), shape=(1, 5)))
    ).input == (5,)


def test_two_inputs_and_none(tmp_path):
    without = {name: node for name, node in GOOD["nodes"].items() if name != "input"}
    with pytest.raises(NetworkFault, match="has 0 nodes of type Input"):
        imported(write_nir(tmp_path / "a.nir", without, GOOD["edges"]))
    with pytest.raises(NetworkFault, match="has 2 nodes of type Input"):
        imported(
            write_nir(
                tmp_path / "b.nir", {**GOOD["nodes"], "z": GOOD["nodes"]["input"]}, GOOD["edges"]
            )
        )


def test_more_numbers_than_are_read_are_refused_unread(tmp_path):
    import h5py

    path = write_nir(tmp_path / "a.nir", **GOOD)
    with h5py.File(path, "a") as file:
        del file["node/nodes/a/weight"]
        file["node/nodes/a"].create_dataset(
            "weight", (1 << 20, MOST_VALUES), "f4", chunks=(1, 1 << 20)
        )  # of which none is stored
    with pytest.raises(NetworkFault, match="has more than"):
        imported(path)


@pytest.mark.parametrize(
    "key",
    ["node/nodes/a/weight", "node/nodes/a", "node/edges", "node/nodes/a/type", "node/type", "node"],
)
def test_links_to_other_files_and_what_is_missing(tmp_path, key):
    import h5py

    write_nir(tmp_path / "other.nir", **GOOD)
    path = write_nir(tmp_path / "a.nir", **GOOD)
    with h5py.File(path, "a") as file:
        del file[key]
    with pytest.raises(NetworkFault, match=r"lacks|reads \d nodes|an edge names it"):
        imported(path)
    with h5py.File(path, "a") as file:
        file[key] = h5py.ExternalLink("other.nir", key)
    with pytest.raises(NetworkFault, match="has a link to another place"):
        imported(path)


def test_no_hdf5_an_empty_file_and_a_folder(tmp_path):
    (tmp_path / "a.nir").write_text("no HDF5")
    (tmp_path / "b.nir").write_bytes(b"")
    (tmp_path / "c.nir").mkdir()
    for name in "abc":
        with pytest.raises(NetworkFault, match="is no NIR file that HDF5 can read"):
            read_nir(tmp_path / f"{name}.nir")


def exported_by_snntorch(path):
    """Writes a network of snnTorch's defaults by its own exporter, as users do, and returns it."""
    import nir
    import torch
    from snntorch import Leaky
    from snntorch.export_nir import export_to_nir

    def leaky(size, **more):
        beta, threshold = torch.full((size,), 0.9375), torch.ones(size)
        return Leaky(beta=beta, threshold=threshold, init_hidden=True, **more)

    torch.manual_seed(5)
    network = torch.nn.Sequential(
        torch.nn.Linear(13, 17), leaky(17), torch.nn.Linear(17, 5), leaky(5, output=True)
    )
    nir.write(path, export_to_nir(network, torch.rand(13)))
    return network


@pytest.mark.frameworks
@pytest.mark.parametrize(("reset", "is_snntorch"), [("soft-undecayed", True), ("soft", False)])
def test_what_snntorch_exports_here_spikes_as_its_network(tmp_path, reset, is_snntorch):
    import torch
    from snntorch import utils

    theirs = exported_by_snntorch(tmp_path / "a.nir")
    network = imported(tmp_path / "a.nir", dt=1e-4, reset=reset, detach_reset=True)
    x = 9 * (np.random.default_rng(2).random((37, 3, 13)) < 0.5).astype(np.float32)
    parameters = {name: dict(own) for name, own in network.given.items()}
    run = oracle.forward(network, parameters, x)
    utils.reset(theirs)
    with torch.no_grad():
        spikes = np.stack([theirs(step)[0].numpy() for step in torch.tensor(x)])
    same = np.mean(run.spikes[network.neurons[-1]] == spikes)
    assert (same > 0.998) == is_snntorch and 0.02 < spikes.mean() < 0.9


@pytest.mark.frameworks
@pytest.mark.parametrize(("reset", "is_snntorch"), [("soft-undecayed", True), ("soft", False)])
def test_a_file_of_snntorch_read_as_undecayed_spikes_as_its_leaky(reset, is_snntorch):
    import snntorch
    import torch

    network = imported(GOLDEN / "snntorch.nir", dt=1e-4, reset=reset, detach_reset=True)
    parameters = {name: dict(own) for name, own in network.given.items()}
    x = 9 * (np.random.default_rng(2).random((37, 3, 13)) < 0.5).astype(np.float32)
    run = oracle.forward(network, parameters, x)
    value = torch.tensor(x)
    for linear, neuron in zip(("linear1", "linear2"), network.neurons, strict=True):
        own = {name: torch.tensor(array) for name, array in parameters[linear].items()}
        leaky, mem, spikes = snntorch.Leaky(beta=0.9375), torch.zeros(3, len(own["weight"])), []
        for current in torch.nn.functional.linear(value, own["weight"], own.get("bias")):
            spike, mem = leaky(current, mem)
            spikes.append(spike)
        value = torch.stack(spikes)
        same = np.mean(run.spikes[neuron] == value.detach().numpy())
        assert (same > 0.999) == is_snntorch and 0.02 < value.mean() < 0.9
