"""How sizes are dealt out to ranks, and arrays that lie on several of them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

AXIS = {"data": 1, "time": 0}
"""The axis of arrays (T, B, *features) that ranks share, by what is parallel."""
SIZE = {"data": "batch", "time": "time_steps"}
"""The field of a case that counts it."""

Array = np.ndarray[Any, np.dtype[Any]]


def parts(count: int, ranks: int) -> list[slice]:
    """The part of each rank of so many items, as equal as can be, longer ones first.

    >>> parts(7, 3)
    [slice(0, 3, None), slice(3, 5, None), slice(5, 7, None)]
    """
    sizes = [count // ranks + (rank < count % ranks) for rank in range(ranks)]
    return [slice(*ends) for ends in pairwise([0, *accumulate(sizes)])]


@dataclass(eq=False)
class Spread:
    """An array that ranks have in parts, under the number `key`: `array` is the whole as it was given. `send` gives each rank its
    part of a whole to write there, `again` to write elsewhere, and `drop` has them forget it when nobody holds it here."""

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
        """The same on the ranks, with other numbers."""
        self.array = array
        self.send(array)
        return self


@dataclass(frozen=True, eq=False)
class Gathered:
    """An array that ranks hold, computed: `read` fetches it, float32; None if there is none."""

    read: Callable[[], Array | None]
