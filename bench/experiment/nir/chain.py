"""Orders the nodes of a NIR graph: a chain from input to output."""

from collections import Counter

from ..network import NetworkFault
from .file import NirGraph, NirNode

KNOWN = (
    "Input",
    "Output",
    "Linear",
    "Affine",
    "Conv2d",
    "SumPool2d",
    "AvgPool2d",
    "Flatten",
    "Scale",
    "LIF",
    "IF",
    "CubaLIF",
    "LI",
    "I",
)
"""Types of nodes that can be imported."""
WHY_NOT = {
    "NIRGraph": "a graph within the graph, such as a recurrent layer, is not imported",
    "CubaLI": "an integrator behind a synapse is not imported",
    "Delay": "delays are not imported",
    "Threshold": "a threshold without a membrane is not imported",
    "Conv1d": "convolutions of one dimension are not imported",
}


def chain_of(graph: NirGraph) -> list[NirNode]:
    """Returns the nodes in order, from the input to the last before the output. Raises
    NetworkFault, with the node, for a type that is not imported and for a graph that is no
    chain."""
    for node in graph.nodes.values():
        if node.type not in KNOWN:
            reason = WHY_NOT.get(node.type, f"the type {node.type} is not imported")
            raise node.fault(f"{reason}")
    ends = {
        kind: [node.name for node in graph.nodes.values() if node.type == kind]
        for kind in ("Input", "Output")
    }
    for kind, names in ends.items():
        if len(names) != 1:
            raise NetworkFault(f"has {len(names)} nodes of type {kind}; exactly one is imported")
    _check_edges(graph)
    behind = dict(graph.edges)
    (start,), (end,) = ends["Input"], ends["Output"]
    names = [start]
    while names[-1] != end:
        if len(names) > len(graph.nodes):
            raise NetworkFault(f"node {names[-1]}: is on a circle")
        names.append(behind[names[-1]])
    for name in graph.nodes:
        if name not in names:
            raise NetworkFault(f"node {name}: is not on the way from input to output")
    return [graph.nodes[name] for name in names if name != end]


def _check_edges(graph: NirGraph) -> None:
    """Raises NetworkFault unless every node but the ends has one predecessor and one successor."""
    for edge, count in Counter(graph.edges).items():
        for name in edge:
            if name not in graph.nodes:
                raise NetworkFault(f"node {name}: an edge names it, and there is no such node")
        if count > 1:
            raise NetworkFault(f"node {edge[1]}: reads {edge[0]} {count} times")
    inputs = Counter(target for _, target in graph.edges)
    readers = Counter(source for source, _ in graph.edges)
    chains = "only chains are imported, with every edge"
    for node in graph.nodes.values():
        if (count := inputs[node.name]) != (wanted := int(node.type != "Input")):
            raise node.fault(f"reads {count} nodes, not {wanted}; {chains}")
        if (count := readers[node.name]) != (wanted := int(node.type != "Output")):
            raise node.fault(f"{count} nodes read it, not {wanted}; {chains}")
