"""A Network as one pure JAX function: what the adapter spells, and around it `jax.lax`, each layer
once over all T·B items."""

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from snnbench.core.case import Case
from snnbench.core.network import INPUT, Network, Node, Shape
from snnbench.kernels.spec import NeuronSpec

Value = Any
"""A JAX array (T, B, *features)."""

Own = dict[str, Any]
"""The parameters of one node by name, or the running `mean` and `variance` (C,) of a norm."""


def _moments(x: Value, axes: tuple[int, ...]) -> tuple[Value, Value, int]:
    """Mean and biased variance over these axes, all but the channels, and how many numbers of a
    channel these are of."""
    return x.mean(axes), x.var(axes), x.size // x.shape[2]


MOMENTS: ContextVar[Callable[..., tuple[Value, Value, int]]] = ContextVar(
    "MOMENTS", default=_moments
)
"""What norms take while they are traced: where devices share a batch, the moments of all its
parts."""


Part = tuple[Node, Node, Callable[..., Any]]
"""(node, source, function): a pure function (parameters of the source, values that it reads) → the
node's value, of a neuron with potentials (spikes, value). The source is the linear where a linear
and its neuron are one, else the node."""


class JaxSpelling(Protocol):
    """What a network asks of a JaxAdapter."""

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


class JaxNetwork:
    def __init__(self, adapter: JaxSpelling, case: Case, network: Network, dtype: Any) -> None:
        self.adapter, self.case, self.network, self.dtype = adapter, case, network, dtype
        self.scale = adapter.scale_of(case)
        self.scaled_in_call = network.scaled_in_call(self.scale)
        self.parts = tuple(self._parts())

    def __call__(
        self,
        parameters: dict[str, Own],
        statistics: dict[str, Own],
        x: Value,
        parts: int | None = None,
    ) -> tuple[Value, dict[str, Value], dict[str, Own]]:
        """(value of the last node, or after the first `parts`, spikes by neuron, running statistics
        after the call)."""
        values, after, chosen = {INPUT: x}, dict(statistics), self.parts[:parts]
        borders = self.go_through(chosen, parameters, values, after)
        return values[chosen[-1][0].name], borders, after

    def go_through(
        self,
        parts: Iterable[Part],
        parameters: dict[str, Own],
        values: dict[str, Value],
        statistics: dict[str, Own],
    ) -> dict[str, Value]:
        """Spikes by neuron of these parts. Values are added to `values`, which has those that they
        read, and running statistics become those after the call."""
        borders: dict[str, Value] = {}
        for node, source, function in parts:
            value = function(
                parameters.get(source.name, {}),
                *(self.cast(values[name]) for name in source.inputs),
            )
            if node.kind == "neuron":
                borders[node.name], value = value if node.options["potentials"] else (value, value)
            elif node.kind == "norm":
                (value, new), before, rate = value, statistics[node.name], node.options["momentum"]
                moved = {
                    key: (1 - rate) * before[key] + rate * jax.lax.stop_gradient(new[key])
                    for key in before
                }
                statistics[node.name] = moved
            values[node.name] = value
        return borders

    def cast(self, value: Value) -> Value:
        """Some frameworks hand out float32 whatever they are given. A no-op must not hide that a
        value is an argument."""
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
            return lambda own, x: native(linear((own["weight"], own.get("bias")), x))
        layer = self.adapter.layer(
            neuron.options["neuron"], inputs, outputs, bias, self.case.construction
        )
        return lambda own, x: layer((own["weight"], own.get("bias")), x)

    def _neuron(self, node: Node) -> Callable[..., Any]:
        if node.options["recurrent"]:
            rest, scan = self.handed(node)
            return lambda own, x: scan(own, rest(x[0]), x)[1]
        scaled, neuron = (
            self._scaled(node),
            self.adapter.neuron_of(self.case, node, self.network.shapes[node.name]),
        )
        if "decay" in self.network.parameters.get(node.name, {}):
            return lambda own, x: neuron(own["decay"], scaled(x))
        return lambda own, x: neuron(scaled(x))

    def _scaled(self, node: Node) -> Callable[[Value], Value]:
        """What a neuron's currents are multiplied by in the call."""
        return (lambda x: self.scale * x) if node.name in self.scaled_in_call else (lambda x: x)

    def handed(self, node: Node) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """A neuron whose state goes in and comes out: (a function from one step's currents to the
        state at rest, a function (parameters, state, currents) → (state after, spikes))."""
        spec, features, scaled = (
            node.options["neuron"],
            self.network.shapes[node.name],
            self._scaled(node),
        )
        if node.options["recurrent"]:
            rest, recurrent = _recurrent(*self.adapter.step(spec, features))
            return rest, lambda own, state, x: recurrent(own["recurrent"], state, scaled(x))
        rest, scan = self.adapter.scan(spec, features)
        return rest, lambda own, state, x: scan(state, scaled(x), *own.values())


