"""Drives a JAX network for the worker: forward = jit(vjp), backward = the jitted pullback, never
one minus the other."""

import gzip
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from snnbench.core.breakdown import Breakdown
from snnbench.core.case import Case
from snnbench.core.contract import LEARNING_RATE, MemoryProbe, Parameters, Program, Statistics
from snnbench.core.network import INPUT, Network, Shape
from snnbench.core.result import Array, Result
from snnbench.core.rolling import rolled

from .jax_memory import JaxMemory, planned_bytes
from .jax_network import JaxNetwork, JaxSpelling, NodeArrays, Pullback, Value
from .jax_training import Updates, loss_of

DTYPES = {"fp32": jnp.float32, "tf32": jnp.float32, "bf16": jnp.bfloat16, "fp16": jnp.float16}


@dataclass(kw_only=True)
class JaxResult(Result):
    """`value` is the network's output where that is not the last neuron's spikes, else None."""

    x: Value
    value: Value | None = None
    residuals: list[Value] = field(default_factory=list)


class JaxProgram(Program):
    def __init__(self, adapter: JaxSpelling, case: Case, network: Network) -> None:
        self.case = case
        self.device = _device(case.device)
        self.dtype = DTYPES[case.precision]
        self.network = JaxNetwork(adapter, case, network, self.dtype)
        self.computed: Callable[..., tuple[Value, dict[str, Value], dict[str, NodeArrays]]] = (
            self.network
        )
        self.kinds, self.neurons = {node.name: node.kind for node in network.nodes}, network.neurons
        self.spikes_are_output = (
            network.output.kind == "neuron" and not network.output.options["potentials"]
        )
        self.scales = network.scales(self.network.scale)
        self.updates = Updates(case.optimizer, self.scales, LEARNING_RATE)
        self.parameters: dict[str, NodeArrays] = {}
        self.states = self.no_states = dict[str, Any]()
        self.running_stats = self.at_rest = dict[str, NodeArrays]()
        self.compiling = XlaClock()
        self.last_call, self.shapes = "", dict[str, Any]()
        self._forward = jax.jit(self._forward_and_residuals)
        self._backward = jax.jit(self._pull_back)
        self._step = jax.jit(self._train)
        self._update = jax.jit(self.updates.update)
        self._inference = jax.jit(self._infer)
        self._evaluation = jax.jit(self._evaluate)

    # -- data

    def _put(self, array: Array, dtype: Any) -> Value:
        # Copies: device_put of a NumPy array may alias its memory on a CPU.
        return jax.device_put(jnp.array(array, dtype=dtype, copy=True), self.device)

    def _scaled(self, array: Array, name: str) -> Array:
        """Multiplies `array` by the factor that is folded into node `name`."""
        return array * np.float32(self.scales[name]) if name in self.scales else array

    def load(self, parameters: Parameters) -> None:
        def put(node: str, array: Array) -> Value:
            return self._put(
                self._scaled(array, node), jnp.float32 if self.kinds[node] == "norm" else self.dtype
            )

        self.parameters = {
            node: {name: put(node, array) for name, array in arrays.items()}
            for node, arrays in parameters.items()
        }
        self.loaded = self.parameters
        self.states = self.no_states = self.updates.rest(self.parameters)
        start = {"mean": np.zeros, "variance": np.ones}
        self.running_stats = self.at_rest = {
            node: {
                name: self._put(values(len(arrays["weight"])), jnp.float32)
                for name, values in start.items()
            }
            for node, arrays in parameters.items()
            if self.kinds[node] == "norm"
        }

    def roll_parameters(self, turn: int) -> None:
        self.running_stats, self.states = self.at_rest, self.no_states
        self.parameters = jax.tree_util.tree_map(lambda array: rolled(array, turn), self.loaded)

    def prepare_inference(self, statistics: Statistics | None) -> None:
        self.running_stats = self.running_stats | {
            norm: {name: self._put(array, jnp.float32) for name, array in named.items()}
            for norm, named in (statistics or {}).items()
        }

    def put_input(self, array: Array) -> Value:
        return self._put(self._scaled(array, INPUT), self.dtype)

    def put_upstream(self, array: Array, result: JaxResult) -> Value:
        return self._put(array, result.output.dtype if self.case.loss is None else jnp.int32)

    # -- traced functions

    def _outcome(
        self, parameters: dict[str, NodeArrays], running: dict[str, NodeArrays], x: Value
    ) -> tuple[Value, tuple[Any, ...]]:
        """Returns the output, and (spikes by neuron, the output again unless it is spikes, running
        statistics after the call)."""
        output, borders, running = self.computed(parameters, running, x)
        return output, (borders, None if self.spikes_are_output else output, running)

    def _vjp(
        self, parameters: dict[str, NodeArrays], running: dict[str, NodeArrays], x: Value
    ) -> Any:
        if self.case.input_grad:
            return jax.vjp(lambda p, x: self._outcome(p, running, x), parameters, x, has_aux=True)
        return jax.vjp(lambda p: self._outcome(p, running, x), parameters, has_aux=True)

    def _forward_and_residuals(
        self, parameters: dict[str, NodeArrays], running: dict[str, NodeArrays], x: Value
    ) -> tuple[Any, ...]:
        """Returns the spikes of every neuron, the output, running statistics, and the residuals
        that backward needs beyond arguments and spikes."""
        _, pullback, (borders, value, running) = self._vjp(parameters, running, x)
        self._pullback, residuals = Pullback.of(pullback, (parameters, x, borders, value))
        return borders, value, running, residuals

    def _pull_back(
        self, arguments_and_outputs: tuple[Any, ...], residuals: list[Value], upstream: Value
    ) -> Any:
        """Returns the loss and the gradients of parameters and input, from (parameters, input,
        spikes by neuron, the output unless it is spikes)."""
        _, _, borders, value = arguments_and_outputs
        output = borders[self.neurons[-1]] if value is None else value
        loss, upstream = self._upstream(output, upstream)
        return loss, self._reduced(
            self._pullback.restore(residuals, arguments_and_outputs)(upstream)
        )

    def _reduced(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns gradients by the parameters, and by the input if it has one; ranks sum them
        here."""
        return gradients

    def _upstream(self, output: Value, upstream: Value) -> tuple[Value | None, Value]:
        """Returns the case's loss, None without one, and its gradient by the output."""
        if self.case.loss is None:
            return None, upstream
        loss, gradient = jax.value_and_grad(partial(loss_of, self.case.loss))(output, upstream)
        return loss, gradient

    def _train(
        self,
        parameters: dict[str, NodeArrays],
        running: dict[str, NodeArrays],
        states: dict[str, Any],
        x: Value,
        upstream: Value,
    ) -> tuple[Any, ...]:
        output, pullback, (borders, value, running) = self._vjp(parameters, running, x)
        loss, upstream = self._upstream(output, upstream)
        gradients = self._reduced(pullback(upstream))
        updated, states = self.updates.update(parameters, states, gradients[0])
        return borders, value, running, updated, states, loss, gradients[1:]

    def _infer(
        self, parameters: dict[str, NodeArrays], running: dict[str, NodeArrays], x: Value
    ) -> tuple[dict[str, Value], Value | None]:
        """Returns the spikes of the last neuron, and the output unless it is spikes."""
        borders, value = self._evaluate(parameters, running, x)
        return {self.neurons[-1]: borders[self.neurons[-1]]}, value

    def _evaluate(
        self, parameters: dict[str, NodeArrays], running: dict[str, NodeArrays], x: Value
    ) -> tuple[dict[str, Value], Value | None]:
        """Returns the spikes by neuron, and the output unless it is spikes."""
        output, borders, _ = self.computed(parameters, running, x, training=False)
        return borders, None if self.spikes_are_output else output

    # -- calls

    def forward(self, x: Value) -> JaxResult:
        borders, value, self.running_stats, residuals = self._run(
            "_forward", self.parameters, self.running_stats, x
        )
        return self._result(x, borders, value, residuals=residuals)

    def features(self, x: Value) -> dict[str, Shape]:
        shapes: dict[str, Shape] = {}
        with suppress(Exception):
            for count, (node, _, _) in enumerate(self.network.parts, 1):
                value, *_ = jax.eval_shape(
                    partial(self.network, parts=count), self.parameters, self.running_stats, x
                )
                shapes[node.name] = value.shape[2:]
        return shapes

    def _run(self, name: str, *arguments: Any) -> Any:
        """Calls a compiled function, and remembers its name and the shapes of its arguments."""
        self.last_call = name
        if name not in self.shapes:
            self.shapes[name] = jax.tree_util.tree_map(_shape_of, arguments)
        with self.compiling:
            return getattr(self, name)(*arguments)

    def memory_analysis(self) -> Any:
        """Returns XLA's plan of the memory of the last call."""
        lowered = getattr(self, self.last_call).lower(*self.shapes[self.last_call])
        return lowered.compile().memory_analysis()

    def _result(
        self, x: Value, borders: dict[str, Value], value: Value | None, **more: Any
    ) -> JaxResult:
        """Restores the order of neurons: JAX sorts the keys of dictionaries."""
        in_order = {name: borders[name] for name in self.neurons if name in borders}
        output = in_order[self.neurons[-1]] if value is None else value
        return JaxResult(
            x=x, borders=in_order, output=output, value=value, running=self.running_stats, **more
        )

    def backward(self, result: JaxResult, upstream: Value) -> JaxResult:
        known = (self.parameters, result.x, result.borders, result.value)
        loss, (gradients, *by_input) = self._run("_backward", known, result.residuals, upstream)
        input_gradient = by_input[0] if by_input else None
        return replace(result, loss=loss, gradients=gradients, input_gradient=input_gradient)

    def inference(self, x: Value) -> JaxResult:
        return self._result(x, *self._run("_inference", self.parameters, self.running_stats, x))

    def evaluate(self, x: Value) -> JaxResult:
        """Its compilation is not counted: only the judge needs it."""
        if len(self.neurons) == 1:
            return self.inference(x)
        return self._result(x, *self._evaluation(self.parameters, self.running_stats, x))

    def step(self, x: Value, upstream: Value) -> JaxResult:
        answer = self._run("_step", self.parameters, self.running_stats, self.states, x, upstream)
        borders, value, self.running_stats, self.parameters, self.states, loss, by_input = answer
        input_gradient = by_input[0] if by_input else None
        result = self._result(x, borders, value, loss=loss, input_gradient=input_gradient)
        return self._updated(result)

    def optimize(self, result: JaxResult) -> JaxResult:
        self.parameters, self.states = self._run(
            "_update", self.parameters, self.states, result.gradients
        )
        return self._updated(result)

    def _updated(self, result: JaxResult) -> JaxResult:
        states = {kind: named for kind, named in self.states.items() if kind != "steps"}
        return replace(result, gradients={}, updated=self.parameters, states=states)

    def argument_bytes(self) -> int:
        return bytes_of((self.parameters, self.states))

    def result_bytes(self, result: JaxResult) -> int:
        return bytes_of((result.output, result.gradients, result.input_gradient, result.updated))

    def facts(self, result: JaxResult) -> dict[str, Any]:
        traced = jax.make_jaxpr(lambda x: self.network(self.parameters, self.running_stats, x)[0])(
            result.x
        )
        carried = ", ".join(sorted(set(_carried_dtypes(traced.jaxpr)))) or None
        *_, spikes = result.borders.values()
        scaled = (
            {"scaled_in_call": self.network.scaled_in_call} if self.network.scaled_in_call else {}
        )
        return {"output_dtype": str(spikes.dtype), "state_dtype": carried, "warnings": [], **scaled}

    def compile_facts(self) -> dict[str, Any]:
        return {"compile_s": self.compiling.seconds}

    # -- breakdown, ceilings and memory

    def breakdown(self, x: Value, upstream: Value, trace: str | None = None) -> Breakdown:
        before = self.parameters, self.states, self.running_stats
        try:
            jax.block_until_ready(vars(self.step(x, upstream)))
            result = Breakdown(
                bytes={
                    "parameters": bytes_of(self.parameters),
                    "optimizer": bytes_of(self.states),
                    "feature maps": bytes_of(x),
                    "planned together": planned_bytes(self.memory_analysis()),
                }
            )
            result.unknown = "XLA compiles a step into one program: it has no stages"
            if trace:
                self._trace(x, upstream, Path(trace))
        finally:
            self.parameters, self.states, self.running_stats = before
        return result

    def _trace(self, x: Value, upstream: Value, path: Path) -> None:
        """Writes a trace of a step. JAX writes a folder of files, one of which is for Perfetto."""
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder, create_perfetto_trace=True):
                jax.block_until_ready(vars(self.step(x, upstream)))
            (trace,) = Path(folder).rglob("perfetto_trace.json.gz")
            with gzip.open(trace) as packed, path.open("wb") as file:
                shutil.copyfileobj(packed, file)

    def matmul(self, rows: int, inner: int, columns: int, dtype: str) -> Callable[[], object]:
        left = jax.device_put(jnp.ones((rows, inner), DTYPES[dtype]), self.device)
        right = jax.device_put(jnp.ones((inner, columns), DTYPES[dtype]), self.device)
        multiply = jax.jit(jnp.matmul)
        return lambda: multiply(left, right)

    def copy(self, count: int) -> Callable[[], object]:
        source = jax.device_put(jnp.zeros(count, jnp.float32), self.device)
        duplicate = jax.jit(jnp.copy)
        return lambda: duplicate(source)

    def memory_probe(self) -> MemoryProbe | None:
        return JaxMemory(self) if self.device.platform == "gpu" else None


