"""The float64 reference network: every node in order, and the gradients in reverse.

Forced, every neuron passes on the framework's spikes, so that each node is judged on the
framework's own inputs. It also lets a large network be computed in parts: values between neurons
are dropped, and computed again for the gradients.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from snnbench.kernels.spec import decay_by_parameter, decay_of

from ..core.contract import Parameters, Statistics
from ..core.network import INPUT, Network, Node
from .layers import LAYERS, Arrays, Gradient, LazyProduct, Pull, Value, statistics
from .problem import Problem, is_chain
from .recurrence import by_decay, risen, run, run_backward, slope_of, spec_of
from .rounding import EXACT, Exact

Spikes = Mapping[str, np.ndarray]
"""Spikes (T, B, *features) by neuron."""
Expected = tuple[dict[str, Gradient], Value]
"""Gradients by the parameters, by node and name, and by the input."""


@dataclass
class Run:
    """Float64 results of one run by node: values (with the input) and how gradients go back
    through it; of neurons, the potentials before the spike and the spikes that they call for; of
    norms in training, mean and unbiased variance. `lean`: most of it is dropped, and computed again
    from `parameters` and the spikes `forced` for gradients. `wider`: the widening, by neuron, of a
    surrogate's window that ends abruptly; by max_time, its `within` (see layers.py). `spread`: by
    neuron, the L2 norm of the terms of its learned decay's gradient, set by `backward`.
    `arithmetic`: not exact in a run that shows what a precision can do."""

    values: dict[str, np.ndarray] = field(default_factory=dict)
    parameters: Parameters = field(default_factory=dict)
    forced: Spikes = field(default_factory=dict)
    wider: Mapping[str, float] = field(default_factory=dict)
    lean: bool = False
    arithmetic: Exact = EXACT
    pulls: dict[str, Pull] = field(default_factory=dict)
    potentials: dict[str, np.ndarray] = field(default_factory=dict)
    expected: dict[str, np.ndarray] = field(default_factory=dict)
    spikes: dict[str, np.ndarray] = field(default_factory=dict)
    statistics: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    spread: dict[str, float] = field(default_factory=dict)


OPERATIONS_OF_DECAY = 3
"""Rounded operations from a parameter to its learned decay, as in 1 − 1/(1 + exp(−w))."""
LARGE, LEAN = 2**23, 2**25
"""Values over all nodes from which on a network, if it is no chain of layers, is proved at its
own width with fewer steps and items; and from which on a run of it is lean."""
HELD, MOST_HELD = 160, 2**34
"""Bytes that a lean run holds for each value of the largest node, all arrays of its part
together; and most bytes of a run."""


def is_large(network: Network, time_steps: int, batch: int) -> bool:
    """Tells if a proof of this size takes fewer steps and items; a chain's proof has few values."""
    return sum(_sizes(network, time_steps, batch)) > LARGE and not is_chain(network)


def is_lean(network: Network, time_steps: int, batch: int) -> bool:
    """Tells if a run of this size is lean."""
    return sum(_sizes(network, time_steps, batch)) > LEAN and not is_chain(network)


def refusal(network: Network, time_steps: int, batch: int) -> str | None:
    """Returns the reason why timed calls of this size cannot be judged, or None."""
    held = HELD * max(_sizes(network, time_steps, batch))
    if held <= MOST_HELD or is_chain(network):
        return None
    most = f"{held / 2**30:.0f} GiB to judge a call, at most {MOST_HELD / 2**30:.0f} are allowed"
    return f"the oracle would need about {most}: take fewer time steps, batch items or pixels"


def _sizes(network: Network, time_steps: int, batch: int) -> list[int]:
    return [
        network.steps(name, time_steps) * batch * prod(shape)
        for name, shape in network.shapes.items()
    ]


def forward(
    network: Network,
    parameters: Parameters,
    x: np.ndarray,
    spikes: Spikes | None = None,
    contrary: Mapping[str, float] | None = None,
    on_neuron: Callable[[Run, str], None] = lambda run, neuron: None,
    wider: Mapping[str, float] | None = None,
    on_node: Callable[[Run, Node], None] = lambda run, node: None,
    arithmetic: Exact = EXACT,
) -> Run:
    """Runs `network` on x (T, B, *features), forced on the `spikes` of every neuron if they are
    set. `contrary`: distance from a threshold within which a neuron's decisions are inverted.
    `on_neuron` is called for each neuron and `on_node` for each node, before a lean run drops their
    inputs. `wider` and `arithmetic`: see `Run`."""
    result = Run(
        {INPUT: x.astype(arithmetic.dtype)},
        parameters,
        spikes or {},
        wider or {},
        is_lean(network, *x.shape[:2]),
        arithmetic,
    )
    last_reader = {name: node.name for node in network.nodes for name in node.inputs}
    for node in network.nodes:
        compute(
            result,
            node,
            exact(parameters, node, arithmetic),
            result.forced.get(node.name),
            (contrary or {}).get(node.name),
        )
        if node.kind == "neuron":
            on_neuron(result, node.name)
        on_node(result, node)
        if result.lean:
            _forget(
                network,
                result,
                node,
                [name for name in node.inputs if last_reader[name] == node.name],
            )
    return result


def running_statistics(problem: Problem) -> Statistics:
    """Returns the running statistics of norms after much training on the problem's input: mean and
    unbiased variance (C,) of a free run in float32, by node."""
    if not problem.network.has_norms:
        return {}
    return in_float32(forward(problem.network, problem.parameters, problem.input).statistics)


def in_float32(statistics: Mapping[str, Arrays]) -> Statistics:
    return {
        node: {name: array.astype(np.float32) for name, array in arrays.items()}
        for node, arrays in statistics.items()
    }


