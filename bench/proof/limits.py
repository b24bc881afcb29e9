"""Allowed differences between a right network and the oracle, for chains of layers and for
networks, by precision.

The rules were tested on 82 constructions of layers and 48 of networks before they were written
down. In fp32 they prove structure *and* constants; in the short formats they prove structure only,
so that a construction must pass in fp32 first.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from math import prod, sqrt

from snnbench.kernels.spec import NeuronSpec

from ..core.case import Case
from ..core.contract import FixedPoint
from ..core.network import INPUT, Network
from .problem import is_chain, scaled_nodes
from .recurrence import spec_of


@dataclass(frozen=True)
class Limits:
    """Largest allowed differences: share of decisions, distance to a threshold, relative L2
    errors of gradients and other values."""

    decisions: float
    distance: float
    gradient: float
    bias_gradient: float


LimitsByNode = Mapping[str, Limits]
"""Limits of every node and of the input."""


def limits(
    precision: str,
    spec: NeuronSpec,
    inputs: int,
    summed_over: int,
    time_steps: int,
    neurons: int = 1,
) -> Limits:
    """Returns the limits of a neuron with `inputs` inputs, gradients summed over `summed_over`
    values that pass `neurons` neurons.

    Rounding grows with the root of the number of summed products and with the membrane's memory,
    which is 2.9 at the canonical decay, times that of a synaptic current. In short formats the
    rounding of every later neuron enters a gradient: right networks in bf16 showed 0.018 behind one
    and 0.042 behind two.
    """
    steps = time_steps if spec.decay == 1 else min(time_steps, 1 / (1 - spec.decay**2))
    synapse = (
        1.0
        if spec.current_decay is None
        else sqrt(min(time_steps, 1 / (1 - spec.current_decay**2)))
    )
    memory = max(1.0, sqrt(steps) / 2.9) * synapse
    distance = 1e-5 * spec.threshold * max(1.0, sqrt(inputs / 512)) * memory
    gradient = 1e-5 * max(1.0, sqrt(summed_over / 16384)) * memory
    more = sqrt(neurons)
    return {
        "fp32": Limits(1e-4, distance, gradient, gradient),
        "tf32": Limits(1e-4, 2 * distance, 1e-3 * more, 1e-3 * more),
        "fp16": Limits(2e-3, 0.02 * spec.threshold, 6e-3 * more, 1e-2 * more),
        "bf16": Limits(8e-3, 0.15 * spec.threshold, 0.04 * more, 0.06 * more),
        "amp-bf16": Limits(8e-3, 0.15 * spec.threshold, 0.04 * more, 0.06 * more),
    }[precision]


def limits_of(case: Case, network: Network, fixed: FixedPoint | None = None) -> LimitsByNode:
    """Returns the limits of a case by node; those of a chain are the same everywhere. `fixed`
    adds the stated errors of a construction in fixed point, up to the limits of bf16."""
    own = {name: _of_node(case, network, name, case.precision) for name in network.shapes}
    if fixed is None:
        return own
    added = (fixed.decisions, fixed.distance, fixed.gradient, fixed.gradient)
    widened = {}
    for name, limit in own.items():
        pairs = zip(
            astuple(limit), added, astuple(_of_node(case, network, name, "bf16")), strict=True
        )
        widened[name] = Limits(*(min(value + more, most) for value, more, most in pairs))
    return widened


def _of_node(case: Case, network: Network, name: str, precision: str) -> Limits:
    """Returns twice a layer's limits: errors of a norm and of an add join those of its layers."""
    steps, features = network.steps(name, case.time_steps), network.shapes[name]
    neuron = name if name in network.neurons else network.neurons[-1] if network.neurons else None
    spec = spec_of(network.node(neuron).options["neuron"]) if neuron else NeuronSpec()
    inputs, count = summed(network, neuron) if neuron else 1, len(network.neurons)
    chain = is_chain(network)
    if chain:
        inputs = max(summed(network, each) for each in network.neurons)
    over = max(inputs, steps * case.batch) if chain else steps * case.batch * prod(features[1:])
    own = limits(precision, spec, inputs, over, case.time_steps, count)
    # In a small case, one decision is more than the allowed share.
    one_decision = 1 / (steps * case.batch * prod(features))
    own = replace(own, decisions=max(own.decisions, one_decision))
    if chain or precision != "fp32":
        return own
    gradient = 2 * max(1.0, sqrt(count / 8)) * own.gradient
    return replace(own, gradient=gradient, bias_gradient=gradient)


def summed(network: Network, neuron: str) -> int:
    """Number of products that are summed into one current of a neuron; 1 for input currents."""
    counts = [1]
    for name in scaled_nodes(network, neuron) - {INPUT}:
        for node in (
            name,
            *(network.node(name).inputs if network.node(name).kind == "norm" else ()),
        ):
            shapes = network.parameters.get(node, {})
            counts += [prod(shape[1:]) for shape in shapes.values()]
    return max(counts)
