"""The numbers of a case, the same for every framework: parameters, two inputs, upstream gradient.
Seeded; NumPy only.

Weights are `z/√inputs` and biases `0.05·z'`, z standard normal, times a gain that makes the neuron
behind them fire at 15 % (see `calibration.py`). The mean is zero on purpose: with a positive mean
hardly a potential passes twice the threshold, and neurons that fire several spikes a step could not
be told apart. A norm's weight is `1 + 0.2·z` and its bias `0.1·z'`, likewise scaled.
Beside a shortcut biases are lowered, see `lowered_nodes`.
"""

import hashlib
import json
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from snnbench.kernels.spec import NEURONS, parameter_of_decay

from ..core.case import SPIKE_SHARE, Case
from ..core.contract import Parameters, Statistics
from ..core.network import INPUT, Network
from ..core.rolling import all_rolled, rolled
from ..measure.phases import Draw
from ..workloads import workload_of
from .recurrence import spec_of
from .rounding import round_to

NUMBERS = 2
"""Version of the numbers: a change invalidates the files of earlier versions."""

EVENT_SHARE = 0.03

# Streams of random numbers, so that e.g. another batch size leaves the weights alone.
WEIGHT, BIAS, ONE_INPUT, OTHER_INPUT, UPSTREAM = range(5)


@dataclass(frozen=True)
class Gains:
    """How a problem's parameters are scaled: by neuron, the factor on those that make its currents
    and, of seeded recurrent weights that are halved besides, how many times."""

    factors: dict[str, float]
    halvings: dict[str, int] = field(default_factory=dict)


@dataclass
class Problem:
    """A network with float32 arrays: parameters by node and name, inputs (T, B, *features),
    upstream of the output's shape. `input_grad`: the gradient of the input is required. With a
    `loss`, upstream are its labels (B,) instead; an `optimizer` moves the parameters in a step.
    `statistics` are the running ones of an inference; training starts at mean 0 and variance 1.
    `precision`: that of the framework, to which all arrays are rounded."""

    network: Network
    parameters: Parameters
    input: np.ndarray
    other_input: np.ndarray
    upstream: np.ndarray
    input_grad: bool = True
    loss: str | None = None
    optimizer: str | None = None
    statistics: Statistics = field(default_factory=dict)
    precision: str = "fp32"

    @property
    def last(self) -> str:
        """The last neuron: every call returns its spikes."""
        return self.network.neurons[-1]

    def shape(self, node: str) -> tuple[int, ...]:
        """Shape (T, B, *features) of a node's value."""
        steps, batch = self.input.shape[:2]
        return (self.network.steps(node, steps), batch, *self.network.shapes[node])


def drawn(problem: Problem, draw: Draw) -> Problem:
    """Returns `problem` with the values of one timed call, to the bit."""
    x = rolled((problem.input, problem.other_input)[draw.source], draw.turn)
    parameters, statistics = (
        all_rolled(arrays, draw.parameters) for arrays in (problem.parameters, problem.statistics)
    )
    upstream = rolled(problem.upstream, draw.upstream)
    return replace(
        problem, parameters=parameters, statistics=statistics, input=x, upstream=upstream
    )


def in_inference(problem: Problem) -> Problem:
    """Returns `problem` with norms that use their running statistics, as parameters beside theirs:
    the oracle then computes an inference."""
    parameters = {
        node: {**arrays, **problem.statistics.get(node, {})}
        for node, arrays in problem.parameters.items()
    }
    return replace(problem, parameters=parameters)


def alone(
    problem: Problem, neuron: str, x: np.ndarray, other: np.ndarray, rows: np.ndarray | None = None
) -> Problem:
    """Returns one neuron as a network of its own on the inputs x and other, with the linear
    before it, cut to its features `rows`. Without a linear the inputs are its currents (T, B,
    N), all features in one row. The upstream gradient has a meaning only if the whole network is
    no more than this."""
    network, node = problem.network, problem.network.node(neuron)
    count = prod(network.shapes[neuron])
    rows = np.arange(count) if rows is None else rows
    simple = replace(
        node, inputs=(INPUT,), options={**node.options, "recurrent": False, "potentials": False}
    )
    upstream = (
        problem.upstream[:, :, rows]
        if problem.upstream.shape == (*x.shape[:2], count)
        else problem.upstream
    )
    linear = network.only_before(neuron, "linear")
    decay = {
        name: array for name, array in problem.parameters.get(neuron, {}).items() if name == "decay"
    }
    parameters = {neuron: decay} if decay else {}
    if linear is None:
        one = Network((len(rows),), (simple,))
        x, other = x[:, :, rows], other[:, :, rows]
        return Problem(one, parameters, x, other, upstream, precision=problem.precision)
    parameters = {
        linear.name: {name: array[rows] for name, array in problem.parameters[linear.name].items()},
        **parameters,
    }
    cut = replace(linear, inputs=(INPUT,), options={**linear.options, "outputs": len(rows)})
    nodes = (cut, replace(simple, inputs=(linear.name,)))
    one = Network(x.shape[2:], nodes)
    return Problem(one, parameters, x, other, upstream, precision=problem.precision)


