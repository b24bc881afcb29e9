"""Which node of a network gives its value another shape, where the spikes of the neuron behind it have one."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import prod

from snnbench.adapters.base.network import Network, Node, Shape

from .values import between

TRIED = {"outputs": range(0), "padding": range(6), "stride": range(1, 5), "kernel": range(1, 12)}
"""Options, each with the values that a node may have instead; of outputs, as many as were given."""


def shape_fault(network: Network, neuron: str, given: Shape) -> str | None:
    """The node that makes features `given` of a neuron, whose neurons before are right, and what explains them. None where the
    neuron's own values stand in another order."""
    if prod(given) == prod(network.shapes[neuron]):
        return None
    for reader in network.readers[neuron]:
        if network.shapes[reader.name] == given:
            return f"{reader.name} stands in front of {neuron}"
    suspects = [node for node in between(network, network.node(neuron).inputs[0]) if node.options.keys() & {"outputs", "kernel"}]
    for node, words, other in _changes(suspects, given):
        nodes = tuple(other if each is node else each for each in network.up_to(neuron).nodes)
        with suppress(ValueError):  # of a node whose inputs do not fit
            if Network(network.input, nodes).shapes[neuron] == given:
                return f"{node.name} gives another shape, as with {words}"
    return f"{' or '.join(node.name for node in suspects) or neuron} gives another shape"


def _changes(nodes: list[Node], given: Shape) -> Iterator[tuple[Node, str, Node]]:
    """Nodes with one option changed, what happens most often first."""
    for option, tried in TRIED.items():
        for node in nodes:
            for value in given[:1] if option == "outputs" else tried:
                if value != (right := node.options.get(option, value)):
                    yield node, f"{option} {value}, not {right}", replace(node, options={**node.options, option: value})