class XlaClock:
    """Seconds that JAX reports for tracing, lowering and compiling inside `with clock:`."""

    def __init__(self) -> None:
        self.listening, self.seconds = False, 0.0
        jax.monitoring.register_event_duration_secs_listener(self._record)

    def __enter__(self) -> None:
        self.listening = True

    def __exit__(self, *_: object) -> None:
        self.listening = False

    def _record(self, event: str, seconds: float, **_: object) -> None:
        if self.listening and event.startswith("/jax/core/compile/"):
            self.seconds += seconds


def _carried_dtypes(jaxpr: Any) -> Iterator[str]:
    """Yields the formats of the floating-point values that scans carry from step to step."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "scan":
            body = getattr(equation.params["jaxpr"], "jaxpr", equation.params["jaxpr"])
            pairs = zip(equation.outvars, body.outvars, strict=True)
            # Outputs of another shape are stacked over the steps.
            carried = [out.aval for out, one in pairs if out.aval.shape == one.aval.shape]
            yield from (
                str(aval.dtype) for aval in carried if jnp.issubdtype(aval.dtype, jnp.floating)
            )
            continue
        for value in equation.params.values():
            if hasattr(inner := getattr(value, "jaxpr", value), "eqns"):
                yield from _carried_dtypes(inner)


def bytes_of(tree: Any) -> int:
    return sum(int(leaf.nbytes) for leaf in jax.tree_util.tree_leaves(tree))


def _shape_of(array: Any) -> Any:
    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=array.sharding)


def _device(name: str) -> Any:
    kind, _, index = name.partition(":")
    return jax.devices({"cuda": "gpu"}.get(kind, kind))[int(index or 0)]
