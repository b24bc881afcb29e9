"""Time steps shared by devices of JAX: each has all layers and its steps, and hands the state of
every neuron to the next device.

All devices run one program, in which a layer stands once for each of them, to be computed by this
one alone: at tick k device r computes layer k − r. Norms and means over time have all devices meet;
between those lies a `Wave`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from snnbench.core.network import INPUT, Node

from .jax_network import OPERATIONS, JaxNetwork, Own, Part, Value
from .jax_parts import RANKS, EqualParts
from .jax_residuals import Form

Values = dict[str, Value]
"""By node."""
Parameters = dict[str, Own]
MEETING = ("norm", "mean_time")
"""Kinds of nodes that need all time steps."""


class Pipeline:
    """What a device computes of `network`, called as this is, under `shard_map`."""

    def __init__(self, network: JaxNetwork, parts: EqualParts, input_grad: bool) -> None:
        self.network, self.parts = network, parts
        self.constants = () if input_grad else (INPUT,)
        self.blocks = tuple(self._blocks())

    def __call__(
        self, parameters: Parameters, statistics: Parameters, x: Value
    ) -> tuple[Value, Values, Parameters]:
        values, after = {INPUT: x}, dict(statistics)
        for block in self.blocks:
            if isinstance(block, Wave):
                values |= block(parameters, values)
            else:
                self.network.go_through(block, parameters, values, after)
        nodes = self.network.network
        return values[nodes.output.name], {name: values[name] for name in nodes.neurons}, after

    def _blocks(self) -> "Iterator[Wave | list[Part]]":
        """Waves, and what all devices compute at once."""
        behind: list[Part] = []
        stages: list[Stage] = []
        for node in self.network.network.nodes:
            if node.kind == "neuron":
                stages.append(self._stage(behind, node))
                behind = []
                continue
            behind.append(
                (
                    node,
                    node,
                    self._mean if node.kind == "mean_time" else OPERATIONS[node.kind](node.options),
                )
            )
            if node.kind in MEETING:
                if stages:
                    yield Wave(self.network, self.parts, stages, self.constants)
                yield behind
                behind, stages = [], []
        if stages:
            yield Wave(self.network, self.parts, stages, self.constants)
        if behind:
            yield behind

    def _stage(self, parts: list[Part], neuron: Node) -> "Stage":
        nodes = [*(node for node, _, _ in parts), neuron]
        own, readers = [node.name for node in nodes], self.network.network.readers
        reads = dict.fromkeys(name for node in nodes for name in node.inputs if name not in own)
        writes = [
            name for name in own[:-1] if any(reader.name not in own for reader in readers[name])
        ]
        return Stage(
            tuple(parts),
            neuron,
            tuple(own),
            tuple(reads),
            (*writes, neuron.name),
            *self.network.handed(neuron),
        )

    def _mean(self, own: Own, x: Value) -> Value:
        of_part = jnp.where(self.parts.real(0, x.ndim), x, 0).sum(0, keepdims=True)
        return jax.lax.psum(of_part, RANKS) / self.parts.count


@dataclass(frozen=True)
class Stage:
    """A neuron and the nodes in front of it: from the values that it `reads` those that it
    `writes`, the spikes last. `rest` and `scan` are `JaxNetwork.handed` of the neuron."""

    parts: tuple[Part, ...]
    neuron: Node
    nodes: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    rest: Callable[[Value], Any]
    scan: Callable[[Own, Any, Value], tuple[Any, Value]]


class Wave:
    """Stages one behind the other, through which devices go one after the other: a function
    (parameters, values) → the values that they write. What its backward needs a device keeps of its
    own turn alone, for which JAX's own derivative of so many conditionals would make room in each
    of them. `constants` are values whose gradient nobody asks for."""

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
        self.forms: list[Any] = [None] * len(stages)
        ticks = range(parts.ranks + len(stages) - 1)
        self.turns = [
            (tick - number, number)
            for tick in ticks
            for number in range(len(stages))
            if 0 <= tick - number < parts.ranks
        ]
        self.run = jax.custom_vjp(
            lambda parameters, given: self._written(
                self._forward(self._computed, parameters, given)
            )
        )
        self.run.defvjp(self._with_residuals, self._backward)

    def __call__(self, parameters: Parameters, values: Values) -> Values:
        names = [name for stage in self.stages for name in stage.nodes if name in parameters]
        found: Values = self.run(
            {name: parameters[name] for name in names}, {name: values[name] for name in self.reads}
        )
        return found

    # -- forward
    # ---------------------------------------------------------------------------------------------

    def _forward(
        self, work: Callable[..., Any], parameters: Parameters, given: Values
    ) -> list[Any]:
        """What `work` gives of every stage: (values, state after, …)."""
        values, states = dict(given), [self._rest(stage, given) for stage in self.stages]
        kept: list[Any] = [None] * len(self.stages)
        for rank, number in self.turns:
            stage = self.stages[number]
            arguments = _of(stage.nodes, parameters), _of(stage.reads, values), states[number]
            kept[number] = _turn(rank, partial(work, number), kept[number], *arguments)
            values |= kept[number][0]
            states[number] = self._handed(kept[number][1], rank, rank + 1)
        return kept

    def _rest(self, stage: Stage, given: Values) -> Any:
        """The state at rest."""
        batch = next(iter(given.values())).shape[1]
        return stage.rest(
            jnp.zeros((batch, *self.network.network.shapes[stage.neuron.name]), self.network.dtype)
        )

    def _computed(
        self, number: int, parameters: Parameters, given: Values, state: Any
    ) -> tuple[Values, Any]:
        """The values that a stage writes, and the state behind its last real step."""
        stage, values = self.stages[number], dict(given)
        self.network.go_through(stage.parts, parameters, values, {})
        currents = self.network.cast(values[stage.neuron.inputs[0]])
        scan = partial(stage.scan, parameters.get(stage.neuron.name, {}))
        if self.parts.even:
            state, spikes = scan(state, currents)
        else:  # the last step is none in parts that are shorter
            before, most = scan(state, currents[:-1])
            after, last = scan(before, currents[-1:])
            state = jax.tree_util.tree_map(
                partial(jnp.where, self.parts.is_longest()), after, before
            )
            spikes = jnp.concatenate([most, last])
        values[stage.neuron.name] = spikes
        return _of(stage.writes, values), state

    def _kept(
        self, number: int, parameters: Parameters, given: Values, state: Any
    ) -> tuple[Values, Any, list[Value]]:
        """The same, and what its backward needs beside."""
        free = {name: value for name, value in given.items() if name not in self.constants}

        def work(parameters: Parameters, free: Values, state: Any) -> tuple[Values, Any]:
            return self._computed(number, parameters, given | free, state)

        (values, after), pullback = jax.vjp(work, parameters, free, state)
        self.forms[number], residuals = Form.of(pullback, (parameters, given, values))
        return values, after, residuals

    def _written(self, kept: list[Any]) -> Values:
        return {name: value for values, *_ in kept for name, value in values.items()}

    def _with_residuals(self, parameters: Parameters, given: Values) -> tuple[Values, Any]:
        kept = self._forward(self._kept, parameters, given)
        written = self._written(kept)
        return written, (parameters, given | written, [leaves for _, _, leaves in kept])

    # -- backward
    # --------------------------------------------------------------------------------------------

    def _backward(self, residuals: Any, upstream: Values) -> tuple[Parameters, Values]:
        """The same wavefront mirrored. Gradients of parameters are those of the device's own
        steps."""
        parameters, values, kept = residuals
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
                partial(self._pulled, number),
                back[number],
                known,
                kept[number],
                errors,
                states[number],
            )
            states[number] = self._handed(back[number][2], rank, rank - 1)
        by_given = {
            name: self._error(jnp.zeros_like(values[name]), name, back) for name in self.reads
        }
        return {node: own for by_own, _, _ in back for node, own in by_own.items()}, by_given

    def _pulled(
        self, number: int, known: Any, leaves: list[Value], errors: Values, state: Any
    ) -> tuple[Parameters, Values, Any]:
        """Gradients by a stage's parameters, by what it reads and by the state that it began
        with."""
        found: tuple[Parameters, Values, Any] = self.forms[number].pullback(leaves, known)(
            (errors, state)
        )
        return found

    def _error(self, behind: Value, name: str, back: list[Any]) -> Value:
        """The gradient by a value: from behind the wave, and from the stages that read it."""
        return sum(
            (by_read[name] for _, by_read, _ in filter(None, back) if name in by_read), behind
        )

    def _handed(self, state: Any, rank: int, to: int) -> Any:
        """The state of one device in another; elsewhere it is 0, and nobody looks at it."""
        pairs = [(rank, to)] if 0 <= to < self.parts.ranks else []
        return (
            jax.tree_util.tree_map(lambda leaf: jax.lax.ppermute(leaf, RANKS, pairs), state)
            if pairs
            else state
        )


def _turn(rank: int, work: Callable[..., Any], kept: Any, *given: Any) -> Any:
    """What `work` makes of what is given, in the device whose turn it is; in others what it `kept`
    from its own."""
    if kept is None:
        shapes = jax.eval_shape(work, *given)
        kept = jax.tree_util.tree_map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    mine = jax.lax.axis_index(RANKS) == rank
    return jax.lax.cond(
        mine, lambda kept, *given: work(*given), lambda kept, *given: kept, kept, *given
    )


def _of(names: tuple[str, ...], values: dict[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}
