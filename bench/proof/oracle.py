"""The float64 reference network: every node in order, and the gradients in reverse.

Forced, every neuron passes on the framework's spikes, so that each node is judged on the
framework's own inputs. It also lets a large network be computed in parts: values between neurons
are dropped, and computed again for the gradients.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from snnbench.kernels.spec import NeuronSpec, decay_by_parameter, decay_of

from ..core.contract import Parameters, Statistics
from ..core.network import INPUT, Network, Node
from .layers import LAYERS, Arrays, Gradient, LazyProduct, Pull, Value, parts, statistics
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
HELD, ONE_ITEM, MOST_HELD = 42, 160, 2**34
"""Bytes that a lean run and the judging of it hold for each value of a node, and for each value of
one of its items: temporary arrays have a part of the items; and most bytes of a run."""


def is_large(network: Network, time_steps: int, batch: int) -> bool:
    """Tells if a proof of this size takes fewer steps and items; a chain's proof has few values."""
    return sum(_sizes(network, time_steps, batch)) > LARGE and not is_chain(network)


def is_lean(network: Network, time_steps: int, batch: int) -> bool:
    """Tells if a run of this size is lean."""
    return sum(_sizes(network, time_steps, batch)) > LEAN and not is_chain(network)


def refusal(network: Network, time_steps: int, batch: int) -> str | None:
    """Returns the reason why timed calls of this size cannot be judged, or None."""
    held, kept = 0.0, 0
    for name, size in zip(network.shapes, _sizes(network, time_steps, batch), strict=True):
        held = max(held, kept + (HELD + ONE_ITEM / batch) * size)
        kept += 8 * size * (name != INPUT and _is_kept(network, name))
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
            read = [name for name in node.inputs if last_reader[name] == node.name]
            _forget(network, result, node, read)
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
    some, by_potentials = (
        _SomeItems(result, node, own, x, spikes, contrary),
        node.options["potentials"],
    )
    v, expected = np.empty_like(x), np.empty_like(x)
    for items in parts(x):
        v[:, items], expected[:, items], _ = some.run(items)
    s = expected if spikes is None else spikes.astype(x.dtype)
    result.potentials[node.name], result.expected[node.name], result.spikes[node.name] = (
        v,
        expected,
        s,
    )
    if not result.lean:
        some.held = v, s
    return v + risen(some.spec, s) if by_potentials else s, some.pull