def _forget(network: Network, result: Run, node: Node, read: list[str]) -> None:
    """Drops all of `node` but its value, unless it is the last neuron, and the values `read` for
    the last time. Sums of sums are kept: computing one again would take all of them."""
    del result.pulls[node.name]
    if node.name != network.neurons[-1]:
        for arrays in (result.potentials, result.expected, result.spikes):
            arrays.pop(node.name, None)
    for name in read:
        if name != INPUT and not _is_kept(network, name):
            del result.values[name]


def _is_kept(network: Network, name: str) -> bool:
    return network.node(name).kind == "add" and any(
        reader.kind != "neuron" for reader in network.readers[name]
    )


def exact(parameters: Parameters, node: Node, arithmetic: Exact = EXACT) -> Arrays:
    """The parameters of a node in float64, or rounded as the products with them in another
    arithmetic."""
    return {
        name: arithmetic.array(array.astype(arithmetic.dtype))
        for name, array in parameters.get(node.name, {}).items()
    }


def compute(
    result: Run,
    node: Node,
    own: Arrays,
    spikes: np.ndarray | None = None,
    contrary: float | None = None,
) -> None:
    """Adds the value of a node to `result`, which has its inputs; a neuron is forced on
    `spikes`, or `contrary`, if set."""
    inputs = [result.values[name] for name in node.inputs]
    if node.kind == "norm" and "mean" not in own:
        result.statistics[node.name] = statistics(*inputs)
    if node.kind == "neuron":
        value, pull = _neuron(result, node, own, inputs[0], spikes, contrary)
    else:
        options = node.options
        if node.kind == "max_time":
            options = {**options, "within": result.wider.get(node.name, 0.0)}
        elif node.kind == "integrator":
            options = {**options, "rounded": result.arithmetic.step}
        value, pull = LAYERS[node.kind](options, own, *inputs)
    result.values[node.name], result.pulls[node.name] = value, pull


def _neuron(
    result: Run,
    node: Node,
    own: Arrays,
    x: np.ndarray,
    spikes: np.ndarray | None,
    contrary: float | None,
) -> tuple[np.ndarray, Pull]:
    spec, recurrent, by_potentials = (
        spec_of(node.options["neuron"]),
        own.get("recurrent"),
        node.options["potentials"],
    )
    given = None if spikes is None else spikes.astype(x.dtype)
    decay = decay_of(spec, float(own["decay"][0]), np) if "decay" in own else spec.decay
    arithmetic = result.arithmetic
    for _ in range(OPERATIONS_OF_DECAY if "decay" in own else 1):
        decay = arithmetic.number(float(decay))
    v, expected = run(spec, arithmetic.array(x), given, recurrent, contrary, decay, arithmetic)
    s = expected if given is None else given
    result.potentials[node.name], result.expected[node.name], result.spikes[node.name] = (
        v,
        expected,
        s,
    )

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        above = v if arithmetic is EXACT else arithmetic.step(v - spec.threshold) + spec.threshold
        slope = slope_of(spec, above, result.wider.get(node.name, 0.0))
        slope = arithmetic.slope(spec, slope)
        gradient = run_backward(
            spec,
            v,
            s,
            gradient,
            recurrent,
            by_potentials,
            slope,
            decay=decay,
            arithmetic=arithmetic,
        )
        by_own: dict[str, np.ndarray] = {}
        if recurrent is not None:
            by_own["recurrent"] = np.tensordot(gradient[1:], s[:-1], axes=([0, 1], [0, 1]))
        if "decay" in own:
            sums = decay_by_parameter(spec, decay) * by_decay(spec, v, s, gradient)
            by_own["decay"], result.spread[node.name] = (
                sums.sum().reshape(1),
                float(np.linalg.norm(sums)),
            )
        return by_own, gradient

    return v + risen(spec, s) if by_potentials else s, pull


def backward(network: Network, result: Run, upstream: np.ndarray) -> Expected:
    """Returns the gradients of `Σ output·upstream` in float64, for a run of `network`: by the
    parameters, by node and name, and by the input."""
    dtype = result.arithmetic.dtype
    by_value: dict[str, Value] = {network.output.name: upstream.astype(dtype)}
    by_parameter: dict[str, Gradient] = {}
    for node in reversed(network.nodes):
        if node.name not in result.pulls:
            _again(network, result, node)
        incoming = result.arithmetic.array(whole(by_value.pop(node.name)))
        own, gradient = result.pulls[node.name](incoming)
        by_parameter[node.name] = {
            name: own[name] for name in network.parameters.get(node.name, {})
        }
        for name, part in zip(
            node.inputs, gradient if isinstance(gradient, tuple) else (gradient,), strict=True
        ):
            by_value[name] = whole(by_value[name]) + whole(part) if name in by_value else part
        if result.lean:
            _forget(network, result, node, [])
            result.values.pop(node.name, None)
    return {name: by_parameter[name] for name in network.parameters}, by_value[INPUT]


def _again(network: Network, result: Run, node: Node) -> None:
    """Computes a node and its dropped inputs again; spikes are the forced ones."""
    for before in (network.node(name) for name in node.inputs if name not in result.values):
        if before.kind == "neuron" and not before.options["potentials"]:
            spikes = result.forced[before.name]
            result.values[before.name] = spikes.astype(result.arithmetic.dtype)
        else:
            _again(network, result, before)
    own = exact(result.parameters, node, result.arithmetic)
    compute(result, node, own, result.forced.get(node.name))


def whole(value: Value) -> np.ndarray:
    return value.whole() if isinstance(value, LazyProduct) else value
