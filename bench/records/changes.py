"""Contrasts of two times → a verdict on each: slower, faster, same, ambiguous, or unsure because nothing may be said."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..common.units import counted
from ..core.result import Array
from .contrasts import FAMILY, Comparison, blocks_needed, compared
from .quality import FEWEST_BLOCKS

EQUAL = 0.90
"""Two times are the same if their ratio's interval of this confidence lies within the rule's factor."""
NOISE = 3.0
"""A factor given by the user counts even where blocks are few or disturbed, if it is at least this: noise is less."""


@dataclass(frozen=True)
class Rule:
    """A time has changed if Holm's p is at most FAMILY and the ratio is `changed` or more, either way; it is the same if the
    interval lies within a factor of `same`. `plain`: ratios of `changed` or more count even where all else is unsure."""

    changed: float
    same: float
    plain: bool = False

    def or_factor(self, factor: float | None) -> "Rule":
        """The rule with a user's factor in place of its own."""
        return self if factor is None else Rule(factor, factor, factor >= NOISE)


@dataclass(frozen=True)
class Pair:
    """A phase of a case in seconds, before and now. `contrasts` are log ratios, new over base, of blocks; NaN: a block shows
    nothing. `plain` is the log ratio of the published times. `spread` is what `compared` wants to know."""

    case: str
    phase: str
    base: float
    new: float
    contrasts: Array
    plain: float
    spread: float = 0.0


@dataclass(frozen=True)
class Change:
    """How the time of a phase has changed: new over base with its 95 % interval, None where there are too few blocks for one.

    `verdict` is slower, faster, same, ambiguous or unsure; `note` says why it is unsure, or what would decide it: `more_blocks`,
    on each side, None if no reasonable number would.
    """

    case: str
    phase: str
    base: float
    new: float
    ratio: float
    low: float | None
    high: float | None
    p: float
    blocks: int
    verdict: str
    note: str = ""
    more_blocks: int | None = None


def changes(pairs: Sequence[Pair], rule: Rule, doubt: str = "") -> list[Change]:
    """Verdicts on a family of pairs. A `doubt` about all of them, in words, leaves none but what is beyond a plain factor."""
    family, spreads = [pair.contrasts for pair in pairs], np.array([pair.spread for pair in pairs])
    wide, narrow = compared(family, spreads), compared(family, spreads, EQUAL)
    return [_change(*one, rule, doubt, len(pairs)) for one in zip(pairs, wide, narrow, strict=True)]


def _change(
    pair: Pair, shown: Comparison, narrow: Comparison, rule: Rule, doubt: str, family: int
) -> Change:
    blocks = int(np.isfinite(pair.contrasts).sum())
    log_ratio = shown.estimate if np.isfinite(shown.estimate) else pair.plain
    known = bool(np.isfinite(shown.high))
    low, high = (float(np.exp(shown.low)), float(np.exp(shown.high))) if known else (None, None)
    beyond = abs(log_ratio) >= np.log(rule.changed)
    direction, more = "slower" if log_ratio > 0 else "faster", None
    note = doubt or ("few blocks" if blocks < FEWEST_BLOCKS else "")
    if note:
        verdict = direction if rule.plain and beyond else "unsure"
        more = FEWEST_BLOCKS - blocks if not doubt else None
    elif shown.p <= FAMILY and beyond:
        verdict = direction
    elif -np.log(rule.same) < narrow.low and narrow.high < np.log(rule.same):
        verdict = "same"
    else:
        needed = blocks_needed(shown.variance, family, rule.same)
        more = None if needed is None else max(needed - blocks, 1)
        verdict, note = (
            "ambiguous",
            "too noisy for any number of blocks" if more is None else _more(more),
        )
    names = pair.case, pair.phase, pair.base, pair.new
    return Change(*names, float(np.exp(log_ratio)), low, high, shown.p, blocks, verdict, note, more)


def _more(blocks: int) -> str:
    return counted(blocks, "more block")
