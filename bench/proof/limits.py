"""How far a right network may be from the oracle: for chains of layers and for networks, by precision.

The rules were tried on 82 constructions of layers and 48 of networks before they were written down. In fp32 they prove structure
*and* constants; in the short formats they prove structure only, which is why a construction must pass in fp32 first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod, sqrt

from snnbench.adapters.base.case import Case
from snnbench.adapters.base.contract import FixedPoint
from snnbench.adapters.base.network import INPUT, Network
from snnbench.kernels.spec import NeuronSpec

from .problem import is_chain, scaled_nodes
from .recurrence import spec_of


@dataclass(frozen=True)
class Limits:
    """The most that may differ: share of decisions, their distance to a threshold, relative L2 errors of gradients.

    `gradient` is also the limit of values that are no spikes.
    """

    decisions: float
    distance: float
    gradient: float
    bias_gradient: float


LimitsByNode = Mapping[str, Limits]
"""Limits of every node and of the input."""


def memory_of(spec: NeuronSpec, time_steps: int) -> float:
    """How much longer than at the canonical decay, where it is 2.9, a membrane remembers its rounding; at least 1."""
    memory = time_steps if spec.decay == 1 else min(time_steps, 1 / (1 - spec.decay**2))
    return max(1.0, sqrt(memory) / 2.9)


def band(spec: NeuronSpec, inputs: int, time_steps: int) -> float:
    """How far from a threshold rounding to float32 can move a potential that sums `inputs` products a step."""
    return 1e-5 * spec.threshold * max(1.0, sqrt(inputs / 512)) * memory_of(spec, time_steps)


def limits(precision: str, spec: NeuronSpec, inputs: int, time_steps: int, batch: int, layers: int = 1) -> Limits:
    """Limits for a chain of `layers` with `inputs` inputs each.

    Rounding grows with the root of the number of summed products and with the membrane's memory.
    """
    distance = band(spec, inputs, time_steps)
    gradient = 1e-5 * max(1.0, sqrt(max(inputs, time_steps * batch) / 16384)) * memory_of(spec, time_steps)
    exact = Limits(1e-4, distance, gradient, gradient)
    return exact if precision == "fp32" else _short(precision, spec, distance, layers)


def _short(precision: str, spec: NeuronSpec, distance: float, layers: int) -> Limits:
    """In short formats the rounding of every layer above enters a gradient: 0.018 in one layer and 0.042 in two were seen of
    right networks in bf16."""
    stack = sqrt(layers)
    return {
        "tf32": Limits(1e-4, 2 * distance, 1e-3 * stack, 1e-3 * stack),
        "fp16": Limits(2e-3, 0.02 * spec.threshold, 6e-3 * stack, 1e-2 * stack),
        "bf16": Limits(8e-3, 0.15 * spec.threshold, 0.04 * stack, 0.06 * stack),
        "amp-bf16": Limits(8e-3, 0.15 * spec.threshold, 0.04 * stack, 0.06 * stack),
    }[precision]


def limits_of(case: Case, network: Network, fixed: FixedPoint | None = None) -> LimitsByNode:
    """The limits of a case by node; those of a chain are the same everywhere. `fixed` adds what a construction in fixed point
    states of itself."""
    in_format = _limits(case, network, case.precision)
    if fixed is None:
        return in_format
    most = _limits(case, network, "bf16")
    return {name: _widened(own, fixed, most[name]) for name, own in in_format.items()}


def _widened(own: Limits, fixed: FixedPoint, most: Limits) -> Limits:
    return Limits(
        min(own.decisions + fixed.decisions, most.decisions),
        min(own.distance + fixed.distance, most.distance),
        min(own.gradient + fixed.gradient, most.gradient),
        min(own.bias_gradient + fixed.gradient, most.bias_gradient),
    )


def _limits(case: Case, network: Network, precision: str) -> dict[str, Limits]:
    specs = {name: spec_of(network.node(name).options["neuron"]) for name in network.neurons}
    if not is_chain(network):
        return {name: _of_node(case, network, specs, name, precision) for name in network.shapes}
    inputs = max(summed(network, name) for name in network.neurons)
    every = (limits(precision, spec, inputs, case.time_steps, case.batch, len(specs)) for spec in specs.values())
    same = max(every, key=lambda one: (one.distance, one.gradient))
    return dict.fromkeys(network.shapes, same)


def _of_node(case: Case, network: Network, specs: Mapping[str, NeuronSpec], name: str, precision: str) -> Limits:
    """Errors grow with the root of the values that a gradient is summed over, and of the neurons that it passes."""
    features = network.shapes[name]
    steps = network.steps(name, case.time_steps)
    memory = max((memory_of(spec, case.time_steps) for spec in specs.values()), default=1.0)
    summed_over = steps * case.batch * prod(features[1:])
    gradient = 2e-5 * max(1.0, sqrt(summed_over / 16384)) * max(1.0, sqrt(len(specs) / 8)) * memory
    if not (spec := specs.get(name)):
        distance, decisions, spec = 0.0, 0.0, NeuronSpec()
    else:
        distance = band(spec, summed(network, name), case.time_steps)
        decisions = max(1e-4, 1 / (steps * case.batch * prod(features)))  # one decision of a small network is more
    exact = Limits(decisions, distance, gradient, gradient)
    return exact if precision == "fp32" else _short(precision, spec, distance, len(specs))


def summed(network: Network, neuron: str) -> int:
    """Products that are summed into one current of a neuron; 1 where currents are given."""
    counts = [1]
    for name in scaled_nodes(network, neuron) - {INPUT}:
        for node in (name, *(network.node(name).inputs if network.node(name).kind == "norm" else ())):
            shapes = network.parameters.get(node, {})
            counts += [prod(shape[1:]) for shape in shapes.values()]
    return max(counts)
