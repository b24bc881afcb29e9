"""Divides sizes among ranks; arrays that lie on several ranks."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

AXIS = {"data": 1, "time": 0}
"""The axis of arrays (T, B, *features) that ranks share, by the case's `parallel`."""
SIZE = {"data": "batch", "time": "time_steps"}
"""The field of a case with the size of that axis."""

Array = np.ndarray[Any, np.dtype[Any]]


def parts(count: int, ranks: int) -> list[slice]:
    """Returns the part of each rank of so many items, as equal as possible, longer ones first.

    >>> parts(7, 3)
    [slice(0, 3, None), slice(3, 5, None), slice(5, 7, None)]
    """
    sizes = [count // ranks + (rank < count % ranks) for rank in range(ranks)]
    return [slice(*ends) for ends in pairwise([0, *accumulate(sizes)])]


@dataclass(eq=False)
class Spread:
    """An array in parts on the ranks, under the number `key`; `array` is the whole. `send`
    overwrites the parts with those of another array, `again` writes them to new memory, and `drop`
    frees them when this object dies."""

    key: int
    array: Array
    send: Callable[[Array], None]
    again: Callable[[Array], "Spread"]
    drop: Callable[[], None]

    def __del__(self) -> None:
        self.drop()

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape
        return shape

    def changed(self, array: Array) -> "Spread":
        """Overwrites the numbers on the ranks."""
        self.array = array
        self.send(array)
        return self


@dataclass(frozen=True, eq=False)
class Gathered:
    """A computed array on the ranks. `read` fetches it in float32; None if there is none."""

    read: Callable[[], Array | None]
