"""A JAX program of which each device computes a part of the batch or of the time steps: the program
of one device under `shard_map`. Filler items count neither in statistics of norms nor in a loss."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

from snnbench.core.case import Case
from snnbench.core.contract import Parameters
from snnbench.core.network import Network
from snnbench.core.result import Array
from snnbench.core.sharded import AXIS, SIZE

from .jax_network import MOMENTS, JaxSpelling, Value
from .jax_parts import RANKS, EqualParts
from .jax_program import JaxProgram, JaxResult
from .jax_terms import terms
from .jax_time import Pipeline
from .jax_training import loss_of_items


@dataclass(frozen=True)
class Layout:
    """The layout of arrays on devices: the axis that they share, if any, and the value of filler
    items."""

    spec: Spec
    axis: int | None = None
    filler: int = 0


ALL, LABELS, EACH = Layout(Spec()), Layout(Spec(RANKS), 0, -1), Layout(Spec(RANKS))
"""Arrays that are alike on all devices; labels (B,), shared by items; arrays with the device as
first axis."""


class ShardedProgram(JaxProgram):
    def __init__(self, adapter: JaxSpelling, case: Case, network: Network) -> None:
        self.mesh = Mesh(jax.devices(case.device)[: case.ranks], (RANKS,))
        self.axis, self.parts = (
            AXIS[case.parallel],
            EqualParts(getattr(case, SIZE[case.parallel]), case.ranks),
        )
        self.shared = Layout(Spec(*[None] * self.axis, RANKS), self.axis)
        super().__init__(adapter, case, network)
        in_time = case.parallel == "time"
        if in_time:
            self.computed = Pipeline(self.network, self.parts, case.input_grad)
        output = ALL if in_time and network.steps(network.output.name, 2) == 1 else self.shared
        self.copies = case.ranks if output is ALL else 1
        self.labels = output if case.loss is None else ALL if in_time else LABELS
        self._forward = self._together(
            self._forward_of_part, (ALL, ALL, self.shared), (self.shared, output, ALL, EACH)
        )
        known = (ALL, self.shared, self.shared, output)
        gradients = (ALL, self.shared) if case.input_grad else (ALL,)
        self._backward = self._together(
            self._pull_back_of_part, (known, EACH, self.labels), (ALL, gradients)
        )
        after = (self.shared, output, ALL, ALL, ALL, ALL, gradients[1:])
        self._step = self._together(self._train, (ALL, ALL, ALL, self.shared, self.labels), after)
        self._inference, self._evaluation = (
            self._together(part, (ALL, ALL, self.shared), (self.shared, output))
            for part in (self._infer, self._evaluate)
        )

    def _together(self, part: Callable[..., Any], inputs: Any, outputs: Any) -> Any:
        """Returns the compiled function of the whole, each device computing its `part`; `inputs`
        and `outputs` are layouts."""

        def of_part(*arguments: Any) -> Any:
            with _moments_by(self._moments):
                return part(*arguments)

        specs = (
            jax.tree_util.tree_map(lambda layout: layout.spec, each) for each in (inputs, outputs)
        )
        shared = jax.shard_map(
            of_part, mesh=self.mesh, in_specs=next(specs), out_specs=next(specs), check_vma=False
        )

        def filled(value: Value, layout: Layout) -> Value:
            return self.parts.filled(value, layout.axis or 0, layout.filler)

        def whole(value: Value, layout: Layout) -> Value:
            return self.parts.whole(value, layout.axis or 0)

        return jax.jit(
            lambda *arguments: _map_shared(
                whole, shared(*_map_shared(filled, arguments, inputs)), outputs
            )
        )

    # -- traced functions of a part

    def _forward_of_part(self, *arguments: Any) -> tuple[Any, ...]:
        """Every residual gets the device as its first axis."""
        borders, value, running, residuals = self._forward_and_residuals(*arguments)
        return borders, value, running, [leaf[None] for leaf in residuals]

    def _pull_back_of_part(self, known: Any, residuals: list[Value], upstream: Value) -> Any:
        return self._pull_back(known, [leaf[0] for leaf in residuals], upstream)

    def _reduced(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        return (jax.lax.psum(gradients[0], RANKS), *gradients[1:])

    def _upstream(self, output: Value, upstream: Value) -> tuple[Value | None, Value]:
        """Each device takes its share of an output that all have alike."""
        if self.case.loss is None:
            return None, upstream / self.copies

        def loss_of_part(output: Value) -> Value:
            each = loss_of_items(self.case.loss, output, jnp.maximum(upstream, 0))
            return jnp.where(upstream < 0, 0, each).sum() / (self.case.batch * self.copies)

        loss, gradient = jax.value_and_grad(loss_of_part)(output)
        return jax.lax.psum(loss, RANKS), gradient

    def _moments(self, x: Value, axes: tuple[int, ...]) -> tuple[Value, Value, int]:
        """Returns mean and biased variance over the real items of all devices, and the number of
        values per channel."""
        count = x.size // x.shape[2] // self.parts.longest * self.parts.count
        real = self.parts.real(self.axis, x.ndim)
        mean = jax.lax.psum(jnp.where(real, x, 0).sum(axes), RANKS) / count
        deviations = jnp.where(real, x - mean.reshape(-1, *(1,) * (x.ndim - 3)), 0)
        return mean, jax.lax.psum((deviations**2).sum(axes), RANKS) / count, count

    # -- data

    def _put(self, array: Array, dtype: Any) -> Value:
        return jax.device_put(
            jnp.array(array, dtype=dtype, copy=True), NamedSharding(self.mesh, ALL.spec)
        )

    def _shard(self, value: Value, layout: Layout) -> Value:
        if not self.parts.even:
            return value
        return jax.device_put(value, NamedSharding(self.mesh, layout.spec))

    def put_input(self, array: Array) -> Value:
        return self._shard(super().put_input(array), self.shared)

    def put_upstream(self, array: Array, result: JaxResult) -> Value:
        return self._shard(super().put_upstream(array, result), self.labels)

    # -- sizes of one device

    def argument_bytes(self) -> int:
        return self._bytes_per_device((self.parameters, self.states))

    def result_bytes(self, result: JaxResult) -> int:
        return self._bytes_per_device(
            (result.output, result.gradients, result.input_gradient, result.updated)
        )

    def _bytes_per_device(self, tree: Any) -> int:
        shards = (
            shard for leaf in jax.tree_util.tree_leaves(tree) for shard in leaf.addressable_shards
        )
        return sum(int(shard.data.nbytes) for shard in shards) // self.case.ranks

    # -- facts

    def distributed(self, parameters: Parameters, array: Array, upstream: Array) -> dict[str, Any]:
        """Returns facts about the devices, measured outside the clock: see
        `snnbench.schema.reported`. Devices share the cores and the memory of this process, and
        XLA does not report waiting."""
        each = {"cores": len(os.sched_getaffinity(0)), "host_peak_bytes": None, "wait_s": None}
        facts: dict[str, Any] = {
            "launcher": "jax.shard_map",
            "backend": "XLA",
            "ranks": [each] * self.case.ranks,
        }
        if self.case.parallel == "time":
            facts["terms"] = terms(self.network, self.case, self.mesh, parameters, array, upstream)
        return facts


def _map_shared(function: Callable[[Value, Layout], Value], values: Any, layout: Any) -> Any:
    """Applies `function` to values that devices share; keeps the others."""
    if isinstance(layout, tuple):
        pairs = zip(values, layout, strict=True)
        return tuple(_map_shared(function, value, one) for value, one in pairs)
    if layout.axis is None:
        return values
    return jax.tree_util.tree_map(lambda value: function(value, layout), values)


@contextmanager
def _moments_by(moments: Callable[..., Any]) -> Iterator[None]:
    """Makes norms that are traced inside the block use `moments`."""
    token = MOMENTS.set(moments)
    try:
        yield
    finally:
        MOMENTS.reset(token)
