"""Where a dot and its interval lie on a logarithmic time axis: numbers in, pixels out. The template draws."""

from dataclasses import dataclass
from itertools import pairwise
from math import floor, log, log10

from . import units

WIDTH, MARGIN = 230, 24
"""Pixels of the whole drawing, and of each side, where half a tick's label must fit."""
MOST_TICKS = 5
LABEL = 42
"""Pixels that a tick's label takes at most."""
SMALLEST = 1e-12
SMALLEST_SPAN = 1.25
"""A group of equal times must not be blown up until noise looks like a difference."""


@dataclass(frozen=True)
class LogAxis:
    """A logarithmic axis from `low` to `high` seconds."""

    low: float
    high: float

    def x(self, seconds: float) -> float:
        share = log(max(seconds, SMALLEST) / self.low) / log(self.high / self.low)
        return round(MARGIN + (WIDTH - 2 * MARGIN) * min(max(share, 0.0), 1.0), 1)

    @property
    def ticks(self) -> list[dict]:
        """Positions and labels of round numbers: decades, 1-3, 1-2-5 or equal steps, whichever gives most labels that fit."""
        choices = [[v for v in values if self.low <= v <= self.high] for values in self._candidates()]
        best = max((choice for choice in choices if self._fits(choice)), key=len)
        return [{"x": self.x(value), "label": _label(value)} for value in best]

    def _fits(self, values: list[float]) -> bool:
        places = [self.x(value) for value in values]
        return all(right - left >= LABEL for left, right in pairwise(places))

    def _candidates(self):
        decades = range(floor(log10(self.low)), floor(log10(self.high)) + 1)
        yield [10.0**decade for decade in decades[:: 1 + len(decades) // MOST_TICKS]]
        yield [mantissa * 10.0**decade for decade in decades for mantissa in (1, 3)]
        yield [mantissa * 10.0**decade for decade in decades for mantissa in (1, 2, 5)]
        if self.high / self.low < 4:  # else equal steps crowd at the right
            rough = (self.high - self.low) / MOST_TICKS
            unit = 10.0 ** floor(log10(rough))
            step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
            first = floor(self.low / step)
            yield [count * step for count in range(first, first + MOST_TICKS + 2)]


def axis_of(seconds: list[float]) -> LogAxis | None:
    """An axis on which all of `seconds` lie, with some room; None if there are none."""
    if not seconds:
        return None
    low, high = (max(value, SMALLEST) for value in (min(seconds), max(seconds)))
    room = max((high / low) ** 0.04, (SMALLEST_SPAN * low / high) ** 0.5)
    return LogAxis(low / room, high * room)


def _label(seconds: float) -> str:
    number, unit = units.seconds(float(f"{seconds:.6g}")).split(" ")
    return f"{float(number):g} {unit}"
