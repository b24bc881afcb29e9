"""The nodes of a NIR graph in the order in which they are computed: a chain from its input to its output."""

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
)
"""Types of nodes that are imported."""
WHY_NOT = {
    "NIRGraph": "a graph within the graph, such as a recurrent layer, is not imported",
    "LI": "a leaky integrator hands out potentials, which is not imported",
    "I": "an integrator hands out potentials, which is not imported",
    "CubaLI": "a leaky integrator hands out potentials, which is not imported",
    "Delay": "delays are not imported",
    "Threshold": "a threshold without a membrane is not imported",
    "Conv1d": "convolutions of one dimension are not imported",
}


def chain_of(graph: NirGraph) -> list[NirNode]:
    """The input, and the nodes up to the one before the output, in order. Raises NetworkFault for a type that
    is not imported, and for a graph that is no chain; it names the node."""
    for node in graph.nodes.values():
        if node.type not in KNOWN:
            raise NetworkFault(
                f"node {node.name}: {WHY_NOT.get(node.type, f'the type {node.type} is not imported')}"
            )
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
    """Every node has one before it and one behind it, but for the ends."""
    for edge, count in Counter(graph.edges).items():
        for name in edge:
            if name not in graph.nodes:
                raise NetworkFault(f"node {name}: an edge names it, and there is no such node")
        if count > 1:
            raise NetworkFault(f"node {edge[1]}: reads {edge[0]} {count} times")
    reads, read = (
        Counter(target for _, target in graph.edges),
        Counter(source for source, _ in graph.edges),
    )
    for node in graph.nodes.values():
        if (count := reads[node.name]) != (wanted := int(node.type != "Input")):
            raise NetworkFault(
                f"node {node.name}: reads {count} nodes, not {wanted}; only chains are imported, with every edge"
            )
        if (count := read[node.name]) != (wanted := int(node.type != "Output")):
            raise NetworkFault(
                f"node {node.name}: {count} nodes read it, not {wanted}; only chains are imported, with every edge"
            )
