"""The float64 network that frameworks are held against: every node in order, and the gradients in reverse.

Forced, every neuron hands the framework's spikes on, so that each node is judged on what the framework itself gave it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from snnbench.adapters.base.contract import Parameters
from snnbench.adapters.base.network import INPUT, Network, Node

from .layers import LAYERS, Arrays, Gradient, Product, Pull, Value, statistics
from .recurrence import run, run_backward, spec_of

Spikes = Mapping[str, np.ndarray]
"""Spikes (T, B, *features) by neuron."""
Expected = tuple[dict[str, Gradient], Value]
"""Gradients by the parameters, by node and name, and by the input."""


@dataclass
class Run:
    """What one run of a network gave, float64, by node: values (the input's among them) and how gradients go back through it;
    of neurons, the potentials before the spike and the spikes that they call for; of norms, mean and unbiased variance."""

    values: dict[str, np.ndarray] = field(default_factory=dict)
    pulls: dict[str, Pull] = field(default_factory=dict)
    potentials: dict[str, np.ndarray] = field(default_factory=dict)
    expected: dict[str, np.ndarray] = field(default_factory=dict)
    spikes: dict[str, np.ndarray] = field(default_factory=dict)
    statistics: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)


def forward(
    network: Network,
    parameters: Parameters,
    x: np.ndarray,
    spikes: Spikes | None = None,
    contrary: Mapping[str, float] | None = None,
) -> Run:
    """Run `network` on x (T, B, *features); forced on `spikes`, those of every neuron, if given. `contrary`: how near to a
    threshold a neuron's decisions go the other way."""
    result = Run({INPUT: x.astype(np.float64)})
    for node in network.nodes:
        forced = None if spikes is None else spikes.get(node.name)
        compute(result, node, exact(parameters, node), forced, (contrary or {}).get(node.name))
    return result


def exact(parameters: Parameters, node: Node) -> Arrays:
    """The parameters of a node in float64."""
    return {name: array.astype(np.float64) for name, array in parameters.get(node.name, {}).items()}


def compute(result: Run, node: Node, own: Arrays, spikes: np.ndarray | None = None, contrary: float | None = None) -> None:
    """Add to `result` the value of a node whose inputs it has; a neuron is forced on `spikes`, or `contrary`, if given."""
    inputs = [result.values[name] for name in node.inputs]
    if node.kind == "norm":
        result.statistics[node.name] = statistics(*inputs)
    if node.kind == "neuron":
        value, pull = _neuron(result, node, own, inputs[0], spikes, contrary)
    else:
        value, pull = LAYERS[node.kind](node.options, own, *inputs)
    result.values[node.name], result.pulls[node.name] = value, pull


def _neuron(
    result: Run, node: Node, own: Arrays, x: np.ndarray, spikes: np.ndarray | None, contrary: float | None
) -> tuple[np.ndarray, Pull]:
    spec, recurrent, by_potentials = spec_of(node.options["neuron"]), own.get("recurrent"), node.options["potentials"]
    given = None if spikes is None else spikes.astype(np.float64)
    v, expected = run(spec, x, given, recurrent, contrary)
    s = expected if given is None else given
    result.potentials[node.name], result.expected[node.name], result.spikes[node.name] = v, expected, s

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        gradient = run_backward(spec, v, s, gradient, recurrent, by_potentials)
        return {} if recurrent is None else {"recurrent": np.tensordot(gradient[1:], s[:-1], axes=([0, 1], [0, 1]))}, gradient

    return v if by_potentials else s, pull


def backward(network: Network, result: Run, upstream: np.ndarray) -> Expected:
    """Gradients of `Σ output·upstream` in float64, for a run of `network`: by the parameters, by node and name, and the input."""
    by_value: dict[str, Value] = {network.output.name: upstream.astype(np.float64)}
    by_parameter: dict[str, Gradient] = {}
    for node in reversed(network.nodes):
        own, gradient = result.pulls[node.name](whole(by_value.pop(node.name)))
        by_parameter[node.name] = {name: own[name] for name in network.parameters.get(node.name, {})}
        for name in node.inputs:
            by_value[name] = whole(by_value[name]) + whole(gradient) if name in by_value else gradient
    return {name: by_parameter[name] for name in network.parameters}, by_value[INPUT]


def whole(value: Value) -> np.ndarray:
    return value.whole() if isinstance(value, Product) else value
