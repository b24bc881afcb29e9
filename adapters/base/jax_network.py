"""A `Network` as one pure JAX function: the adapter's neurons and layers, and `jax.lax` for the
rest, each layer once over all T·B items."""

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from snnbench.core.case import Case
from snnbench.core.network import INPUT, Network, Node, Shape
from snnbench.kernels.spec import NeuronSpec

Value = Any
"""A JAX array (T, B, *features)."""

NodeArrays = dict[str, Any]
"""The parameters of one node by name, or the running `mean` and `variance` (C,) of a norm."""


def local_moments(x: Value, axes: tuple[int, ...]) -> tuple[Value, Value, int]:
    """Returns mean and biased variance over `axes`, all but the channels, and the number of values
    per channel."""
    return x.mean(axes), x.var(axes), x.size // x.shape[2]


MOMENTS: ContextVar[Callable[..., tuple[Value, Value, int]]] = ContextVar(
    "MOMENTS", default=local_moments
)
"""The function by which norms take their statistics while they are traced. Devices that share a
batch set one over the whole batch."""


Part = tuple[Node, Node, Callable[..., Any]]
"""(node, source, function): a pure function (parameters of the source, its input values) → the
node's value. A neuron with potentials gives (spikes, value). The source is the linear where a
linear and its neuron are one, else the node."""


class JaxSpelling(Protocol):
    def scale_of(self, case: Case) -> float: ...
    def neuron_of(self, case: Case, node: Node, features: Shape) -> Callable[..., Any]: ...
    def layer(
        self, spec: NeuronSpec, inputs: int, outputs: int, bias: bool, construction: str
    ) -> Callable[..., Any]: ...
    def step(
        self, spec: NeuronSpec, features: Shape
    ) -> tuple[Callable[..., Any], Callable[..., Any]]: ...
    def scan(
        self, spec: NeuronSpec, features: Shape
    ) -> tuple[Callable[..., Any], Callable[..., Any]]: ...
    def loop(self, construction: str) -> Callable[..., Any]: ...


