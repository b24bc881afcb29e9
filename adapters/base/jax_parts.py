"""What devices of JAX share, in parts of one size, as shard_map wants them: those that are shorter
are filled up with items that count nowhere."""

from typing import Any

import jax
import jax.numpy as jnp

from snnbench.core.sharded import parts

RANKS = "ranks"
"""The axis of the mesh."""
Value = Any
"""A JAX array."""


class EqualParts:
    """So many items on so many devices, as `ranks.parts` deals them out, each part filled up to the
    longest."""

    def __init__(self, count: int, ranks: int) -> None:
        self.count, self.ranks, self.own = count, ranks, parts(count, ranks)
        self.longest, self.even = self.own[0].stop, count % ranks == 0

    def filled(self, value: Value, axis: int, filler: int = 0) -> Value:
        """The parts of a whole, one behind the other."""
        if self.even:
            return value

        def one(own: slice) -> Value:
            width = [
                (0, self.longest - (own.stop - own.start) if each == axis else 0)
                for each in range(value.ndim)
            ]
            return jnp.pad(
                jax.lax.slice_in_dim(value, own.start, own.stop, axis=axis),
                width,
                constant_values=filler,
            )

        return jnp.concatenate([one(own) for own in self.own], axis)

    def whole(self, value: Value, axis: int) -> Value:
        """The whole again, without what parts were filled up with."""
        if self.even:
            return value
        ends = [
            (rank * self.longest, rank * self.longest + own.stop - own.start)
            for rank, own in enumerate(self.own)
        ]
        return jnp.concatenate([jax.lax.slice_in_dim(value, *of, axis=axis) for of in ends], axis)

    def is_longest(self) -> Value:
        """Whether nothing was filled up in the part of the device that asks."""
        return jax.lax.axis_index(RANKS) < (self.count % self.ranks or self.ranks)

    def real(self, axis: int, dimensions: int) -> Value:
        """Which items of the device's part were not filled up, as a mask of so many dimensions,
        along `axis`."""
        mask = jnp.arange(self.longest) < self.longest - 1 + self.is_longest()
        return mask.reshape([-1 if each == axis else 1 for each in range(dimensions)])
