"""The float64 network that frameworks are held against: every node in order, and the gradients in reverse.

Free, the network runs on its own spikes. Forced, every neuron resets on the framework's spikes and hands those on, so that each
node is judged on what the framework itself gave it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from snnbench.adapters.base.contract import Parameters
from snnbench.adapters.base.network import INPUT, Network, Node

from .layers import LAYERS, Arrays, statistics
from .recurrence import run, run_backward, spec_of

Spikes = Mapping[str, np.ndarray]
"""Spikes (T, B, *features) by neuron."""


@dataclass
class Run:
    """What one run of a network gave, float64, by node: values (the input's among them) and, of neurons, the potentials
    before the spike and the spikes that they call for; of norms, mean and unbiased variance."""

    values: dict[str, np.ndarray] = field(default_factory=dict)
    potentials: dict[str, np.ndarray] = field(default_factory=dict)
    expected: dict[str, np.ndarray] = field(default_factory=dict)
    spikes: dict[str, np.ndarray] = field(default_factory=dict)
    statistics: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)


@dataclass
class Expected:
    """Gradients of a run: of the parameters by node and name, and of the input."""

    parameters: dict[str, dict[str, np.ndarray]]
    input: np.ndarray


def forward(network: Network, parameters: Parameters, x: np.ndarray, spikes: Spikes | None = None) -> Run:
    """Run `network` on x (T, B, *features); forced on `spikes`, those of every neuron, if given."""
    result = Run({INPUT: x.astype(np.float64)})
    for node in network.nodes:
        compute(result, node, exact(parameters, node), None if spikes is None else spikes.get(node.name))
    return result


def exact(parameters: Parameters, node: Node) -> Arrays:
    """The parameters of a node in float64."""
    return {name: array.astype(np.float64) for name, array in parameters.get(node.name, {}).items()}


def compute(result: Run, node: Node, own: Arrays, spikes: np.ndarray | None = None) -> None:
    """Add to `result` the value of a node whose inputs it has; a neuron is forced on `spikes` if given."""
    x = result.values[node.inputs[0]]
    if node.kind == "neuron":
        given = None if spikes is None else spikes.astype(np.float64)
        v, expected = run(spec_of(node.options["neuron"]), x, given, own.get("recurrent"))
        result.potentials[node.name], result.expected[node.name] = v, expected
        result.spikes[node.name] = expected if given is None else given
        result.values[node.name] = v if node.options["potentials"] else result.spikes[node.name]
    elif node.kind == "add":
        result.values[node.name] = x + result.values[node.inputs[1]]
    elif node.kind == "mean_time":
        result.values[node.name] = x.mean(axis=0, keepdims=True)
    else:
        rows = merged(x)
        if node.kind == "norm":
            result.statistics[node.name] = statistics(rows)
        value = LAYERS[node.kind].forward(node.options, own, rows)
        result.values[node.name] = value.reshape(*x.shape[:2], *value.shape[1:])


def merged(x: np.ndarray) -> np.ndarray:
    """(T, B, *features) as (T·B, *features)."""
    return x.reshape(-1, *x.shape[2:])


def backward(network: Network, parameters: Parameters, result: Run, upstream: np.ndarray) -> Expected:
    """Gradients of `Σ output·upstream` by the parameters and the input in float64, for a run of `network`."""
    by_value = {network.output.name: upstream.astype(np.float64)}
    by_parameter: dict[str, dict[str, np.ndarray]] = {}

    def add(name: str, gradient: np.ndarray) -> None:
        by_value[name] = by_value[name] + gradient if name in by_value else gradient

    for node in reversed(network.nodes):
        gradient, before, own = by_value.pop(node.name), node.inputs[0], exact(parameters, node)
        x = result.values[before]
        if node.kind == "neuron":
            spec, spikes, v = spec_of(node.options["neuron"]), result.spikes[node.name], result.potentials[node.name]
            gradient = run_backward(spec, v, spikes, gradient, own.get("recurrent"), node.options["potentials"])
            if own:
                by_parameter[node.name] = {"recurrent": np.tensordot(gradient[1:], spikes[:-1], axes=([0, 1], [0, 1]))}
        elif node.kind == "add":
            add(node.inputs[1], gradient)
        elif node.kind == "mean_time":
            gradient = np.broadcast_to(gradient / len(x), x.shape)
        else:
            gradients, rows = LAYERS[node.kind].backward(node.options, own, merged(x), merged(gradient))
            gradient = rows.reshape(x.shape)
            if own:
                by_parameter[node.name] = {name: gradients[name] for name in own}
        add(before, gradient)
    return Expected({name: by_parameter[name] for name in network.parameters}, by_value[INPUT])