def is_chain(network: Network) -> bool:
    """Tells if the network is a chain of layers: each a neuron that outputs spikes, behind a
    linear or not."""
    names, layers = (
        [node.name for node in network.nodes],
        {*network.neurons, *dict(network.neurons_behind("linear"))},
    )
    stateless = not any(
        node.options.get("recurrent") or node.options.get("potentials") for node in network.nodes
    )
    in_a_row = all(
        node.inputs == (before,)
        for node, before in zip(network.nodes, [INPUT, *names], strict=False)
    )
    return stateless and in_a_row and layers == set(names)


def is_single_layer(network: Network) -> bool:
    """Tells if the network is a chain of one layer."""
    return is_chain(network) and len(network.neurons) == 1


def places(network: Network) -> dict[str, str]:
    """Names nodes in sentences: by their name, or not at all in a network of one layer."""
    single = is_single_layer(network)
    return {node.name: "" if single else node.name for node in network.nodes}


def problem_case(case: Case) -> Case:
    """Returns the case that all cases with the same numbers share: without its framework, variant
    and device."""
    return replace(case, framework="any", construction="default", mode="eager", device="cpu")


def problem_id(case: Case) -> str:
    """Hash of all that a free run depends on: the same for every framework, device and mode."""
    beside = ("framework", "construction", "mode", "device", "input_grad", "parallel", "ranks")
    values = {key: value for key, value in case.as_dict().items() if key not in beside}
    values |= {
        "neuron": (NEURONS["soft"] if case.native else case.spec).as_dict(),
        "numbers": NUMBERS,
    }
    network = workload_of(case).network(case).bare()
    if network.has_norms:
        values["statistics"] = "running"
    if any(lowered_nodes(network, name, scaled_nodes(network, name)) for name in network.neurons):
        values["beside shortcuts"] = "lowered"
    if not all(scaled_nodes(network, name) for name in network.neurons):
        values["before neurons without weights"] = "halved"
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def generate(case: Case, network: Network, gains: Gains) -> Problem:
    """Returns the problem of `case` with the gains from `calibrate`."""
    precision, scales = case.precision, dict[str, float]()  # by node, and for INPUT
    lowered = dict[str, float]()
    for neuron in network.neurons:
        scaled = scaled_nodes(network, neuron) - scales.keys()
        scales |= dict.fromkeys(scaled, gains.factors[neuron])
        lowered |= lowered_nodes(network, neuron, scaled)
    inputs = [
        np.float32(scales.get(INPUT, 1.0)) * draw_input(case, network, stream)
        for stream in (ONE_INPUT, OTHER_INPUT)
    ]
    parameters: Parameters = {}
    for name in network.parameters:
        by_key = {"recurrent": np.float32(0.5 ** gains.halvings.get(name, 0))}
        less = {"bias": np.float32(lowered.get(name, 0.0))}
        scale = np.float32(scales.get(name, 1.0))
        parameters[name] = {
            key: round_to(
                array * (scale if key != "delay" else 1) * by_key.get(key, 1) - less.get(key, 0),
                precision,
            )
            for key, array in draw_parameters(case, network, name).items()
        }
    output = network.output.name
    shape = (network.steps(output, case.time_steps), case.batch, *network.shapes[output])
    random = _random(case, UPSTREAM)
    if case.loss is None:
        upstream = round_to(random.standard_normal(shape, dtype=np.float32), precision)
    else:
        upstream = random.integers(0, shape[-1], case.batch)
    first, second = (round_to(x, precision) for x in inputs)
    return Problem(
        network,
        parameters,
        first,
        second,
        upstream,
        case.input_grad,
        case.loss,
        case.optimizer,
        precision=precision,
    )


