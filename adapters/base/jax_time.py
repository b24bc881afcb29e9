"""JAX devices that share the time steps: each has all layers and its own steps, and hands the state
of every neuron to the next device.

All devices run one program, which has every layer once per device, computed by that device alone:
at tick k device r computes layer k − r. Norms and means over time involve all devices at once; a
`Wave` lies between those.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from snnbench.core.network import INPUT, Node

from .jax_network import OPERATIONS, JaxNetwork, NodeArrays, Part, Pullback, Value
from .jax_parts import RANKS, EqualParts

Values = dict[str, Value]
Parameters = dict[str, NodeArrays]
MEETING = ("norm", "mean_time")
"""Kinds of nodes that need all time steps."""


class Pipeline:
    """One device's part of `network`, called as the network is, under `shard_map`."""

    def __init__(self, network: JaxNetwork, parts: EqualParts, input_grad: bool) -> None:
        self.network, self.parts = network, parts
        self.constants = () if input_grad else (INPUT,)
        self.blocks = tuple(self._blocks())

    def __call__(
        self, parameters: Parameters, statistics: Parameters, x: Value, training: bool = True
    ) -> tuple[Value, Values, Parameters]:
        values, statistics = {INPUT: x}, dict(statistics)
        for block in self.blocks:
            if isinstance(block, Wave):
                values |= block(parameters, values)
            else:
                self.network.go_through(block, parameters, values, statistics, training)
        nodes = self.network.network
        spikes = {name: values[name] for name in nodes.neurons}
        return values[nodes.output.name], spikes, statistics

    def _blocks(self) -> "Iterator[Wave | list[Part]]":
        """Yields waves, and lists of parts that all devices compute at once."""
        parts: list[Part] = []
        stages: list[Stage] = []
        for node in self.network.network.nodes:
            if node.kind == "neuron":
                stages.append(self._stage(parts, node))
                parts = []
                continue
            is_mean = node.kind == "mean_time"
            operation = self._mean if is_mean else OPERATIONS[node.kind](node.options)
            parts.append((node, node, operation))
            if node.kind in MEETING:
                if stages:
                    yield Wave(self.network, self.parts, stages, self.constants)
                yield parts
                parts, stages = [], []
        if stages:
            yield Wave(self.network, self.parts, stages, self.constants)
        if parts:
            yield parts

    def _stage(self, parts: list[Part], neuron: Node) -> "Stage":
        nodes = [*(node for node, _, _ in parts), neuron]
        names, readers = [node.name for node in nodes], self.network.network.readers
        reads = dict.fromkeys(name for node in nodes for name in node.inputs if name not in names)
        writes = [
            name for name in names[:-1] if any(reader.name not in names for reader in readers[name])
        ]
        return Stage(
            tuple(parts),
            neuron,
            tuple(names),
            tuple(reads),
            (*writes, neuron.name),
            *self.network.handed(neuron),
        )

    def _mean(self, arrays: NodeArrays, x: Value) -> Value:
        local_sum = jnp.where(self.parts.real(0, x.ndim), x, 0).sum(0, keepdims=True)
        return jax.lax.psum(local_sum, RANKS) / self.parts.count


@dataclass(frozen=True)
class Stage:
    """A neuron and the nodes before it: a function from the values `reads` to the values `writes`,
    the spikes last. `rest` and `scan` are `JaxNetwork.handed` of the neuron."""

    parts: tuple[Part, ...]
    neuron: Node
    nodes: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    rest: Callable[[Value], Any]
    scan: Callable[[NodeArrays, Any, Value], tuple[Any, Value]]


