"""Nodes of a readout: their shapes, steps and faults."""

import pytest

from snnbench.core.network import INPUT, Network, Node


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