def scaled_nodes(network: Network, neuron: str) -> set[str]:
    """Returns the nodes that scale a neuron's currents: the last ones with parameters on every
    way to it through no other neuron, itself if it is recurrent, and INPUT if nothing stands
    between."""
    node = network.node(neuron)
    scaled = {neuron} if node.options["recurrent"] else set()
    if node.inputs == (INPUT,):
        return scaled | {INPUT}
    return scaled | ({*_sources(network, neuron)} & network.parameters.keys() - {*network.neurons})


def lowered_nodes(network: Network, neuron: str, scaled: set[str]) -> dict[str, float]:
    """Returns the nodes of `scaled` with a seeded bias, each with the amount by which it is lowered
    so that a spike which reaches the neuron past all weights, as on a shortcut, brings it half-way
    to its threshold. Nothing where such a spike does not pass the threshold by itself: neurons that
    only repeat their shortcut would hide what the weights do."""
    node, threshold = network.node, spec_of(network.node(neuron).options["neuron"]).threshold
    spikes = sum(
        name in network.neurons and not node(name).options["potentials"]
        for name in _sources(network, neuron)
    )
    biased = [
        name for name in scaled - network.given.keys() if "bias" in network.parameters.get(name, {})
    ]
    if spikes <= threshold or not biased:
        return {}
    return dict.fromkeys(biased, (spikes - threshold / 2) / len(biased))


def _sources(network: Network, neuron: str) -> list[str]:
    """Returns, for every way to a neuron, the last node that is the input, a neuron or has
    parameters."""
    sources, ways = list[str](), list(network.node(neuron).inputs)
    while ways:
        name = ways.pop()
        if name == INPUT or name in network.parameters or network.node(name).kind == "neuron":
            sources.append(name)
        else:
            ways += network.node(name).inputs
    return sources


def draw_parameters(case: Case, network: Network, name: str) -> dict[str, np.ndarray]:
    """Returns the parameters of a node before the gain: the network's own, or seeded ones."""
    index, kind = list(network.parameters).index(name), network.node(name).kind
    arrays = {key: array.astype(np.float32) for key, array in network.given.get(name, {}).items()}
    if arrays:
        return arrays
    for key, shape in network.parameters[name].items():
        if key == "decay":
            arrays[key] = np.full(
                shape, parameter_of_decay(network.node(name).options["neuron"]), np.float32
            )
            continue
        if key == "delay":
            most = network.node(name).options["most"] - 1
            arrays[key] = most * _random(case, BIAS, index).random(shape, dtype=np.float32)
            continue
        z = _random(case, BIAS if key == "bias" else WEIGHT, index).standard_normal(
            shape, dtype=np.float32
        )
        if kind == "norm":
            arrays[key] = np.float32(0.1) * z if key == "bias" else 1 + np.float32(0.2) * z
        elif key == "bias":
            arrays[key] = np.float32(0.05) * z
        else:
            arrays[key] = z / np.float32(np.sqrt(np.prod(shape[1:])))
    return arrays


def draw_input(case: Case, network: Network, stream: int) -> np.ndarray:
    """Draws an input: `spikes` are Bernoulli(0.3) or of the case's `firing`, `events`
    Bernoulli(0.03) as from event cameras, `rate` Bernoulli with a probability U(0,1) of each
    pixel; `dense` are U(0,1), `images` N(0,1) and the same at every step. Currents of a neuron
    are Gaussian, 0 where there is no spike."""
    random, shape = _random(case, stream), (case.time_steps, case.batch, *network.input)
    if case.input == "images":
        return np.repeat(
            random.standard_normal((1, *shape[1:]), dtype=np.float32), case.time_steps, axis=0
        )
    dense = random.random(shape, dtype=np.float32)
    if case.input == "rate":
        values = (dense < random.random((1, *shape[1:]), dtype=np.float32)).astype(np.float32)
    else:
        share = EVENT_SHARE if case.input == "events" else case.firing or SPIKE_SHARE
        values = dense if case.input == "dense" else (dense < share).astype(np.float32)
    if any(node.kind == "neuron" for node in network.readers[INPUT]):
        currents = random.standard_normal(shape, dtype=np.float32)
        return currents if case.input == "dense" else currents * values
    return values


def half_silent(x: np.ndarray) -> np.ndarray:
    """Returns x (T, B, *features) without the second half of its neurons or channels."""
    x = x.copy()
    x[:, :, (x.shape[2] + 1) // 2 :] = 0
    return x


def _random(case: Case, stream: int, layer: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([case.seed, stream, layer])))