def linear(parameters: tuple[Value, Value | None], x: Value) -> Value:
    """x · weightᵀ + bias. The product names its axes, so that no transposed copy of the weight is
    kept for backward."""
    weight, bias = parameters
    currents = jax.lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))
    return currents if bias is None else currents + bias


def _recurrent(
    at_rest: Callable[..., Any], step: Callable[..., Any]
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

        state, spikes = jax.lax.scan(next_step, start, currents)
        return state, spikes

    return rest, run


def _merged(function: Callable[[Value], Value], x: Value) -> Value:
    """`function` of all T·B items at once."""
    value = function(x.reshape(-1, *x.shape[2:]))
    return value.reshape(*x.shape[:2], *value.shape[1:])


def _conv(options: Any) -> Callable[..., Any]:
    stride, padding = (options["stride"],) * 2, [(options["padding"],) * 2] * 2

    def conv(own: Own, x: Value) -> Value:
        def once(items: Value) -> Value:
            axes = ("NCHW", "OIHW", "NCHW")
            value = jax.lax.conv_general_dilated(
                items, own["weight"], stride, padding, dimension_numbers=axes
            )
            return value + own["bias"][:, None, None] if "bias" in own else value

        return _merged(once, x)

    return conv


def _norm(options: Any) -> Callable[..., Any]:
    """(normalised value, its mean and unbiased variance by name), statistics in float32."""

    def norm(own: Own, x: Value) -> tuple[Value, Own]:
        axes = tuple(axis for axis in range(x.ndim) if axis != 2)
        channel = (-1,) + (1,) * (x.ndim - 3)
        wide = x.astype(jnp.float32)
        mean, variance, count = MOMENTS.get()(wide, axes)
        scale = own["weight"] * jax.lax.rsqrt(variance + options["epsilon"])
        value = (wide - mean.reshape(channel)) * scale.reshape(channel) + own["bias"].reshape(
            channel
        )
        return value.astype(x.dtype), {"mean": mean, "variance": variance * (count / (count - 1))}

    return norm


def _pool(options: Any, start: float, combine: Callable[..., Any]) -> Callable[[Value], Value]:
    window, stride = (1, 1, *(options["kernel"],) * 2), (1, 1, *(options["stride"],) * 2)
    padding = ((0, 0), (0, 0), *((options["padding"],) * 2,) * 2)
    return lambda items: jax.lax.reduce_window(
        items, np.array(start, items.dtype), combine, window, stride, padding
    )


def _max_pool(options: Any) -> Callable[..., Any]:
    pool = _pool(options, -np.inf, jax.lax.max)
    return lambda own, x: _merged(pool, x)


def _avg_pool(options: Any) -> Callable[..., Any]:
    pool, count = _pool(options, 0.0, jax.lax.add), options["kernel"] ** 2
    return lambda own, x: _merged(pool, x) / count


OPERATIONS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "linear": lambda options: lambda own, x: linear((own["weight"], own.get("bias")), x),
    "conv": _conv,
    "norm": _norm,
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "flatten": lambda options: lambda own, x: x.reshape(*x.shape[:2], -1),
    "add": lambda options: lambda own, left, right: left + right,
    "mean_time": lambda options: lambda own, x: x.mean(0, keepdims=True),
}
"""By kind of node: from its options to a pure function (parameters, values read) → value."""
