"""The order of recordings in an epoch, and their shifts."""

from dataclasses import dataclass
from random import Random

LARGEST_SHIFT = 5
"""Channels (of cameras: pixels along x) by which augmentation shifts a recording at most."""


@dataclass(frozen=True)
class Epoch:
    """Numbers of recordings from 0 on, in the order of delivery. With augmentation `shifts` has one
    integer for each: a recording's counts at place c of a row of the frame move to c + shift; those
    that leave the row are lost."""

    numbers: list[int]
    shifts: list[int] | None = None

    @classmethod
    def drawn(cls, samples: int, augmented: bool, seed: int) -> "Epoch":
        random = Random(seed)
        numbers = random.sample(range(samples), samples)
        return cls(
            numbers,
            [random.randint(-LARGEST_SHIFT, LARGEST_SHIFT) for _ in numbers] if augmented else None,
        )

    def first(self, count: int) -> "Epoch":
        return Epoch(self.numbers[:count], self.shifts and self.shifts[:count])

    def part(self, number: int, batch: int) -> "Epoch":
        """Returns the recordings of batch `number`, counted from 0."""
        here = slice(number * batch, (number + 1) * batch)
        return Epoch(self.numbers[here], self.shifts and self.shifts[here])
