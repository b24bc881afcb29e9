"""Statistics of live slots: one comparison of two cases, and a family of comparisons.

The time of a slot is a logarithm x. A block is one set of fresh processes, timed in passes; a
disturbed slot is NaN. A contrast is the difference of two cases within a pass, so that a slow pass
cancels out. NumPy and SciPy only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import digamma, polygamma, stdtr, stdtrit

from ..core.result import Array

FAMILY = 0.05
"""The chance that a family of comparisons holds a false verdict."""

TIE = np.log(1.01)
"""Cases with a smaller difference share a rank."""

MOST_PRIOR = 4.0
"""Most degrees of freedom that the variances of other comparisons add to a comparison's own."""


def medians(values: Array) -> Array:
    """Returns medians along the last axis without NaN; NaN if there is no other value."""
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    ordered, count = np.sort(values, axis=-1), np.isfinite(values).sum(axis=-1, keepdims=True)
    middle = [
        np.take_along_axis(ordered, at, axis=-1)[..., 0]
        for at in (np.maximum(count - 1, 0) // 2, count // 2)
    ]
    return np.where(count[..., 0] > 0, (middle[0] + middle[1]) / 2, np.nan)


def means(values: Array) -> Array:
    """Returns means along the last axis without NaN; NaN if there is no other value."""
    known = np.isfinite(values)
    counted = known.sum(axis=-1)
    return np.where(
        counted > 0, np.where(known, values, 0.0).sum(axis=-1) / np.maximum(counted, 1), np.nan
    )


def block_contrasts(first: Array, second: Array, timed: Array | None = None) -> Array:
    """Returns the median log ratio of slots (…, passes) over the passes with no disturbed slot.

    NaN if these are fewer than half of the passes, or of `timed`, the number of passes in which
    both were to be timed.
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    passes = differences.shape[-1] if timed is None else timed
    enough = 2 * np.isfinite(differences).sum(axis=-1) >= passes
    return np.where(enough, medians(differences), np.nan)


@dataclass(frozen=True)
class Moderated:
    """Variances of a family, each shrunk towards the others; `prior` counts degrees of freedom."""

    prior: float
    variances: Array
    freedom: float


def moderated(variances: Sequence[float] | Array, freedom: int) -> Moderated:
    """Shrinks variances by empirical Bayes (Smyth 2004, eq. 3 to 10) with a capped prior.

    Three blocks alone know a variance to a factor of six; other comparisons of the run know it
    better. Fewer than three variances stay as they are.
    """
    raw = np.asarray(variances, dtype=float)
    logs = np.log(raw[raw > 0])
    if len(logs) < 3:
        return Moderated(0.0, raw, float(freedom))
    half = freedom / 2
    shifted = logs - digamma(half) + np.log(half)
    excess = float(shifted.var(ddof=1) - polygamma(1, half))
    prior = 2 * _trigamma_inverse(excess) if excess > 0 else np.inf
    if prior > MOST_PRIOR:
        prior, common = MOST_PRIOR, float(raw.mean())
    else:
        common = float(np.exp(shifted.mean() + digamma(prior / 2) - np.log(prior / 2)))
    return Moderated(prior, (prior * common + freedom * raw) / (prior + freedom), prior + freedom)


def _trigamma_inverse(value: float) -> float:
    """Returns the x > 0 with ψ′(x) = `value`, by Newton's steps on 1/ψ′ (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-12 * x:
            break
    return x


def holm(chances: Sequence[float] | Array) -> Array:
    """Returns Holm's adjusted p. Those up to FAMILY hold a false one with a chance of at most
    FAMILY."""
    p = np.asarray(chances, dtype=float)
    order = np.argsort(p)
    stepped = np.minimum(1.0, p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


@dataclass(frozen=True)
class LogRatio:
    """A log ratio with its interval, and Holm's p that it is not zero."""

    estimate: float
    low: float
    high: float
    p: float
    variance: float

    @property
    def ratio(self) -> tuple[float, float, float]:
        """(ratio, low, high)."""
        return float(np.exp(self.estimate)), float(np.exp(self.low)), float(np.exp(self.high))


def compared(
    contrasts: Sequence[Array], spread: Array | float = 0.0, confidence: float = 0.95
) -> list[LogRatio]:
    """Returns a family of comparisons, each by its block contrasts; NaN if a block shows nothing.

    Variances are shrunk among comparisons with equally many blocks. Holm's p covers all comparisons
    with two blocks or more; others have no interval, and p = 1. `spread` is a standard deviation
    that all blocks of a comparison share, so that they do not show it.
    """
    counted = [
        values[np.isfinite(values)]
        for values in (np.asarray(each, dtype=float) for each in contrasts)
    ]
    estimates = np.array([values.mean() if len(values) else np.nan for values in counted])
    reach, p = np.full(len(counted), np.inf), np.ones(len(counted))
    variances, hidden = (
        np.full(len(counted), np.nan),
        np.broadcast_to(np.square(spread), len(counted)),
    )
    for blocks in {len(values) for values in counted} - {0, 1}:
        alike = [index for index, values in enumerate(counted) if len(values) == blocks]
        shared = moderated([counted[index].var(ddof=1) for index in alike], blocks - 1)
        errors = np.sqrt(shared.variances / blocks + hidden[alike])
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(
                errors > 0,
                np.abs(estimates[alike]) / errors,
                np.where(estimates[alike] == 0, 0.0, np.inf),
            )
        variances[alike], reach[alike] = (
            shared.variances,
            stdtrit(shared.freedom, (1 + confidence) / 2) * errors,
        )
        p[alike] = 2 * stdtr(shared.freedom, -scores)
    tested = np.isfinite(variances)
    p[tested] = holm(p[tested])
    rows = zip(estimates, estimates - reach, estimates + reach, p, variances, strict=True)
    return [LogRatio(*map(float, row)) for row in rows]


def surely_slower(contrasts: Mapping[tuple[int, int], Array]) -> list[tuple[int, int]]:
    """Returns all pairs (slower, faster) of cases that surely differ, from the contrasts of all
    pairs.

    All pairs are one family: Holm's p is at most FAMILY, and the difference at least TIE.
    """
    pairs = zip(contrasts, compared(list(contrasts.values())), strict=True)
    differing = [
        (pair, comparison)
        for pair, comparison in pairs
        if comparison.p <= FAMILY and abs(comparison.estimate) >= TIE
    ]
    return [
        pair if comparison.estimate > 0 else (pair[1], pair[0]) for pair, comparison in differing
    ]


def rank_intervals(count: int, slower: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the (best, worst) rank of each case; `slower` are pairs (slower, faster)."""
    best, worst = [1] * count, [count] * count
    for loser, winner in slower:
        best[loser] += 1
        worst[winner] -= 1
    return list(zip(best, worst, strict=True))


def blocks_needed(
    variance: float, comparisons: int, effect: float = 1.05, most: int = 100
) -> int | None:
    """Returns the fewest blocks that find a ratio of `effect` in 95 % of runs after Holm's first
    step; None if more than `most`."""
    enough = np.flatnonzero(_reach(comparisons, most) * np.sqrt(variance) <= np.log(effect))
    return int(enough[0]) + 2 if len(enough) else None


@lru_cache(maxsize=16)
def _reach(comparisons: int, most: int) -> Array:
    """Returns, for 2 to `most` blocks, the smallest effect that is surely found, in standard
    deviations of one block's contrast."""
    blocks = np.arange(2, most + 1)
    freedom = MOST_PRIOR + blocks - 1
    reach: Array = (
        stdtrit(freedom, 1 - FAMILY / comparisons / 2) + stdtrit(freedom, 0.95)
    ) / np.sqrt(blocks)
    return reach


def blocks_to_decide(contrasts: Sequence[Array], most: int) -> int:
    """Returns the number of blocks, up to `most`, that tell 5 % in every open comparison; 0 if
    none.

    It depends on the spread of the first blocks, not on their means: repeated looks would find
    something in the end. If too many blocks were lost to disturbances for a test, as many are
    added.
    """
    needed = [0]
    for values, comparison in zip(contrasts, compared(contrasts), strict=True):
        lost = int(np.isnan(values).sum())
        if comparison.p > FAMILY and np.isfinite(comparison.variance):
            needed.append(blocks_needed(comparison.variance, len(contrasts), most=most) or most)
        elif lost and not np.isfinite(comparison.variance):
            needed.append(min(len(values) + lost, most))
    return max(needed)
