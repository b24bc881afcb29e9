"""Turns contrasts of two times into verdicts: slower, faster, same, ambiguous, or unsure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..common.units import counted
from ..core.result import Array
from .contrasts import FAMILYWISE_ERROR, LogRatio, blocks_needed, compared
from .quality import FEWEST_BLOCKS

EQUAL = 0.90
"""Two times are the same if the interval of this confidence lies within the rule's factor."""
NOISE = 3.0
"""A user's factor counts even if blocks are few or disturbed, if it is at least this."""


@dataclass(frozen=True)
class Rule:
    """A time has changed if Holm's p is at most FAMILYWISE_ERROR and the ratio is at least
    `changed`, either way.

    It is the same if the interval lies within a factor of `same`. With `plain`, a ratio of
    `changed` counts even if all else is unsure.
    """

    changed: float
    same: float
    plain: bool = False

    def or_factor(self, factor: float | None) -> "Rule":
        """Returns the rule with a user's factor in place of its own."""
        return self if factor is None else Rule(factor, factor, factor >= NOISE)


@dataclass(frozen=True)
class Pair:
    """The seconds of a phase of a case in the base and in the new set.

    `contrasts` are the log ratios, new over base, of blocks; NaN if a block shows nothing. `plain`
    is the log ratio of the published times, `spread` the one of `compared`.
    """

    case: str
    phase: str
    base: float
    new: float
    contrasts: Array
    plain: float
    spread: float = 0.0


@dataclass(frozen=True)
class Change:
    """The change of a phase's time: the ratio, new over base, with its 95 % interval.

    The interval is None if there are too few blocks. `verdict` is slower, faster, same, ambiguous
    or unsure; `note` has the reason if it is unsure, or what would decide it: `more_blocks` on each
    side, None if no reasonable number would.
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
    """Returns verdicts on a family of pairs. A `doubt` about all of them leaves no verdict but
    changes beyond a plain factor."""
    family, spreads = [pair.contrasts for pair in pairs], np.array([pair.spread for pair in pairs])
    wide, narrow = compared(family, spreads), compared(family, spreads, EQUAL)
    return [
        _change(*triple, rule, doubt, len(pairs))
        for triple in zip(pairs, wide, narrow, strict=True)
    ]


def _change(
    pair: Pair, wide: LogRatio, narrow: LogRatio, rule: Rule, doubt: str, family: int
) -> Change:
    blocks = int(np.isfinite(pair.contrasts).sum())
    log_ratio = wide.estimate if np.isfinite(wide.estimate) else pair.plain
    known = bool(np.isfinite(wide.high))
    low, high = (float(np.exp(wide.low)), float(np.exp(wide.high))) if known else (None, None)
    beyond = abs(log_ratio) >= np.log(rule.changed)
    direction, more = "slower" if log_ratio > 0 else "faster", None
    note = doubt or ("few blocks" if blocks < FEWEST_BLOCKS else "")
    if note:
        verdict = direction if rule.plain and beyond else "unsure"
        more = FEWEST_BLOCKS - blocks if not doubt else None
    elif wide.p <= FAMILYWISE_ERROR and beyond:
        verdict = direction
    elif -np.log(rule.same) < narrow.low and narrow.high < np.log(rule.same):
        verdict = "same"
    else:
        needed = blocks_needed(wide.variance, family, rule.same)
        verdict, more = "ambiguous", None if needed is None else max(needed - blocks, 1)
        note = counted(more, "more block") if more else "too noisy for any number of blocks"
    names = pair.case, pair.phase, pair.base, pair.new
    return Change(*names, float(np.exp(log_ratio)), low, high, wide.p, blocks, verdict, note, more)
