"""A JAX network of which every device computes a part of the batch: the program of one device, under `shard_map`.

Devices have parts of one size, as shard_map wants them: a batch that cannot be dealt out evenly is filled up with items that
count nowhere, neither in statistics of norms nor in a loss.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

from .case import Case
from .jax_network import MOMENTS, JaxSpelling, Value
from .jax_program import JaxProgram, JaxResult
from .jax_training import loss_of_items
from .network import Network
from .result import Array

RANKS = "ranks"


@dataclass(frozen=True)
class Dealt:
    """How arrays are dealt out to devices, and the axis of the batch that is filled up, if any."""

    spec: Spec
    axis: int | None = None


ALL, ITEMS, LABELS, EACH = Dealt(Spec()), Dealt(Spec(None, RANKS), 1), Dealt(Spec(RANKS), 0), Dealt(Spec(RANKS))
"""What all devices have alike; arrays (T, B, …) by their items; labels (B,) by theirs; arrays with a first axis of devices."""


class ShardedProgram(JaxProgram):
    def __init__(self, adapter: JaxSpelling, case: Case, network: Network) -> None:
        devices = jax.devices(case.device)[: case.ranks]
        self.mesh = Mesh(devices, (RANKS,))
        self.missing = -case.batch % case.ranks
        super().__init__(adapter, case, network)
        self.labels = LABELS if case.loss else ITEMS
        self._forward = self._together(self._forward_of_part, (ALL, ALL, ITEMS), (ITEMS, ITEMS, ALL, EACH))
        known = (ALL, ITEMS, ITEMS, ITEMS)
        gradients = (ALL, ITEMS) if case.input_grad else (ALL,)
        self._backward = self._together(self._pull_back_of_part, (known, EACH, self.labels), (ALL, gradients))
        after = (ITEMS, ITEMS, ALL, ALL, ALL, ALL, gradients[1:])
        self._step = self._together(self._train, (ALL, ALL, ALL, ITEMS, self.labels), after)
        self._inference = self._together(self._infer, (ALL, ALL, ITEMS), (ITEMS, ITEMS))

    def _together(self, part: Callable[..., Any], given: Any, gives: Any) -> Any:
        """The compiled function of the whole batch whose parts `part` computes; `given` and `gives` say what is dealt out."""

        def of_part(*arguments: Any) -> Any:
            with _moments(self._moments):
                return part(*arguments)

        specs = (jax.tree_util.tree_map(lambda dealt: dealt.spec, each) for each in (given, gives))
        shared = jax.shard_map(of_part, mesh=self.mesh, in_specs=next(specs), out_specs=next(specs), check_vma=False)

        def whole(*arguments: Any) -> Any:
            return self._resized(shared(*self._resized(arguments, given, self.missing)), gives, -self.missing)

        return jax.jit(whole)

    def _resized(self, values: Any, dealt: Any, more: int) -> Any:
        """Values with so many items more, or fewer, where they are dealt out by items."""
        if isinstance(dealt, tuple):
            return tuple(self._resized(value, one, more) for value, one in zip(values, dealt, strict=True))
        if not more or dealt.axis is None:
            return values
        return jax.tree_util.tree_map(partial(_resize, axis=dealt.axis, more=more), values)

    # -- traced functions of a part --------------------------------------------------------------------------

    def _forward_of_part(self, *given: Any) -> tuple[Any, ...]:
        """Residuals have the device as their first axis, whatever they are."""
        borders, value, running, residuals = self._forward_and_residuals(*given)
        return borders, value, running, [leaf[None] for leaf in residuals]

    def _pull_back_of_part(self, known: Any, residuals: list[Value], upstream: Value) -> Any:
        return self._pull_back(known, [leaf[0] for leaf in residuals], upstream)

    def _reduced(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        return (jax.lax.psum(gradients[0], RANKS), *gradients[1:])

    def _pulled(self, output: Value, upstream: Value) -> tuple[Value | None, Value]:
        if self.case.loss is None:
            return None, upstream

        def loss_of_part(output: Value) -> Value:
            each = loss_of_items(self.case.loss, output, jnp.maximum(upstream, 0))
            return jnp.where(upstream < 0, 0, each).sum() / self.case.batch

        loss, gradient = jax.value_and_grad(loss_of_part)(output)
        return jax.lax.psum(loss, RANKS), gradient

    def _moments(self, x: Value, axes: tuple[int, ...]) -> tuple[Value, Value, int]:
        """Mean and biased variance of the real items of all devices, and how many numbers of a channel these are of."""
        numbers = x.size // x.shape[2] // x.shape[1] * self.case.batch
        index = jax.lax.axis_index(RANKS) * x.shape[1] + jnp.arange(x.shape[1])
        real = (index < self.case.batch).reshape(1, -1, *(1,) * (x.ndim - 2))
        mean = jax.lax.psum(jnp.where(real, x, 0).sum(axes), RANKS) / numbers
        apart = jnp.where(real, x - mean.reshape(-1, *(1,) * (x.ndim - 3)), 0)
        return mean, jax.lax.psum((apart**2).sum(axes), RANKS) / numbers, numbers

    # -- data ------------------------------------------------------------------------------------------------

    def _put(self, array: Array, dtype: Any) -> Value:
        return jax.device_put(jnp.array(array, dtype=dtype, copy=True), NamedSharding(self.mesh, ALL.spec))

    def _dealt(self, value: Value, dealt: Dealt) -> Value:
        return value if self.missing else jax.device_put(value, NamedSharding(self.mesh, dealt.spec))

    def put_input(self, array: Array) -> Value:
        return self._dealt(super().put_input(array), ITEMS)

    def put_upstream(self, array: Array, result: JaxResult) -> Value:
        return self._dealt(super().put_upstream(array, result), self.labels)


def _resize(value: Value, axis: int, more: int) -> Value:
    """With so many items more, of 0, or of the label -1; or fewer."""
    if more < 0:
        return jax.lax.slice_in_dim(value, 0, value.shape[axis] + more, axis=axis)
    width = [(0, more if own == axis else 0) for own in range(value.ndim)]
    return jnp.pad(value, width, constant_values=-1 if axis == 0 else 0)


@contextmanager
def _moments(own: Callable[..., Any]) -> Any:
    """Norms that are traced meanwhile take these."""
    before = MOMENTS.set(own)
    try:
        yield
    finally:
        MOMENTS.reset(before)