class _SomeItems:
    """A neuron on some of its items at once. Potentials and spikes are computed again for its
    gradients unless they are `held`."""

    def __init__(
        self,
        result: Run,
        node: Node,
        own: Arrays,
        x: np.ndarray,
        spikes: np.ndarray | None,
        contrary: float | None = None,
    ) -> None:
        self.node, self.own, self.x = node, own, x
        self.spikes, self.contrary = spikes, contrary
        # Not the run itself: its memory would be freed late, with the next collection of cycles.
        self.arithmetic, self.spread = result.arithmetic, result.spread
        self.wider = result.wider.get(node.name, 0.0)
        self.spec: NeuronSpec = spec_of(node.options["neuron"])
        self.held: tuple[np.ndarray, np.ndarray] | None = None
        decay = (
            decay_of(self.spec, float(own["decay"][0]), np) if "decay" in own else self.spec.decay
        )
        for _ in range(OPERATIONS_OF_DECAY if "decay" in own else 1):
            decay = result.arithmetic.number(float(decay))
        self.decay = decay

    def run(self, items: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns potentials, the spikes that they call for, and those that are passed on."""
        arithmetic, spikes = self.arithmetic, self.spikes
        given = None if spikes is None else spikes[:, items].astype(self.x.dtype)
        v, expected = run(
            self.spec,
            arithmetic.array(self.x[:, items]),
            given,
            self.own.get("recurrent"),
            self.contrary,
            self.decay,
            arithmetic,
        )
        return v, expected, expected if given is None else given

    def pull(self, gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        own, by_x, by_own = self.own, np.empty_like(self.x), dict[str, np.ndarray]()
        squares = 0.0
        for items in parts(self.x):
            if self.held:
                v, s = (array[:, items] for array in self.held)
            else:
                v, _, s = self.run(items)
            by_x[:, items] = part = self._backward(v, s, gradient[:, items])
            if "recurrent" in own:
                by_recurrent = np.tensordot(part[1:], s[:-1], axes=([0, 1], [0, 1]))
                by_own["recurrent"] = by_own.get("recurrent", 0) + by_recurrent
            if "decay" in own:
                factor = decay_by_parameter(self.spec, self.decay)
                sums = factor * by_decay(self.spec, v, s, part)
                by_own["decay"] = by_own.get("decay", 0) + sums.sum().reshape(1)
                squares += float(np.square(sums).sum())
        if "decay" in own:
            self.spread[self.node.name] = squares**0.5
        return by_own, by_x

    def _backward(self, v: np.ndarray, s: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        spec, arithmetic = self.spec, self.arithmetic
        above = v if arithmetic is EXACT else arithmetic.step(v - spec.threshold) + spec.threshold
        slope = slope_of(spec, above, self.wider)
        return run_backward(
            spec,
            v,
            s,
            gradient,
            self.own.get("recurrent"),
            self.node.options["potentials"],
            arithmetic.slope(spec, slope),
            decay=self.decay,
            arithmetic=arithmetic,
        )


def backward(network: Network, result: Run, upstream: np.ndarray) -> Expected:
    """Returns the gradients of `Σ output·upstream` in float64, for a run of `network`: by the
    parameters, by node and name, and by the input."""
    by_value: dict[str, Value] = {network.output.name: upstream.astype(result.arithmetic.dtype)}
    by_parameter: dict[str, Gradient] = {}
    for node in reversed(network.nodes):
        if node.name not in result.pulls:
            _again(network, result, node)
        if result.lean and node != network.output:  # the loss is judged behind the gradients
            result.values.pop(node.name, None)
        own, gradient = result.pulls[node.name](_rounded(result, whole(by_value.pop(node.name))))
        by_parameter[node.name] = {
            name: whole(own[name]) if result.lean else own[name]
            for name in network.parameters.get(node.name, {})
        }
        for name, part in zip(
            node.inputs, gradient if isinstance(gradient, tuple) else (gradient,), strict=True
        ):
            by_value[name] = whole(by_value[name]) + whole(part) if name in by_value else part
        del own, gradient, part
        if result.lean:
            for arrays in (result.pulls, result.potentials, result.expected, result.spikes):
                arrays.pop(node.name, None)
    return {name: by_parameter[name] for name in network.parameters}, by_value[INPUT]


def _rounded(result: Run, gradient: np.ndarray) -> np.ndarray:
    if result.arithmetic is EXACT:
        return gradient
    rounded: np.ndarray = np.empty(gradient.shape, result.arithmetic.dtype)
    for items in parts(gradient):
        rounded[:, items] = result.arithmetic.array(gradient[:, items])
    return rounded


def _again(network: Network, result: Run, node: Node) -> None:
    """Computes a node and its dropped inputs again; spikes are the forced ones."""
    for before in (network.node(name) for name in node.inputs if name not in result.values):
        if before.kind == "neuron" and not before.options["potentials"]:
            spikes = result.forced[before.name]
            result.values[before.name] = spikes.astype(result.arithmetic.dtype)
        else:
            _again(network, result, before)
    own, forced = exact(result.parameters, node, result.arithmetic), result.forced.get(node.name)
    if node.kind == "neuron" and not node.options["potentials"]:
        x = result.values[node.inputs[0]]
        result.pulls[node.name] = _SomeItems(result, node, own, x, forced).pull
    else:
        compute(result, node, own, forced)


def whole(value: Value) -> np.ndarray:
    return value.whole() if isinstance(value, LazyProduct) else value
