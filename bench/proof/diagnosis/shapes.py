"""Names the node of a network that gives its value another shape, seen there or at a later node."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from math import prod

from ...core.network import Network, Node, Shape
from .values import between

TRIED = {"outputs": range(0), "padding": range(6), "stride": range(1, 5), "kernel": range(1, 12)}
"""Options with the values that are tried; of outputs, the observed number."""


def shape_fault(
    network: Network, name: str, given: Shape, right: Collection[str] = ()
) -> str | None:
    """Names the node that makes features `given` of node `name`, and the option that explains
    them. Neurons before it are right, and nodes in `right`. None where the values of that node
    are in another order."""
    if prod(given) == prod(network.shapes[name]):
        return None
    node = network.node(name)
    if node.kind == "neuron":
        for reader in network.readers[name]:
            if network.shapes[reader.name] == given:
                return f"{reader.name} stands in front of {name}"
    before = between(network, node.inputs[0] if node.kind == "neuron" else name)
    suspects = [
        each
        for each in before
        if each.options.keys() & {"outputs", "kernel"} and each.name not in right
    ]
    for suspect, words, other in _changes(suspects, given):
        nodes = tuple(other if each is suspect else each for each in network.up_to(name).nodes)
        with suppress(ValueError):  # of a node with inputs that do not fit
            if Network(network.input, nodes).shapes[name] == given:
                return f"{suspect.name} gives another shape, as with {words}"
    return f"{' or '.join(each.name for each in suspects) or name} gives another shape"


def _changes(nodes: list[Node], given: Shape) -> Iterator[tuple[Node, str, Node]]:
    """Yields nodes with one option changed, the most frequent fault first."""
    for option, tried in TRIED.items():
        for node in nodes:
            for value in given[:1] if option == "outputs" else tried:
                if value != (right := node.options.get(option, value)):
                    yield (
                        node,
                        f"{option} {value}, not {right}",
                        replace(node, options={**node.options, option: value}),
                    )
