"""Gains that make every neuron of a problem fire at 15 %, found in float64 on at most 100 steps, 4
items and 512 neurons. A network that mixes time steps takes them all.

Neurons are calibrated in order, each with soft reset and its own decay and threshold, so that all
resets share the gains. Values that no later node needs are dropped, and large networks have half as
many items. A neuron without weights behind the last neurons, as one that sums their spikes over
tokens, has no gain: where it fires more than half of the time, those before it are calibrated to
half their rate.

The gradient of a recurrent neuron may grow from step to step: by 1.056 with a hard reset and 128
neurons, which float32 cannot hold after 1,650 steps. Its recurrent weights are then halved.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from snnbench.kernels.spec import NeuronSpec

from ..core.case import Case
from ..core.network import INPUT, Network, Node
from . import oracle
from .layers import LAYERS
from .problem import (
    ONE_INPUT,
    Gains,
    Problem,
    draw_input,
    draw_parameters,
    generate,
    lowered_nodes,
    problem_case,
    scaled_nodes,
)
from .recurrence import growth, run, spec_of

TARGET_RATE = 0.15
ROUNDED_COUNTS = 4
"""Factor on TARGET_RATE for a neuron that rounds, at most: its highest counts, and potentials above
them, must be seen."""
LEAST_KEPT, MOST_KEPT = 0.02, 0.5
"""Firing rates of a neuron at which the network's own parameters are kept unchanged."""
MOST_STEPS, MOST_ITEMS, MOST_NEURONS = 100, 4, 512
LEAST_SHARE = 1 / 8
"""Factor on TARGET_RATE at which neurons before one without weights are not lowered further."""
HALVED_FROM, MOST_HALVINGS = 1e4, 6
"""Factor over all time steps from which on a gradient that grows has its recurrent weights halved,
and how many times at most."""


