"""Statistics of live slots: what one comparison of two cases shows, and what a family of comparisons shows together.

The time of a slot is a logarithm x. A block is one set of fresh processes, timed in passes; a slot that was disturbed is NaN.
A contrast is the difference of two cases within a pass, so that what slows a whole pass cancels out. NumPy and SciPy only.
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
"""Cases that differ by less share a rank."""

MOST_PRIOR = 4.0
"""Degrees of freedom that the other comparisons' variances may add to a comparison's own."""


def medians(values: Array) -> Array:
    """Along the last axis, of the values that are not NaN; NaN where there are none."""
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    ordered, count = np.sort(values, axis=-1), np.isfinite(values).sum(axis=-1, keepdims=True)
    middle = [
        np.take_along_axis(ordered, at, axis=-1)[..., 0]
        for at in (np.maximum(count - 1, 0) // 2, count // 2)
    ]
    return np.where(count[..., 0] > 0, (middle[0] + middle[1]) / 2, np.nan)


def means(values: Array) -> Array:
    """Along the last axis, of the values that are not NaN; NaN where there are none."""
    known = np.isfinite(values)
    counted = known.sum(axis=-1)
    return np.where(
        counted > 0, np.where(known, values, 0.0).sum(axis=-1) / np.maximum(counted, 1), np.nan
    )


def block_contrasts(first: Array, second: Array, timed: Array | None = None) -> Array:
    """Log ratios of slots (…, passes), as NumPy broadcasts them: the median over the passes in which neither was disturbed.

    NaN where these are fewer than half of the passes, or of `timed`, the number in which the two were to be timed.
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    passes = differences.shape[-1] if timed is None else timed
    enough = 2 * np.isfinite(differences).sum(axis=-1) >= passes
    return np.where(enough, medians(differences), np.nan)


@dataclass(frozen=True)
class Moderated:
    """Variances of a family of comparisons, each drawn towards what the others show; `prior` counts degrees of freedom."""

    prior: float
    variances: Array
    freedom: float


def moderated(variances: Sequence[float] | Array, freedom: int) -> Moderated:
    """Empirical Bayes after Smyth (2004), eq. 3 to 10, with the prior's weight capped. Fewer than three stay as they are.

    Three blocks alone know a variance to a factor of six; the other comparisons of the run know it better.
    """
    own = np.asarray(variances, dtype=float)
    logs = np.log(own[own > 0])
    if len(logs) < 3:
        return Moderated(0.0, own, float(freedom))
    half = freedom / 2
    shifted = logs - digamma(half) + np.log(half)
    excess = float(shifted.var(ddof=1) - polygamma(1, half))
    prior = 2 * _trigamma_inverse(excess) if excess > 0 else np.inf
    if prior > MOST_PRIOR:
        prior, common = MOST_PRIOR, float(own.mean())
    else:
        common = float(np.exp(shifted.mean() + digamma(prior / 2) - np.log(prior / 2)))
    return Moderated(prior, (prior * common + freedom * own) / (prior + freedom), prior + freedom)


def _trigamma_inverse(value: float) -> float:
    """The x > 0 with ψ′(x) = `value`: Newton's steps on 1/ψ′, which is convex and nearly linear (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-12 * x:
            break
    return x


def holm(chances: Sequence[float] | Array) -> Array:
    """Holm's adjusted p: comparisons whose own is at most FAMILY hold no false one but with the chance FAMILY."""
    p = np.asarray(chances, dtype=float)
    order = np.argsort(p)
    stepped = np.minimum(1.0, p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


@dataclass(frozen=True)
class Comparison:
    """What a family shows of one contrast: a log ratio with its interval, and Holm's p that it is not zero."""

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
) -> list[Comparison]:
    """A family of comparisons, each given by its block contrasts; a block that shows nothing is NaN. Variances are drawn together
    among comparisons of equally many blocks, and Holm's p are for all of two blocks or more. Others cannot be tested: they
    have no interval, and p = 1. `spread` is a standard deviation of each comparison's mean that its blocks have in common, and so
    do not show."""
    counted = [
        values[np.isfinite(values)]
        for values in (np.asarray(one, dtype=float) for one in contrasts)
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
    return [Comparison(*map(float, row)) for row in rows]


def surely_slower(contrasts: Mapping[tuple[int, int], Array]) -> list[tuple[int, int]]:
    """(slower, faster) of all pairs of cases that surely differ, by the block contrasts of all pairs (first, second).

    These are one family: Holm's p is at most FAMILY, and the two differ by TIE or more.
    """
    pairs = zip(contrasts, compared(list(contrasts.values())), strict=True)
    differing = [
        (pair, shown) for pair, shown in pairs if shown.p <= FAMILY and abs(shown.estimate) >= TIE
    ]
    return [pair if shown.estimate > 0 else (pair[1], pair[0]) for pair, shown in differing]


def rank_intervals(count: int, slower: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """(best, worst) rank of each of `count` cases, of which these pairs (slower, faster) surely differ."""
    best, worst = [1] * count, [count] * count
    for loser, winner in slower:
        best[loser] += 1
        worst[winner] -= 1
    return list(zip(best, worst, strict=True))


def blocks_needed(
    variance: float, comparisons: int, effect: float = 1.05, most: int = 100
) -> int | None:
    """The fewest blocks that find a ratio of `effect` in 95 % of runs after Holm's first step; None: more than `most`."""
    enough = np.flatnonzero(_reach(comparisons, most) * np.sqrt(variance) <= np.log(effect))
    return int(enough[0]) + 2 if len(enough) else None


@lru_cache(maxsize=16)
def _reach(comparisons: int, most: int) -> Array:
    """By the number of blocks, from two on: how many standard deviations of one block's contrast are surely found."""
    blocks = np.arange(2, most + 1)
    freedom = MOST_PRIOR + blocks - 1
    reach: Array = (
        stdtrit(freedom, 1 - FAMILY / comparisons / 2) + stdtrit(freedom, 0.95)
    ) / np.sqrt(blocks)
    return reach


def blocks_to_decide(contrasts: Sequence[Array], most: int) -> int:
    """How many blocks, up to `most`, tell 5 % in every comparison of a family whose verdict is open; 0 if none is. Its size is
    fixed from the spread of the first blocks, not from their means: looking again and again would find something in the end.
    Where so many blocks were lost to disturbances that a comparison cannot be tested, as many more make up for them."""
    needed = [0]
    for values, comparison in zip(contrasts, compared(contrasts), strict=True):
        lost = int(np.isnan(values).sum())
        if comparison.p > FAMILY and np.isfinite(comparison.variance):
            needed.append(blocks_needed(comparison.variance, len(contrasts), most=most) or most)
        elif lost and not np.isfinite(comparison.variance):
            needed.append(min(len(values) + lost, most))
    return max(needed)
