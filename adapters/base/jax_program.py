"""Drives a JAX network for the worker: forward = jit(vjp), backward = the jitted pullback, never one minus the other."""

from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .contract import Gradients, Program

DTYPES = {"fp32": jnp.float32, "tf32": jnp.float32, "bf16": jnp.bfloat16, "fp16": jnp.float16}


def linear(parameters, x):
    """x · weightᵀ + bias. The product names its axes, so that no transposed copy of the weight is kept for backward."""
    weight, bias = parameters
    currents = jax.lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))
    return currents if bias is None else currents + bias


def _layer(adapter, case):
    """A pure function (parameters, x) → spikes."""
    features = (case.neurons,)
    if case.workload == "linear-lif" and not case.native:
        return adapter.layer(case.neuron, case.neurons, case.neurons, case.bias, case.construction)
    neuron = adapter.native(features) if case.native else adapter.lif(case.neuron, features, case.construction)
    if case.workload == "lif":
        return lambda parameters, currents: neuron(currents)
    return lambda parameters, x: neuron(linear(parameters, x))


@dataclass
class Result:
    x: Any
    borders: list
    residuals: list = field(default_factory=list)
    gradients: Any = None
    updated: Any = None


class JaxProgram(Program):
    def __init__(self, adapter, case):
        self.case = case
        self.device = _device(case.device)
        self.dtype = DTYPES[case.precision]
        self.scale = adapter.scale_of(case)
        self.parameters: list = []
        self.layers = [_layer(adapter, case) for _ in range(case.layers)]
        self.compiling = CompileClock()
        self._forward = jax.jit(self._forward_and_residuals)
        self._backward = jax.jit(self._pull_back)
        self._step = jax.jit(self._train)
        self._inference = jax.jit(lambda parameters, x: self._network(parameters, x)[0])
        self._learning_rate = jax.device_put(np.float32(0), self.device)

    # -- data ------------------------------------------------------------------------------------------------

    def _put(self, array, dtype):
        # copy: device_put of a NumPy array may alias its memory on CPU.
        return jax.device_put(jnp.array(array, dtype=dtype, copy=True), self.device)

    def load(self, weights, biases):
        scale = np.float32(self.scale)
        pairs = [
            (self._put(w * scale, self.dtype), None if b is None else self._put(b * scale, self.dtype))
            for w, b in zip(weights, biases, strict=True)
        ]
        self.parameters = pairs if self.case.workload != "lif" else [None]

    def put_input(self, array):
        return self._put(array * np.float32(self.scale) if self.case.workload == "lif" else array, self.dtype)

    def put_upstream(self, array, result):
        return self._put(array, result.borders[-1].dtype)

    # -- traced functions ------------------------------------------------------------------------------------

    def _network(self, parameters, x):
        borders = []
        for layer, own in zip(self.layers, parameters, strict=True):
            # Some frameworks hand out float32 whatever they are given. A no-op must not hide that x is an argument.
            x = layer(own, x if x.dtype == self.dtype else x.astype(self.dtype))
            borders.append(x)
        return x, borders

    def _vjp(self, parameters, x):
        if self.case.input_grad:
            return jax.vjp(self._network, parameters, x, has_aux=True)
        return jax.vjp(lambda p: self._network(p, x), parameters, has_aux=True)

    def _forward_and_residuals(self, parameters, x):
        """Spikes of every layer and what backward needs beyond arguments and spikes.

        XLA returns a copy of every residual that is an argument or an output. Such leaves are recognised by identity
        while tracing, dropped here and put back in `_pull_back`.
        """
        _, pullback, borders = self._vjp(parameters, x)
        leaves, self._treedef = jax.tree_util.tree_flatten(pullback)
        known = self._known(parameters, x, borders)
        self._sources = [next((i for i, value in enumerate(known) if value is leaf), None) for leaf in leaves]
        return borders, [leaf for leaf, source in zip(leaves, self._sources, strict=True) if source is None]

    def _known(self, parameters, x, borders):
        return jax.tree_util.tree_leaves((parameters, x, borders))

    def _pull_back(self, parameters, x, borders, residuals, upstream):
        known, kept = self._known(parameters, x, borders), iter(residuals)
        leaves = [next(kept) if source is None else known[source] for source in self._sources]
        return jax.tree_util.tree_unflatten(self._treedef, leaves)(upstream)

    def _train(self, parameters, x, upstream, learning_rate):
        _, pullback, borders = self._vjp(parameters, x)
        gradients = pullback(upstream)
        updated = jax.tree_util.tree_map(lambda p, g: p - (learning_rate * g).astype(p.dtype), parameters, gradients[0])
        return borders, updated, gradients[1:]

    # -- calls -----------------------------------------------------------------------------------------------

    def forward(self, x):
        with self.compiling:
            borders, residuals = self._forward(self.parameters, x)
        return Result(x, borders, residuals)

    def backward(self, result, upstream):
        with self.compiling:
            gradients = self._backward(self.parameters, result.x, result.borders, result.residuals, upstream)
        return replace(result, gradients=gradients)

    def inference(self, x):
        with self.compiling:
            return Result(x, [self._inference(self.parameters, x)])

    def step(self, x, upstream):
        with self.compiling:
            borders, updated, given = self._step(self.parameters, x, upstream, self._learning_rate)
        return Result(x, borders, updated=(updated, given))

    def wait(self, result):
        jax.block_until_ready((result.borders, result.residuals, result.gradients, result.updated))

    # -- what came out ---------------------------------------------------------------------------------------

    def spikes(self, result):
        return [_numpy(border) for border in result.borders]

    def gradients(self, result):
        scale = np.float32(self.scale)
        own, given = result.gradients[0], (_numpy(result.gradients[1]) if self.case.input_grad else None)
        if self.case.workload == "lif":
            return Gradients([], [], given * scale)
        weights = [_numpy(w) * scale for w, _ in own]
        biases = [None if b is None else _numpy(b) * scale for _, b in own]
        return Gradients(weights, biases, given)

    def argument_bytes(self):
        return _bytes(self.parameters)

    def result_bytes(self, result):
        if result.updated is not None:
            return _bytes((result.borders[-1], result.updated))
        return _bytes(result.borders[-1]) + _bytes(result.gradients)

    def facts(self, result):
        traced = jax.make_jaxpr(lambda x: self._network(self.parameters, x)[0])(result.x)
        carried = ", ".join(sorted(set(_carried_dtypes(traced.jaxpr)))) or None
        return {"output_dtype": str(result.borders[-1].dtype), "state_dtype": carried, "warnings": []}

    def compile_facts(self):
        return {"compile_s": self.compiling.seconds}

    # -- ceilings and memory ---------------------------------------------------------------------------------

    def matmul(self, rows, inner, columns, dtype):
        left = jax.device_put(jnp.ones((rows, inner), DTYPES[dtype]), self.device)
        right = jax.device_put(jnp.ones((inner, columns), DTYPES[dtype]), self.device)
        multiply = jax.jit(jnp.matmul)
        return lambda: multiply(left, right).block_until_ready()

    def copy(self, count):
        source = jax.device_put(jnp.zeros(count, jnp.float32), self.device)
        duplicate = jax.jit(jnp.copy)
        return lambda: duplicate(source).block_until_ready()

    def memory_probe(self):
        return JaxMemory(self.device) if self.device.platform == "gpu" else None


