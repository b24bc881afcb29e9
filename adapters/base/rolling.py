"""The same numbers in another place: how the values of one call differ from those of another, in every format and exactly."""

import sys
from functools import cache
from typing import Any

import numpy as np


def shifts(turn: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """How far an array of that shape is rolled along each axis: the digits of `turn`, whose bases are the sizes of the axes.

    >>> shifts(17, (5, 7))
    (2, 3)
    """
    digits = []
    for size in shape:
        turn, digit = divmod(turn, size)
        digits.append(digit)
    return tuple(digits)


def rolled(given: Any, turn: int, buffer: Any = None) -> Any:
    """`given`, an array of NumPy, torch or JAX, rolled by `shifts`, and computed. Written over `buffer`, an earlier result, where
    the framework's arrays can be written to. Raises TypeError for any other array.

    >>> rolled(np.arange(5), 2)
    array([3, 4, 0, 1, 2])
    """
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    by, axes = shifts(turn, tuple(given.shape)), tuple(range(len(given.shape)))
    if jax and isinstance(given, jax.Array):
        return _roll_of_jax()(given, by).block_until_ready()
    if torch and isinstance(given, torch.Tensor):
        result = given.roll(by, axes)
        return result if buffer is None else buffer.copy_(result)
    if not isinstance(given, np.ndarray):
        raise TypeError(f"an input on the device must be an array of NumPy, torch or JAX, not a {type(given).__name__}")
    if buffer is None:
        return np.roll(given, by, axes)
    buffer[...] = np.roll(given, by, axes)
    return buffer


@cache
def _roll_of_jax() -> Any:
    """Compiled once for a shape, whatever the shifts."""
    import jax

    return jax.jit(lambda array, by: jax.numpy.roll(array, by, tuple(range(array.ndim))))
