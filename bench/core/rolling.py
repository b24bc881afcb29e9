"""Rolls arrays, so that each call has other values, but exactly the same numbers in any format."""

import sys
from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from .sharded import Spread


def shifts(turn: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shift along each axis of an array of that shape: the digits of `turn`, with the
    sizes of the axes as bases.

    >>> shifts(17, (5, 7))
    (2, 3)
    """
    digits = []
    for size in shape:
        turn, digit = divmod(turn, size)
        digits.append(digit)
    return tuple(digits)


def rolled(source: Any, turn: int, buffer: Any = None) -> Any:
    """Returns `source`, an array of NumPy, torch or JAX, rolled by `shifts`, and computed. It is
    written over `buffer`, which is like `source`, and over nothing else, so that caches hold the
    arrays of a timed call. JAX returns a new array in the same memory; arrays spread over ranks are
    changed there. Raises TypeError for any other array.

    >>> rolled(np.arange(5), 2)
    array([3, 4, 0, 1, 2])
    """
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if isinstance(source, Spread):
        moved = rolled(source.array, turn)
        return source.again(moved) if buffer is None else buffer.changed(moved)
    by = shifts(turn, tuple(source.shape))
    if jax and isinstance(source, jax.Array):
        if buffer is None and {device.platform for device in source.devices()} == {"cpu"}:
            moved = rolled(np.asarray(source), turn)  # nothing is compiled
            return jax.device_put(moved, source.sharding).block_until_ready()
        moved = _roll_of_jax()(
            jax.numpy.empty_like(source) if buffer is None else buffer, source, by
        )
        # On the same devices: several may share it.
        return jax.device_put(moved, source.sharding).block_until_ready()
    if torch and isinstance(source, torch.Tensor):
        buffer = torch.empty_like(source) if buffer is None else buffer
    elif isinstance(source, np.ndarray):
        buffer = np.empty_like(source) if buffer is None else buffer
    else:
        raise TypeError(
            "an input on the device must be an array of NumPy, torch or JAX, "
            f"not a {type(source).__name__}"
        )
    pieces = [
        ((slice(shift, None), slice(size - shift)), (slice(shift), slice(size - shift, None)))
        for shift, size in zip(by, source.shape, strict=True)
    ]
    for piece in product(*pieces):
        buffer[tuple(to for to, _ in piece)] = source[tuple(start for _, start in piece)]
    return buffer


def all_rolled(arrays: Mapping[str, Mapping[str, Any]], turn: int) -> dict[str, dict[str, Any]]:
    """Returns copies of arrays by node and name, each rolled with `turn`."""
    return {
        node: {name: rolled(array, turn) for name, array in named.items()}
        for node, named in arrays.items()
    }


def alike(one: Any, other: Any) -> bool:
    """True if two tensors of torch agree in class, shape, strides, layout, dtype and device."""
    fields = ("shape", "dtype", "device", "layout")
    same = type(one) is type(other) and all(
        getattr(one, name, None) == getattr(other, name, "") for name in fields
    )
    return same and one.stride() == other.stride()


@cache
def _roll_of_jax() -> Any:
    """Returns a function that is compiled once per shape, whatever the shifts."""
    import jax

    def roll(buffer: Any, array: Any, by: tuple[int, ...]) -> Any:
        return jax.numpy.roll(array, by, tuple(range(array.ndim)))

    return jax.jit(roll, donate_argnums=0, keep_unused=True)