class JaxNetwork:
    def __init__(self, adapter: JaxSpelling, case: Case, network: Network, dtype: Any) -> None:
        self.adapter, self.case, self.network, self.dtype = adapter, case, network, dtype
        self.scale = adapter.scale_of(case)
        self.scaled_in_call = network.scaled_in_call(self.scale)
        self.parts = tuple(self._parts())

    def __call__(
        self,
        parameters: dict[str, NodeArrays],
        statistics: dict[str, NodeArrays],
        x: Value,
        parts: int | None = None,
        training: bool = True,
    ) -> tuple[Value, dict[str, Value], dict[str, NodeArrays]]:
        """Returns (value of the last node, or of the last of the first `parts`; spikes by neuron;
        running statistics after the call)."""
        values, statistics, chosen = {INPUT: x}, dict(statistics), self.parts[:parts]
        borders = self.go_through(chosen, parameters, values, statistics, training)
        return values[chosen[-1][0].name], borders, statistics

    def go_through(
        self,
        parts: Iterable[Part],
        parameters: dict[str, NodeArrays],
        values: dict[str, Value],
        statistics: dict[str, NodeArrays],
        training: bool = True,
    ) -> dict[str, Value]:
        """Returns the spikes by neuron of `parts`. Reads and extends `values`, and in training
        updates the running `statistics`; else norms use them."""
        borders: dict[str, Value] = {}
        for node, source, function in parts:
            own = parameters.get(source.name, {})
            if node.kind == "norm" and not training:
                own = {**own, **statistics[node.name]}
            value = function(own, *(self.cast(values[name]) for name in source.inputs))
            if node.kind == "neuron":
                borders[node.name], value = value if node.options["potentials"] else (value, value)
            elif node.kind == "norm" and training:
                (value, new), rate = value, node.options["momentum"]
                statistics[node.name] = {
                    key: (1 - rate) * running + rate * jax.lax.stop_gradient(new[key])
                    for key, running in statistics[node.name].items()
                }
            values[node.name] = value
        return borders

    def cast(self, value: Value) -> Value:
        """Some frameworks return float32 for any input. The cast is skipped where it does nothing:
        residuals are recognised by identity."""
        return value if value.dtype == self.dtype else value.astype(self.dtype)

    def _parts(self) -> Iterator[Part]:
        pairs = self.network.neurons_behind("linear")
        layers = {
            neuron: linear
            for linear, neuron in pairs
            if "decay" not in self.network.parameters.get(neuron, {})
        }
        for node in self.network.nodes:
            if node.name in layers:
                linear = self.network.node(layers[node.name])
                yield node, linear, self._layer(linear, node)
            elif node.name not in layers.values():
                yield (
                    node,
                    node,
                    self._neuron(node)
                    if node.kind == "neuron"
                    else OPERATIONS[node.kind](node.options),
                )

    def _layer(self, node: Node, neuron: Node) -> Callable[..., Any]:
        (inputs,), outputs, bias = (
            self.network.shapes[node.inputs[0]],
            node.options["outputs"],
            node.options["bias"],
        )
        if self.case.native:
            native = self.adapter.neuron_of(self.case, neuron, (outputs,))
            return lambda arrays, x: native(linear((arrays["weight"], arrays.get("bias")), x))
        layer = self.adapter.layer(
            neuron.options["neuron"], inputs, outputs, bias, self.case.construction
        )
        return lambda arrays, x: layer((arrays["weight"], arrays.get("bias")), x)

    def _neuron(self, node: Node) -> Callable[..., Any]:
        if node.options["recurrent"]:
            rest, scan = self.handed(node)
            return lambda arrays, x: scan(arrays, rest(x[0]), x)[1]
        scaled, neuron = (
            self._scaled(node),
            self.adapter.neuron_of(self.case, node, self.network.shapes[node.name]),
        )
        if "decay" in self.network.parameters.get(node.name, {}):
            return lambda arrays, x: neuron(arrays["decay"], scaled(x))
        return lambda arrays, x: neuron(scaled(x))

    def _scaled(self, node: Node) -> Callable[[Value], Value]:
        return (lambda x: self.scale * x) if node.name in self.scaled_in_call else (lambda x: x)

    def handed(self, node: Node) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Returns two functions of a neuron that takes and returns its state: from one step's
        currents to the state at rest, and (parameters, state, currents) → (final state, spikes)."""
        spec, features, scaled = (
            node.options["neuron"],
            self.network.shapes[node.name],
            self._scaled(node),
        )
        if node.options["recurrent"]:
            loop = self.adapter.loop(self.case.construction)
            rest, recurrent = _recurrent(*self.adapter.step(spec, features), loop)
            return rest, lambda arrays, state, x: recurrent(arrays["recurrent"], state, scaled(x))
        rest, scan = self.adapter.scan(spec, features)
        return rest, lambda arrays, state, x: scan(state, scaled(x), *arrays.values())


def linear(parameters: tuple[Value, Value | None], x: Value) -> Value:
    """Returns x · weightᵀ + bias. The product names its axes, so that backward keeps no transposed
    copy of the weight."""
    weight, bias = parameters
    currents = jax.lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))
    return currents if bias is None else currents + bias


def _recurrent(
    at_rest: Callable[..., Any], step: Callable[..., Any], loop: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def rest(current: Value) -> tuple[Any, Value]:
        return at_rest(current), jnp.zeros_like(current)

    def run(
        weight: Value, start: tuple[Any, Value], currents: Value
    ) -> tuple[tuple[Any, Value], Value]:
        def next_step(
            carried: tuple[Any, Value], current: Value
        ) -> tuple[tuple[Any, Value], Value]:
            state, spikes = carried
            state, spikes = step(state, current + linear((weight, None), spikes))
            spikes = spikes.astype(currents.dtype)
            return (state, spikes), spikes

        state, spikes = loop(next_step, start, currents)
        return state, spikes

    return rest, run


def _merged(function: Callable[[Value], Value], x: Value) -> Value:
    value = function(x.reshape(-1, *x.shape[2:]))
    return value.reshape(*x.shape[:2], *value.shape[1:])


def _conv(options: Any) -> Callable[..., Any]:
    stride, padding = (options["stride"],) * 2, [(options["padding"],) * 2] * 2

    def conv(arrays: NodeArrays, x: Value) -> Value:
        def once(items: Value) -> Value:
            axes = ("NCHW", "OIHW", "NCHW")
            value = jax.lax.conv_general_dilated(
                items,
                arrays["weight"],
                stride,
                padding,
                dimension_numbers=axes,
                feature_group_count=options["groups"],
            )
            return value + arrays["bias"][:, None, None] if "bias" in arrays else value

        return _merged(once, x)

    return conv


def _norm(options: Any) -> Callable[..., Any]:
    """Returns (normalised value, mean and unbiased variance by name); the value alone if the arrays
    hold the statistics to use. Statistics are float32."""

    def norm(arrays: NodeArrays, x: Value) -> Any:
        axes = tuple(axis for axis in range(x.ndim) if axis != 2)
        channel = (-1,) + (1,) * (x.ndim - 3)
        wide = x.astype(jnp.float32)
        running = "mean" in arrays
        if running:
            mean, variance = arrays["mean"], arrays["variance"]
        else:
            mean, variance, count = MOMENTS.get()(wide, axes)
        scale = arrays["weight"] * jax.lax.rsqrt(variance + options["epsilon"])
        value = (wide - mean.reshape(channel)) * scale.reshape(channel) + arrays["bias"].reshape(
            channel
        )
        value = value.astype(x.dtype)
        if running:
            return value
        return value, {"mean": mean, "variance": variance * (count / (count - 1))}

    return norm


def _pool(options: Any, start: float, combine: Callable[..., Any]) -> Callable[[Value], Value]:
    window, stride = (1, 1, *(options["kernel"],) * 2), (1, 1, *(options["stride"],) * 2)
    padding = ((0, 0), (0, 0), *((options["padding"],) * 2,) * 2)
    return lambda items: jax.lax.reduce_window(
        items, np.array(start, items.dtype), combine, window, stride, padding
    )


def _max_pool(options: Any) -> Callable[..., Any]:
    pool = _pool(options, -np.inf, jax.lax.max)
    return lambda arrays, x: _merged(pool, x)


def _avg_pool(options: Any) -> Callable[..., Any]:
    pool, count = _pool(options, 0.0, jax.lax.add), options["kernel"] ** 2
    return lambda arrays, x: _merged(pool, x) / count


def _mix_time(options: Any) -> Callable[..., Any]:
    order, sliding = options["order"], options["sliding"]

    def mix(arrays: NodeArrays, x: Value) -> Value:
        weight = arrays["weight"]
        late = np.subtract.outer(np.arange(len(x)), np.arange(len(x)))
        if sliding:
            weight = weight[np.clip(order - 1 - late, 0, order - 1)]
        if order is not None:
            weight = jnp.where((late >= 0) & (late < order), weight, 0)
        bias = arrays["bias"].reshape(-1, *(1,) * (x.ndim - 1))
        return jnp.tensordot(weight, x, 1) + bias

    return mix


def _delayed(options: Any) -> Callable[..., Any]:
    most, sigma = options["most"], options["sigma"]

    def delayed(arrays: NodeArrays, x: Value) -> Value:
        apart = jnp.arange(most, dtype=arrays["delay"].dtype) - arrays["delay"][..., None]
        spread = jnp.exp((apart / sigma) ** 2 / -2)
        kernel = arrays["weight"][..., None] * spread / (spread.sum(-1, keepdims=True) + 1e-7)
        return jax.lax.conv_general_dilated(
            x,
            kernel[..., ::-1],
            (1,),
            [(most - 1, 0)],
            dimension_numbers=("WNC", "OIW", "WNC"),
        )

    return delayed


def _integrator(options: Any) -> Callable[..., Any]:
    decay = options["decay"]
    gain = 1 - decay if options["normal"] else 1.0

    def step(v: Value, current: Value) -> tuple[Value, Value]:
        v = decay * v + gain * current
        return v, v

    return lambda arrays, x: jax.lax.scan(step, jnp.zeros_like(x[0]), x)[1]


def _max_time(arrays: NodeArrays, x: Value) -> Value:
    """Takes the maximum at its first step: JAX's own gives equal values equal parts of the
    gradient."""
    return jnp.take_along_axis(x, x.argmax(0, keepdims=True), 0)


def _vote(options: Any) -> Callable[..., Any]:
    return lambda arrays, x: x.reshape(*x.shape[:-1], -1, options["group"]).mean(-1)


def _product(
    arrays: NodeArrays, a: Value, b: Value, scale: float, left: bool, right: bool
) -> Value:
    value = (a.mT if left else a) @ (b.mT if right else b)
    return value if scale == 1 else scale * value


OPERATIONS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "linear": lambda options: lambda arrays, x: linear((arrays["weight"], arrays.get("bias")), x),
    "conv": _conv,
    "norm": _norm,
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "flatten": lambda options: lambda arrays, x: x.reshape(*x.shape[:2], -1),
    "reshape": lambda options: lambda arrays, x: x.reshape(*x.shape[:2], *options["shape"]),
    "add": lambda options: lambda arrays, left, right: left + right,
    "multiply": lambda options: lambda arrays, left, right: left * right,
    "product": lambda options: partial(_product, **options),
    "sum": lambda options: lambda arrays, x: x.sum(2 + options["axis"], keepdims=True),
    "mix_time": _mix_time,
    "delayed": _delayed,
    "integrator": _integrator,
    "mean_time": lambda options: lambda arrays, x: x.mean(0, keepdims=True),
    "max_time": lambda options: _max_time,
    "softmax_sum": lambda options: lambda arrays, x: jax.nn.softmax(x).sum(0, keepdims=True),
    "last_time": lambda options: lambda arrays, x: x[-1:],
    "vote": _vote,
}
"""By kind of node: a function from its options to a pure function (parameters, input values) →
value."""


@dataclass(frozen=True)
class Pullback:
    """The structure of a pullback that one compiled function hands to another. `sources` are the
    positions of its leaves among known values, None for residuals.

    XLA would copy every residual that is an argument or an output. Such leaves are recognised by
    identity while tracing, left out of the residuals, and put back."""

    tree: Any
    sources: tuple[int | None, ...]

    @classmethod
    def of(cls, pullback: Any, known: Any) -> "tuple[Pullback, list[Value]]":
        """Returns the structure of a pullback, and its residuals: the leaves that are not
        `known`."""
        leaves, tree = jax.tree_util.tree_flatten(pullback)
        values = jax.tree_util.tree_leaves(known)
        sources = tuple(
            next((i for i, other in enumerate(values) if other is leaf), None) for leaf in leaves
        )
        return cls(tree, sources), [
            leaf for leaf, source in zip(leaves, sources, strict=True) if source is None
        ]

    def restore(self, residuals: list[Value], known: Any) -> Any:
        """Returns the pullback again, of residuals and values in the structure of `known`."""
        values, others = jax.tree_util.tree_leaves(known), iter(residuals)
        leaves = [next(others) if source is None else values[source] for source in self.sources]
        return jax.tree_util.tree_unflatten(self.tree, leaves)