def calibrate(
    case: Case,
    network: Network,
    keep: bool = False,
    shares: Mapping[str, float] = MappingProxyType({}),
) -> Gains:
    """Returns the gains of every neuron (see `scaled_nodes`). With `keep` a factor is 1 where the
    network's own parameters make the neuron fire at 2 to 50 %. `shares` are factors on
    TARGET_RATE."""
    last, gains, halved = network.neurons[-1], dict[str, float](), dict[str, int]()
    soft = _soft(network.up_to(last))
    parameters = {name: draw_parameters(case, network, name) for name in soft.parameters}
    steps = case.time_steps if any(n.kind == "mix_time" for n in network.nodes) else MOST_STEPS
    x = draw_input(case, network, ONE_INPUT)[:steps, :MOST_ITEMS]
    if oracle.is_lean(network, *x.shape[:2]):
        x = x[:, : MOST_ITEMS // 2]
    result = oracle.Run({INPUT: x.astype(np.float64)})
    settled: set[str] = set()
    needed_by = {
        name: index for index, node in enumerate(soft.nodes) for name in _needed(soft, node)
    }
    for index, node in enumerate(soft.nodes):
        parameters_of_node = {**oracle.exact(parameters, node)}
        if node.kind != "neuron":
            if node == soft.only_before(last, "linear"):  # only MOST_NEURONS of them are needed
                parameters_of_node = {
                    name: array[:MOST_NEURONS] for name, array in parameters_of_node.items()
                }
            oracle.compute(result, node, parameters_of_node)
            result.pulls.clear()  # which hold the weights in float64
            continue
        names = scaled_nodes(soft, node.name) - settled
        settled |= names
        scaled = {**dict.fromkeys(names, 0.0), **lowered_nodes(network, node.name, names)}
        rate = partial(_rate, soft, node, parameters_of_node, result, scaled)
        if not names and rate(1.0) > MOST_KEPT:
            before = {name for name in _needed(soft, node) if gains.get(name, 1.0) != 1.0}
            if before and min(shares.get(name, 1.0) for name in before) > LEAST_SHARE:
                halves = {name: shares.get(name, 1.0) / 2 for name in before}
                return calibrate(case, network, keep, {**shares, **halves})
        keeps = keep and names <= network.given.keys() and LEAST_KEPT <= rate(1.0) <= MOST_KEPT
        target = TARGET_RATE * full_count(node.options["neuron"]) * shares.get(node.name, 1.0)
        gains[node.name] = 1.0 if keeps else _gain(rate, target)
        if node.options["recurrent"] and node.name not in network.given:
            spec = network.node(node.name).options["neuron"]
            for halvings in range(1, MOST_HALVINGS + 1):
                gain = gains[node.name]
                currents = _scaled_values(soft, node, result, scaled, gain)[node.inputs[0]]
                grown = growth(spec, currents, gain * parameters_of_node["recurrent"])
                if grown <= HALVED_FROM ** (1 / case.time_steps):
                    break
                parameters_of_node["recurrent"] = parameters_of_node["recurrent"] / 2
                gains[node.name], halved[node.name] = _gain(rate, target), halvings
        if node.name != last:
            result.values |= _scaled_values(soft, node, result, scaled, gains[node.name])
            oracle.compute(
                result,
                node,
                {name: gains[node.name] * array for name, array in parameters_of_node.items()},
            )
            result.pulls.clear()
        result.values = {
            name: value for name, value in result.values.items() if needed_by.get(name, 0) > index
        }
    return Gains(gains, halved)


_CALIBRATED: dict[Case, tuple[Network, Gains]] = {}


def small_problem(case: Case, network: Network) -> Problem:
    """Returns the problem of a case at the small sizes and its network with seeded parameters. Its
    gains, which cases of all frameworks and sizes share, are computed once."""
    key = problem_case(case)
    if key not in _CALIBRATED or _CALIBRATED[key][0] != network:
        _CALIBRATED[key] = network, calibrate(key, network)
    return generate(case, network, _CALIBRATED[key][1])


def _needed(network: Network, node: Node) -> set[str]:
    """Returns the nodes that `node` reads; for a neuron back to the last ones with parameters."""
    needed, ways = set(node.inputs), list(node.inputs if node.kind == "neuron" else ())
    while ways:
        if not _is_given(network, name := ways.pop()):
            needed |= {*network.node(name).inputs}
            ways += network.node(name).inputs
    return needed


def _is_given(network: Network, name: str) -> bool:
    """Tells if a node's value is ready for a later neuron: a gain changes it by a factor, if at
    all."""
    return name == INPUT or name in network.parameters or network.node(name).kind == "neuron"


def full_count(spec: NeuronSpec) -> int:
    """Returns the spikes a step that a firing rate of 1 stands for."""
    return 1 if spec.rounding is None else min(spec.max_spikes, ROUNDED_COUNTS)


def _gain(rate: Callable[[float], float], target: float) -> float:
    """Bisection in log2 over [2⁻⁸, 2⁸], 16 halvings, for the gain at which the firing rate is
    `target`."""
    low, high = -8.0, 8.0
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (low, middle) if rate(2.0**middle) > target else (middle, high)
    return 2.0 ** ((low + high) / 2)


def _rate(
    network: Network,
    neuron: Node,
    own: oracle.Arrays,
    result: oracle.Run,
    scaled: Mapping[str, float],
    gain: float,
) -> float:
    currents = _scaled_values(network, neuron, result, scaled, gain)[neuron.inputs[0]]
    recurrent = gain * own["recurrent"] if own else None
    if currents.ndim == 3 and recurrent is None:
        currents = currents[..., :MOST_NEURONS]
    return float(run(neuron.options["neuron"], currents, recurrent=recurrent)[1].mean())


def _scaled_values(
    network: Network, neuron: Node, result: oracle.Run, scaled: Mapping[str, float], gain: float
) -> dict[str, np.ndarray]:
    """Returns the values on the way to a neuron, with those of the nodes `scaled` multiplied by
    the gain and lowered by their amounts."""
    values: dict[str, np.ndarray] = {}
    _settle(values, network, neuron.inputs[0], result, scaled, gain)
    return values


def _settle(
    values: dict[str, np.ndarray],
    network: Network,
    name: str,
    result: oracle.Run,
    scaled: Mapping[str, float],
    gain: float,
) -> np.ndarray:
    if name in scaled:
        values[name] = gain * result.values[name] - scaled[name]
    elif _is_given(network, name):
        values[name] = result.values[name]
    else:
        node = network.node(name)
        inputs = [_settle(values, network, before, result, scaled, gain) for before in node.inputs]
        values[name], _ = LAYERS[node.kind](node.options, {}, *inputs)
    return values[name]


def _soft(network: Network) -> Network:
    """Returns the same network, every neuron with soft reset and its initial decay."""

    def soft(node: Node) -> Node:
        spec = spec_of(node.options["neuron"])
        reset = "soft" if spec.decay else spec.reset  # without a memory it has no effect
        plain = replace(spec, reset=reset, learned_decay=None)
        return replace(node, options={**node.options, "neuron": plain})

    return Network(
        network.input,
        tuple(soft(node) if node.kind == "neuron" else node for node in network.nodes),
    )
