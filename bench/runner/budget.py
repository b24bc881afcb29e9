"""The time budget of a run: which cases it can still start, and how many passes it can time."""

import time
from collections.abc import Callable, Collection, Sequence
from math import inf
from statistics import mean

from snnbench.adapters.registry import FRAMEWORKS

from ..core.case import Case

FASTEST_FIRST = (
    *("fused", "jax", "spyx", "rockpool-jax", "torch", "spikingjelly", "sinabs", "snntorch"),
    *("norse", "rockpool"),
)
"""Frameworks in the order of the committed set quickstart. A budget starts adapters that are not
named here first if they are a user's, else last."""
COMPILING = ("fused", "jax", "spyx", "rockpool-jax")
"""Frameworks that compile before their first call, so that they start slowest."""
SHARES = 3
"""A start in the first block may take one of so many parts of the time that is left, while others
wait."""
AT_ONCE = 3
"""Workers that start at once where programs wait for cores: together they have a larger share of
these. Two if time is tight, and the first may take all of it: a pair decides more than none."""
TIGHT_S = 20.0
"""Seconds of a core in which two frameworks that compile cannot start and be timed."""
LEAST_PASSES = 3
"""Passes that a case gets even if they exceed its own budget (`measure.budget`)."""
RESTART = 0.6
"""Seconds of a start in a later block over those in the first, which also proves and weighs."""
ENDING = 0.15
"""Seconds that a worker takes to end, over those of its start."""
STAYING = 0.5
"""Share of the cases in a block that are expected in the next one, too."""
JUDGING_S = 1.0
"""Seconds in which the judge compares the last call of a case."""


def compiles(case: Case) -> bool:
    """Returns whether a case compiles before its first call."""
    return case.mode != "eager" or case.framework.partition("@")[0] in COMPILING


def expected_place(case: Case, named: Collection[str] = ()) -> int:
    """Returns the place of a case among those that a budget starts: frameworks that the
    neuron is `named` by, then the fastest first."""
    name = case.framework.partition("@")[0]
    if name in named:
        return -2
    if name in FASTEST_FIRST:
        return FASTEST_FIRST.index(name)
    return len(FASTEST_FIRST) if name in FRAMEWORKS else -1


class Budget:
    """`seconds` from now on, by `clock`, for all blocks of a run; by default without limit.

    Workers of a block start one by one. Each needs, besides its own start, LEAST_PASSES passes of
    all workers that are alive, their ends, and, behind the first two, half of it again if a
    `further` block is planned: a single worker decides nothing. `slots` are the seconds of a slot
    of each of them. `crowd` is how many programs wait for a core.
    """

    def __init__(
        self,
        seconds: float = inf,
        clock: Callable[[], float] = time.monotonic,
        crowd: float = 0.0,
    ) -> None:
        self.seconds, self.clock, self.ends = seconds, clock, clock() + seconds
        self.is_tight = seconds < TIGHT_S * max(crowd, 1.0)
        self.at_once = AT_ONCE - self.is_tight if crowd > 1.0 and self.limited else 1
        self._starts: list[float] = []
        self._typical_start, self._block = 0.0, 0

    @property
    def limited(self) -> bool:
        return self.seconds < inf

    @property
    def left(self) -> float:
        """Remaining seconds."""
        return self.ends - self.clock()

    def begin_block(self, number: int) -> None:
        self._block = number
        if number:
            self._typical_start *= RESTART if number == 1 else 1.0
        self._starts = []

    def note_start(self, seconds: float) -> None:
        """Notes the duration of a start."""
        self._starts.append(seconds)
        self._typical_start = mean(self._starts)

    def holds_one_more(self, slots: Sequence[float], further: bool, begun: float = 0.0) -> bool:
        """Returns whether there is time for another worker, which has been starting for `begun`
        seconds, next to those with `slots`."""
        more = [*slots, mean(slots) if slots else 0.0]
        rest = self._rest_of_block(more, further and len(slots) > 1)
        return self.left >= max(self._typical_start - begun, 0.0) + rest

    def holds_pass(self, number: int, slots: Sequence[float], further: bool) -> bool:
        """Returns whether there is time for pass `number` of a block, of which the first is always
        timed."""
        needed = self._ends_of(slots) + _seconds_of(slots)
        if number >= LEAST_PASSES:
            needed += self._next_block(slots, further)
        return number == 0 or self.left >= needed

    def longest_start(self, slots: Sequence[float], further: bool, waiting: int = 0) -> float:
        """Returns the seconds that a worker may take to start, so that those with `slots` can be
        timed and ended, and others that are `waiting` can start, too."""
        rest = self._rest_of_block(slots, further and len(slots) > 1) if slots else 0.0
        longest = self.left - rest
        shares = 1 if self._block or self.is_tight else min(SHARES, waiting + 1)
        return min(longest, max(longest / shares, 2 * self._typical_start))

    def _rest_of_block(self, slots: Sequence[float], further: bool) -> float:
        timed = LEAST_PASSES * _seconds_of(slots) + len(slots) * JUDGING_S
        return timed + self._ends_of(slots) + self._next_block(slots, further)

    def _next_block(self, slots: Sequence[float], further: bool) -> float:
        if not further:
            return 0.0
        timed = LEAST_PASSES * _seconds_of(slots) + len(slots) * JUDGING_S
        return STAYING * (timed + (RESTART + ENDING) * self._typical_start * len(slots))

    def _ends_of(self, slots: Sequence[float]) -> float:
        return ENDING * self._typical_start * len(slots)


def _seconds_of(slots: Sequence[float]) -> float:
    """Returns the seconds of a pass. On a busy machine most slots are repeated once."""
    return 2 * sum(slots)
