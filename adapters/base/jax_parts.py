"""Cuts the items that JAX devices share into parts of equal size, as `shard_map` requires. Shorter
parts are padded with filler items."""

from typing import Any

import jax
import jax.numpy as jnp

from snnbench.core.sharded import parts

RANKS = "ranks"
Value = Any


class EqualParts:
    """`count` items on `ranks` devices, dealt out as `core.sharded.parts` does, each part padded to
    the longest."""

    def __init__(self, count: int, ranks: int) -> None:
        self.count, self.ranks, self.slices = count, ranks, parts(count, ranks)
        self.longest, self.even = self.slices[0].stop, count % ranks == 0

    def filled(self, value: Value, axis: int, filler: int = 0) -> Value:
        """Returns the padded parts of a whole, concatenated."""
        if self.even:
            return value

        def padded(start: int, stop: int) -> Value:
            width = [(0, 0)] * value.ndim
            width[axis] = 0, self.longest - (stop - start)
            part = jax.lax.slice_in_dim(value, start, stop, axis=axis)
            return jnp.pad(part, width, constant_values=filler)

        return jnp.concatenate([padded(part.start, part.stop) for part in self.slices], axis)

    def whole(self, value: Value, axis: int) -> Value:
        """Returns the whole again, without filler items."""
        if self.even:
            return value
        ends = [
            (rank * self.longest, rank * self.longest + part.stop - part.start)
            for rank, part in enumerate(self.slices)
        ]
        return jnp.concatenate(
            [jax.lax.slice_in_dim(value, *each, axis=axis) for each in ends], axis
        )

    def is_longest(self) -> Value:
        """Returns whether the calling device's part has no filler items."""
        return jax.lax.axis_index(RANKS) < (self.count % self.ranks or self.ranks)

    def real(self, axis: int, dimensions: int) -> Value:
        """Returns the mask of the calling device's real items, with `dimensions` axes, along
        `axis`."""
        mask = jnp.arange(self.longest) < self.longest - 1 + self.is_longest()
        return mask.reshape([-1 if each == axis else 1 for each in range(dimensions)])