class Wave:
    """Consecutive stages, which the devices enter one after the other: a function (parameters,
    values) → the written values. A device keeps residuals of its own turn only; JAX's own
    derivative of so many conditionals would allocate them in every branch. `constants` are values
    that need no gradient."""

    def __init__(
        self,
        network: JaxNetwork,
        parts: EqualParts,
        stages: list[Stage],
        constants: tuple[str, ...],
    ) -> None:
        self.network, self.parts, self.stages, self.constants = network, parts, stages, constants
        written = {name for stage in stages for name in stage.writes}
        self.reads = list(
            dict.fromkeys(name for stage in stages for name in stage.reads if name not in written)
        )
        self.pullbacks: list[Any] = [None] * len(stages)
        ticks = range(parts.ranks + len(stages) - 1)
        self.turns = [
            (tick - number, number)
            for tick in ticks
            for number in range(len(stages))
            if 0 <= tick - number < parts.ranks
        ]
        self.run = jax.custom_vjp(
            lambda parameters, inputs: self._written(
                self._forward(self._computed, parameters, inputs)
            )
        )
        self.run.defvjp(self._with_residuals, self._backward)

    def __call__(self, parameters: Parameters, values: Values) -> Values:
        names = [name for stage in self.stages for name in stage.nodes if name in parameters]
        written: Values = self.run(
            {name: parameters[name] for name in names}, {name: values[name] for name in self.reads}
        )
        return written

    # -- forward

    def _forward(
        self, work: Callable[..., Any], parameters: Parameters, inputs: Values
    ) -> list[Any]:
        """Returns the result of `work` for every stage: (values, final state, …)."""
        values, states = dict(inputs), [self._rest(stage, inputs) for stage in self.stages]
        results: list[Any] = [None] * len(self.stages)
        for rank, number in self.turns:
            stage = self.stages[number]
            arguments = _of(stage.nodes, parameters), _of(stage.reads, values), states[number]
            results[number] = _turn(rank, partial(work, number), results[number], *arguments)
            values |= results[number][0]
            states[number] = self._move(results[number][1], rank, rank + 1)
        return results

    def _rest(self, stage: Stage, values: Values) -> Any:
        batch = next(iter(values.values())).shape[1]
        return stage.rest(
            jnp.zeros((batch, *self.network.network.shapes[stage.neuron.name]), self.network.dtype)
        )

    def _computed(
        self, number: int, parameters: Parameters, inputs: Values, state: Any
    ) -> tuple[Values, Any]:
        """Returns the values that a stage writes, and its state after the last real step."""
        stage, values = self.stages[number], dict(inputs)
        self.network.go_through(stage.parts, parameters, values, {})
        currents = self.network.cast(values[stage.neuron.inputs[0]])
        scan = partial(stage.scan, parameters.get(stage.neuron.name, {}))
        if self.parts.even:
            state, spikes = scan(state, currents)
        else:  # the last step of shorter parts is filler
            before, most = scan(state, currents[:-1])
            after, last = scan(before, currents[-1:])
            state = jax.tree_util.tree_map(
                partial(jnp.where, self.parts.is_longest()), after, before
            )
            spikes = jnp.concatenate([most, last])
        values[stage.neuron.name] = spikes
        return _of(stage.writes, values), state

    def _computed_with_residuals(
        self, number: int, parameters: Parameters, inputs: Values, state: Any
    ) -> tuple[Values, Any, list[Value]]:
        """Returns the same, and the residuals of backward."""
        free = {name: value for name, value in inputs.items() if name not in self.constants}

        def work(parameters: Parameters, free: Values, state: Any) -> tuple[Values, Any]:
            return self._computed(number, parameters, inputs | free, state)

        (values, after), pullback = jax.vjp(work, parameters, free, state)
        self.pullbacks[number], residuals = Pullback.of(pullback, (parameters, inputs, values))
        return values, after, residuals

    def _written(self, results: list[Any]) -> Values:
        return {name: value for values, *_ in results for name, value in values.items()}

    def _with_residuals(self, parameters: Parameters, inputs: Values) -> tuple[Values, Any]:
        results = self._forward(self._computed_with_residuals, parameters, inputs)
        written = self._written(results)
        return written, (parameters, inputs | written, [leaves for _, _, leaves in results])

    # -- backward

    def _backward(self, residuals: Any, upstream: Values) -> tuple[Parameters, Values]:
        """Runs the wave backwards. Gradients of parameters are those of the device's own steps."""
        parameters, values, of_stages = residuals
        states = [
            jax.tree_util.tree_map(jnp.zeros_like, self._rest(stage, values))
            for stage in self.stages
        ]
        back: list[Any] = [None] * len(self.stages)
        last = self.parts.ranks - 1, len(self.stages) - 1
        for rank, number in ((last[0] - rank, last[1] - number) for rank, number in self.turns):
            stage = self.stages[number]
            known = (
                _of(stage.nodes, parameters),
                _of(stage.reads, values),
                _of(stage.writes, values),
            )
            errors = {name: self._error(upstream[name], name, back) for name in stage.writes}
            back[number] = _turn(
                rank,
                partial(self._gradients, number),
                back[number],
                known,
                of_stages[number],
                errors,
                states[number],
            )
            states[number] = self._move(back[number][2], rank, rank - 1)
        by_input = {
            name: self._error(jnp.zeros_like(values[name]), name, back) for name in self.reads
        }
        by_node = {node: arrays for by_node, _, _ in back for node, arrays in by_node.items()}
        return by_node, by_input

    def _gradients(
        self, number: int, known: Any, residuals: list[Value], errors: Values, state: Any
    ) -> tuple[Parameters, Values, Any]:
        """Returns the gradients by a stage's parameters, its inputs and its initial state."""
        gradients: tuple[Parameters, Values, Any] = self.pullbacks[number].restore(
            residuals, known
        )((errors, state))
        return gradients

    def _error(self, behind: Value, name: str, back: list[Any]) -> Value:
        """Returns the gradient by a value: from outside the wave, and from the stages that read
        it."""
        return sum(
            (by_read[name] for _, by_read, _ in filter(None, back) if name in by_read), behind
        )

    def _move(self, state: Any, rank: int, to: int) -> Any:
        """Moves a state from one device to another; elsewhere it becomes 0, and is not read."""
        if not 0 <= to < self.parts.ranks:
            return state
        move = partial(jax.lax.ppermute, axis_name=RANKS, perm=[(rank, to)])
        return jax.tree_util.tree_map(move, state)


def _turn(rank: int, work: Callable[..., Any], previous: Any, *arguments: Any) -> Any:
    """Returns `work` of the arguments on the device `rank`; on the others the `previous` result."""
    if previous is None:
        shapes = jax.eval_shape(work, *arguments)
        previous = jax.tree_util.tree_map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return jax.lax.cond(
        jax.lax.axis_index(RANKS) == rank,
        lambda previous, *arguments: work(*arguments),
        lambda previous, *arguments: previous,
        previous,
        *arguments,
    )


def _of(names: tuple[str, ...], values: dict[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}
