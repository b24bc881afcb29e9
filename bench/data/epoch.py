"""What an epoch asks of a strategy."""

from dataclasses import dataclass
from random import Random

LARGEST_SHIFT = 5
"""Channels (of cameras: pixels along x) by which augmentation shifts a recording at most, up or
down."""


@dataclass(frozen=True)
class Epoch:
    """Numbers of recordings from 0 on, in the order in which they are delivered. With augmentation
    `shifts` has as many whole numbers: a recording's counts at place c of a row of the frame go to
    c + shift, and what leaves the row is lost."""

    numbers: list[int]
    shifts: list[int] | None = None

    @classmethod
    def drawn(cls, samples: int, augmented: bool, seed: int) -> "Epoch":
        """Every recording once."""
        random = Random(seed)
        numbers = random.sample(range(samples), samples)
        return cls(
            numbers,
            [random.randint(-LARGEST_SHIFT, LARGEST_SHIFT) for _ in numbers] if augmented else None,
        )

    def first(self, count: int) -> "Epoch":
        """Its first recordings."""
        return Epoch(self.numbers[:count], self.shifts and self.shifts[:count])

    def part(self, number: int, batch: int) -> "Epoch":
        """The recordings of a batch, counted from 0."""
        here = slice(number * batch, (number + 1) * batch)
        return Epoch(self.numbers[here], self.shifts and self.shifts[here])
