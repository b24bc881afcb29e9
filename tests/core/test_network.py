"""Nodes of a readout and of attention: their shapes, steps and faults."""

import pytest

from snnbench.core.network import INPUT, Network, Node
from snnbench.kernels.spec import NeuronSpec


@pytest.mark.parametrize("kind", ["mean_time", "max_time", "softmax_sum", "last_time"])
def test_behind_a_node_over_time_there_is_one_step(kind):
    nodes = (
        Node("a", "integrator", (INPUT,), {"decay": 1}),
        Node("b", kind, ("a",)),
        Node("c", "vote", ("b",), {"group": 4}),
    )
    network = Network((12,), nodes)
    assert [network.steps(name, 37) for name in (INPUT, "a", "b", "c")] == [37, 37, 1, 1]
    assert network.shapes["b"] == (12,) and network.shapes["c"] == (3,)
    assert network.parameters == {}


@pytest.mark.parametrize(
    ("kind", "options", "fault"),
    [
        ("integrator", {}, "integrator needs the option 'decay'"),
        ("integrator", {"decay": 0}, "decay = 0 must be a number above 0, at most 1"),
        ("integrator", {"decay": 1.5}, "decay = 1.5 must be a number above 0, at most 1"),
        ("integrator", {"decay": "fast"}, "decay = 'fast' must be a number above 0, at most 1"),
        ("integrator", {"decay": 1.0, "normal": True}, "multiplies its input by 0"),
        ("vote", {"group": 0}, "group = 0 must be a whole number from 1"),
        ("vote", {"group": 5}, "12 features are no groups of 5"),
        ("max_time", {"group": 5}, "max_time has no option 'group' (it has none)"),
        ("reshape", {"shape": (3, 4)}, "shape = (3, 4) must be (N,) or (C, H, W)"),
        ("reshape", {"shape": (3, -4, -1)}, "shape = (3, -4, -1) must be (N,) or (C, H, W)"),
        ("reshape", {"shape": 12}, "shape = 12 must be (N,) or (C, H, W)"),
        ("reshape", {"shape": (3, 4, 2)}, "(12,) has not as many numbers as (3, 4, 2)"),
        ("sum", {"axis": 1}, "axis = 1 is none of the features (12,)"),
        ("sum", {"axis": -1}, "axis = -1 must be a whole number from 0"),
    ],
)
def test_a_wrong_option_is_one_sentence(kind, options, fault):
    with pytest.raises(ValueError) as error:
        Network((12,), (Node("a", kind, (INPUT,), options),))
    assert str(error.value).startswith("node a: ") and fault in str(error.value)


@pytest.mark.parametrize(("kind", "options"), [("vote", {"group": 2}), ("softmax_sum", {})])
def test_classes_are_one_row(kind, options):
    with pytest.raises(ValueError, match=rf"{kind} reads features \(N,\), not \(2, 3, 4\)"):
        Network((2, 3, 4), (Node("a", kind, (INPUT,), options),))


IMAGE = (4, 3, 5)


@pytest.mark.parametrize(
    ("kind", "options", "second", "features"),
    [
        ("product", {"right": True}, IMAGE, (4, 3, 3)),
        ("product", {"left": True}, IMAGE, (4, 5, 5)),
        ("product", {"left": True, "right": True}, (4, 5, 3), (4, 5, 5)),
        ("product", {}, IMAGE, "cannot multiply the matrices (4, 3, 5) and (4, 3, 5)"),
        ("product", {}, (2, 5, 6), "cannot multiply the matrices (4, 3, 5) and (2, 5, 6)"),
        ("product", {}, (60,), "product reads features (C, M, K), not (4, 3, 5) and (60,)"),
        ("product", {"scale": 0}, IMAGE, "scale = 0 must be a number above 0"),
        ("product", {"scale": "half"}, IMAGE, "scale = 'half' must be a number above 0"),
        ("multiply", {}, (4, 1, 5), IMAGE),
        ("multiply", {}, (4, 5, 3), "cannot multiply (4, 3, 5) by (4, 5, 3)"),
        ("multiply", {}, (60,), "cannot multiply (4, 3, 5) by (60,)"),
    ],
)
def test_two_nodes_are_multiplied_if_their_shapes_fit(kind, options, second, features):
    nodes = [Node("a", "reshape", (INPUT,), {"shape": IMAGE})]
    repeated = second == (4, 1, 5)
    nodes.append(
        Node("b", "sum", ("a",), {"axis": 1})
        if repeated
        else Node("b", "reshape", (INPUT,), {"shape": second})
    )
    try:
        nodes.append(Node("c", kind, ("a", "b"), options))
        shape = Network((60,), tuple(nodes)).shapes["c"]
    except ValueError as error:
        assert str(error).startswith("node c: ") and str(features) in str(error)
    else:
        assert shape == features


def test_two_nodes_are_two_with_equal_steps():
    with pytest.raises(ValueError, match="node a: multiply reads input twice"):
        Node("a", "multiply", (INPUT, INPUT))
    with pytest.raises(ValueError, match="node b: reads a value of all time steps and a value of"):
        Network((5,), (Node("a", "last_time"), Node("b", "add", (INPUT, "a"))))


@pytest.mark.parametrize(
    ("groups", "outputs", "fault"),
    [
        (2, 6, None),
        (3, 6, "4 and 6 channels are no 3 equal groups"),
        (4, 6, "4 and 6 channels are no 4 equal groups"),
        (0, 6, "groups = 0 must be a whole number from 1"),
    ],
)
def test_groups_divide_the_channels(groups, outputs, fault):
    def network():
        options = {"outputs": outputs, "kernel": 3, "groups": groups}
        return Network(IMAGE, (Node("a", "conv", (INPUT,), options),))

    if fault is None:
        assert network().parameters["a"]["weight"] == (6, 2, 3, 3)
    else:
        with pytest.raises(ValueError, match=fault):
            network()


def test_products_of_spikes_are_whole_numbers_and_those_of_currents_are_not():
    nodes = [
        Node("spikes", "neuron", (INPUT,), {"neuron": NeuronSpec()}),
        Node("a", "reshape", ("spikes",), {"shape": (3, 5, 4)}),
        Node("b", "product", ("a", "again"), {"scale": 0.125, "left": True}),
        Node("c", "product", ("a", "again"), {"scale": 0.3, "left": True}),
        Node("d", "multiply", ("a", "currents")),
    ]
    nodes[1:1] = [
        Node("again", "reshape", ("spikes",), {"shape": (3, 5, 4)}),
        Node("currents", "reshape", (INPUT,), {"shape": (3, 5, 4)}),
    ]
    network = Network((60,), tuple(nodes))
    names = ("spikes", "a", "b", "c", "currents", "d")
    assert [network.is_whole(name) for name in names] == [True, True, True, False, False, False]
