"""A JAX network of which every device computes a part of the batch or of the time steps: the
program of one device, under `shard_map`. What parts are filled up with counts nowhere, neither in
statistics of norms nor in a loss."""

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
class Dealt:
    """How arrays are dealt out to devices: the axis that is shared, if any, and what parts are
    filled up with."""

    spec: Spec
    axis: int | None = None
    filler: int = 0


ALL, LABELS, EACH = Dealt(Spec()), Dealt(Spec(RANKS), 0, -1), Dealt(Spec(RANKS))
"""What all devices have alike; labels (B,) by their items; arrays with a first axis of devices."""


class ShardedProgram(JaxProgram):
    def __init__(self, adapter: JaxSpelling, case: Case, network: Network) -> None:
        self.mesh = Mesh(jax.devices(case.device)[: case.ranks], (RANKS,))
        self.axis, self.parts = (
            AXIS[case.parallel],
            EqualParts(getattr(case, SIZE[case.parallel]), case.ranks),
        )
        self.shared = Dealt(Spec(*[None] * self.axis, RANKS), self.axis)
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
        self._inference = self._together(
            self._infer, (ALL, ALL, self.shared), (self.shared, output)
        )

    def _together(self, part: Callable[..., Any], given: Any, gives: Any) -> Any:
        """The compiled function of the whole whose parts `part` computes; `given` and `gives` say
        what is dealt out."""

        def of_part(*arguments: Any) -> Any:
            with _moments(self._moments):
                return part(*arguments)

        specs = (jax.tree_util.tree_map(lambda dealt: dealt.spec, each) for each in (given, gives))
        shared = jax.shard_map(
            of_part, mesh=self.mesh, in_specs=next(specs), out_specs=next(specs), check_vma=False
        )

        def filled(value: Value, dealt: Dealt) -> Value:
            return self.parts.filled(value, dealt.axis or 0, dealt.filler)

        def whole(value: Value, dealt: Dealt) -> Value:
            return self.parts.whole(value, dealt.axis or 0)

        return jax.jit(
            lambda *arguments: _of_shared(
                whole, shared(*_of_shared(filled, arguments, given)), gives
            )
        )

    # -- traced functions of a part
    # --------------------------------------------------------------------------

    def _forward_of_part(self, *given: Any) -> tuple[Any, ...]:
        """Residuals have the device as their first axis, whatever they are."""
        borders, value, running, residuals = self._forward_and_residuals(*given)
        return borders, value, running, [leaf[None] for leaf in residuals]

    def _pull_back_of_part(self, known: Any, residuals: list[Value], upstream: Value) -> Any:
        return self._pull_back(known, [leaf[0] for leaf in residuals], upstream)

    def _reduced(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        return (jax.lax.psum(gradients[0], RANKS), *gradients[1:])

    def _pulled(self, output: Value, upstream: Value) -> tuple[Value | None, Value]:
        """An output that all devices have alike goes back from each for its share."""
        if self.case.loss is None:
            return None, upstream / self.copies

        def loss_of_part(output: Value) -> Value:
            each = loss_of_items(self.case.loss, output, jnp.maximum(upstream, 0))
            return jnp.where(upstream < 0, 0, each).sum() / (self.case.batch * self.copies)

        loss, gradient = jax.value_and_grad(loss_of_part)(output)
        return jax.lax.psum(loss, RANKS), gradient

    def _moments(self, x: Value, axes: tuple[int, ...]) -> tuple[Value, Value, int]:
        """Mean and biased variance of the real items of all devices, and how many numbers of a
        channel these are of."""
        numbers = x.size // x.shape[2] // self.parts.longest * self.parts.count
        real = self.parts.real(self.axis, x.ndim)
        mean = jax.lax.psum(jnp.where(real, x, 0).sum(axes), RANKS) / numbers
        apart = jnp.where(real, x - mean.reshape(-1, *(1,) * (x.ndim - 3)), 0)
        return mean, jax.lax.psum((apart**2).sum(axes), RANKS) / numbers, numbers

    # -- data
    # ------------------------------------------------------------------------------------------------

    def _put(self, array: Array, dtype: Any) -> Value:
        return jax.device_put(
            jnp.array(array, dtype=dtype, copy=True), NamedSharding(self.mesh, ALL.spec)
        )

    def _dealt(self, value: Value, dealt: Dealt) -> Value:
        return (
            jax.device_put(value, NamedSharding(self.mesh, dealt.spec))
            if self.parts.even
            else value
        )

    def put_input(self, array: Array) -> Value:
        return self._dealt(super().put_input(array), self.shared)

    def put_upstream(self, array: Array, result: JaxResult) -> Value:
        return self._dealt(super().put_upstream(array, result), self.labels)

    # -- sizes: of one device
    # ---------------------------------------------------------------------------------

    def argument_bytes(self) -> int:
        return self._held((self.parameters, self.states))

    def result_bytes(self, result: JaxResult) -> int:
        return self._held((result.output, result.gradients, result.input_gradient, result.updated))

    def _held(self, tree: Any) -> int:
        """Bytes that a device holds of all arrays in a tree, on average."""
        shards = (
            shard for leaf in jax.tree_util.tree_leaves(tree) for shard in leaf.addressable_shards
        )
        return sum(int(shard.data.nbytes) for shard in shards) // self.case.ranks

    # -- what is known of them
    # -------------------------------------------------------------------------------

    def distributed(self, parameters: Parameters, array: Array, upstream: Array) -> dict[str, Any]:
        """What is known of the devices, outside the clock: see `snnbench.schema.distributed`. They
        share the cores and the memory of this process, and XLA does not tell who waits for whom."""
        each = {"cores": len(os.sched_getaffinity(0)), "host_peak_bytes": None, "wait_s": None}
        told: dict[str, Any] = {
            "launcher": "jax.shard_map",
            "backend": "XLA",
            "ranks": [each] * self.case.ranks,
        }
        if self.case.parallel == "time":
            told["terms"] = terms(self.network, self.case, self.mesh, parameters, array, upstream)
        return told


def _of_shared(work: Callable[[Value, Dealt], Value], values: Any, dealt: Any) -> Any:
    """What `work` makes of values that are shared; others as they are."""
    if isinstance(dealt, tuple):
        return tuple(_of_shared(work, value, one) for value, one in zip(values, dealt, strict=True))
    return (
        values
        if dealt.axis is None
        else jax.tree_util.tree_map(lambda value: work(value, dealt), values)
    )


@contextmanager
def _moments(own: Callable[..., Any]) -> Iterator[None]:
    """Norms that are traced meanwhile take these."""
    before = MOMENTS.set(own)
    try:
        yield
    finally:
        MOMENTS.reset(before)