class CompileClock:
    """Seconds that JAX reports for tracing, lowering and compiling while `with clock:` holds."""

    def __init__(self):
        self.listening, self.seconds = False, 0.0
        jax.monitoring.register_event_duration_secs_listener(self._heard)

    def __enter__(self):
        self.listening = True

    def __exit__(self, *_):
        self.listening = False

    def _heard(self, event, seconds, **_):
        if self.listening and event.startswith("/jax/core/compile/"):
            self.seconds += seconds


class JaxMemory:
    """XLA's own counters; the peak cannot be reset (jax#8096). Untested: no CUDA device has run this yet."""

    meaning = "XLA allocated"

    def __init__(self, device):
        self.device = device

    def reset(self):
        self.before = self.device.memory_stats()["bytes_in_use"]

    def peak(self):
        """(bytes in use at reset, most bytes in use since the start, most bytes reserved since the start)."""
        stats = self.device.memory_stats()
        return self.before, stats["peak_bytes_in_use"], stats.get("peak_bytes_reserved", stats["peak_bytes_in_use"])


def _carried_dtypes(jaxpr):
    """Formats of the floating-point numbers that the program's own scans hand from step to step."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "scan":
            first = equation.params["num_consts"]
            carried = equation.invars[first : first + equation.params["num_carry"]]
            yield from (str(v.aval.dtype) for v in carried if jnp.issubdtype(v.aval.dtype, jnp.floating))
            continue
        for value in equation.params.values():
            if hasattr(inner := getattr(value, "jaxpr", value), "eqns"):
                yield from _carried_dtypes(inner)


def _device(name):
    kind, _, index = name.partition(":")
    return jax.devices({"cuda": "gpu"}.get(kind, kind))[int(index or 0)]


def _numpy(array):
    return np.array(array, dtype=np.float32, copy=True)


def _bytes(tree):
    return sum(leaf.nbytes for leaf in jax.tree_util.tree_leaves(tree))
