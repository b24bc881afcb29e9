"""Compares the slot times of cases: single comparisons and families of comparisons.

Slot times are logarithms of seconds; a disturbed slot is NaN. A block is one set of fresh
processes, timed in passes. A contrast is the difference of two cases within a pass, so that a slow
pass cancels out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import digamma, polygamma, stdtr, stdtrit

from ..core.result import Array

FAMILYWISE_ERROR = 0.05
"""The largest chance that a family of comparisons has a false verdict."""

FIRST_LOOK, LAST_LOOK = 0.01, 0.03
"""The levels of two looks that together keep FAMILYWISE_ERROR: one decides whether a run adds
blocks, and one ranks the cases of such a run. Fewer blocks are added where the first ones agree by
chance, so 5 % of simulated tables of two equal cases have a false verdict, and not 4 %."""

TIE = np.log(1.01)
"""Smaller measured differences decide no rank."""
CROWDED = np.log(1.05)
"""Ratios up to this, on a log scale, are no difference where other programs needed the workers'
cores: their noise differs from block to block, and 5 % of tables of two copies of a framework would
have a verdict."""

MOST_PRIOR = 4.0
"""Upper limit of the prior degrees of freedom of a moderated variance."""


def nanmedian(values: Array) -> Array:
    """Returns medians along the last axis, ignoring NaN; NaN where all values are NaN.

    NumPy's function of this name warns there.
    """
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    ordered, count = np.sort(values, axis=-1), np.isfinite(values).sum(axis=-1, keepdims=True)
    middle = [
        np.take_along_axis(ordered, at, axis=-1)[..., 0]
        for at in (np.maximum(count - 1, 0) // 2, count // 2)
    ]
    return np.where(count[..., 0] > 0, (middle[0] + middle[1]) / 2, np.nan)


def nanmean(values: Array) -> Array:
    """Returns means along the last axis, ignoring NaN; NaN where all values are NaN."""
    finite = np.isfinite(values)
    count = finite.sum(axis=-1)
    sums = np.where(finite, values, 0.0).sum(axis=-1)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def block_contrasts(first: Array, second: Array, timed: Array | None = None) -> Array:
    """Returns the median of `first` − `second` (…, passes) over passes without a disturbed slot.

    NaN if these are fewer than half of the passes, or of `timed`, the number of passes in which
    both cases were timed.
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    passes = differences.shape[-1] if timed is None else timed
    enough = 2 * np.isfinite(differences).sum(axis=-1) >= passes
    return np.where(enough, nanmedian(differences), np.nan)


@dataclass(frozen=True)
class Moderated:
    """Moderated variances. `prior`: degrees of freedom of the prior; `dof`: those of each of the
    variances."""

    prior: float
    variances: Array
    dof: float


def moderated(variances: Sequence[float] | Array, dof: int) -> Moderated:
    """Shrinks variances of `dof` towards each other by empirical Bayes, with a capped prior (Smyth
    2004, eq. 3 to 10).

    Three blocks determine a variance to a factor of about six only; the other comparisons add
    information. Fewer than three variances stay as they are.
    """
    raw = np.asarray(variances, dtype=float)
    logs = np.log(raw[raw > 0])
    if len(logs) < 3:
        return Moderated(0.0, raw, float(dof))
    half = dof / 2
    shifted = logs - digamma(half) + np.log(half)
    excess = float(shifted.var(ddof=1) - polygamma(1, half))
    prior = 2 * _trigamma_inverse(excess) if excess > 0 else np.inf
    if prior > MOST_PRIOR:
        prior, common = MOST_PRIOR, float(raw.mean())
    else:
        common = float(np.exp(shifted.mean() + digamma(prior / 2) - np.log(prior / 2)))
    return Moderated(prior, (prior * common + dof * raw) / (prior + dof), prior + dof)


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
    """Returns Holm-adjusted p-values: rejecting those up to FAMILYWISE_ERROR keeps the error of
    the family at FAMILYWISE_ERROR."""
    p = np.asarray(chances, dtype=float)
    order = np.argsort(p)
    stepped = np.minimum(1.0, p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


@dataclass(frozen=True)
class LogRatio:
    """A log ratio with its confidence interval, the Holm-adjusted p-value of the hypothesis that it
    is 0, and the (moderated) variance of a block contrast."""

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
    contrasts: Sequence[Array],
    spread: Array | float = 0.0,
    confidence: float = 0.95,
    beyond: float = 0.0,
) -> list[LogRatio]:
    """Tests a family of comparisons. `contrasts`: the block contrasts of each; NaN for a block that
    does not count.

    Variances are shrunk among comparisons with equally many blocks. Holm's correction covers all
    comparisons with two blocks or more; others have no interval, and p = 1. `spread`: standard
    deviation of an error common to all blocks, which the variance between blocks cannot show.
    `beyond`: p-values are of the hypothesis that a log ratio is at most this, in both directions.
    """
    arrays = [np.asarray(values, dtype=float) for values in contrasts]
    finite = [values[np.isfinite(values)] for values in arrays]
    count = len(finite)
    estimates = np.array([values.mean() if len(values) else np.nan for values in finite])
    variances = np.full(count, np.nan)
    half_widths = np.full(count, np.inf)
    p = np.ones(count)
    common_variances = np.broadcast_to(np.square(spread), count)
    for blocks in {len(values) for values in finite} - {0, 1}:
        alike = [index for index, values in enumerate(finite) if len(values) == blocks]
        variances[alike], half_widths[alike], p[alike] = _t_tests(
            [finite[index] for index in alike], common_variances[alike], confidence, beyond
        )
    tested = np.isfinite(variances)
    p[tested] = holm(p[tested])
    rows = zip(
        estimates, estimates - half_widths, estimates + half_widths, p, variances, strict=True
    )
    return [LogRatio(*map(float, row)) for row in rows]


def _t_tests(
    samples: Sequence[Array], common_variances: Array, confidence: float, beyond: float
) -> tuple[Array, Array, Array]:
    """Tests samples of one size against means from −`beyond` to `beyond`.

    Returns their moderated variances, half the widths of the confidence intervals, and p-values.
    """
    size = len(samples[0])
    means = np.array([values.mean() for values in samples])
    shared = moderated([values.var(ddof=1) for values in samples], size - 1)
    standard_errors = np.sqrt(shared.variances / size + common_variances)
    excess = np.maximum(np.abs(means) - beyond, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t_statistics = np.where(
            standard_errors > 0,
            excess / standard_errors,
            np.where(excess == 0, 0.0, np.inf),
        )
    half_widths = stdtrit(shared.dof, (1 + confidence) / 2) * standard_errors
    return shared.variances, half_widths, 2 * stdtr(shared.dof, -t_statistics)


def surely_slower(
    contrasts: Mapping[tuple[int, int], Array],
    level: float = FAMILYWISE_ERROR,
    beyond: float = 0.0,
) -> list[tuple[int, int]]:
    """Returns the pairs (slower, faster) with a Holm-adjusted p, over all pairs, of at most `level`
    and a measured difference of at least TIE. `beyond` is that of `compared`."""
    pairs = zip(contrasts, compared(list(contrasts.values()), beyond=beyond), strict=True)
    return [
        (first, second) if comparison.estimate > 0 else (second, first)
        for (first, second), comparison in pairs
        if comparison.p <= level and abs(comparison.estimate) >= TIE
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
    """Returns the smallest number of blocks with 95 % power for a ratio of `effect` at the
    strictest step of Holm's procedure; None if it exceeds `most`."""
    effects = _detectable_effects(comparisons, most) * np.sqrt(variance)
    enough = np.flatnonzero(effects <= np.log(effect))
    return int(enough[0]) + 2 if len(enough) else None


@lru_cache(maxsize=16)
def _detectable_effects(comparisons: int, most: int) -> Array:
    """Returns, for 2 to `most` blocks, the effect found with 95 % power, in standard deviations of
    a block contrast."""
    blocks = np.arange(2, most + 1)
    dof = MOST_PRIOR + blocks - 1
    strictest = FAMILYWISE_ERROR / comparisons
    effects: Array = (stdtrit(dof, 1 - strictest / 2) + stdtrit(dof, 0.95)) / np.sqrt(blocks)
    return effects


def blocks_to_decide(contrasts: Sequence[Array], most: int, level: float = FIRST_LOOK) -> int:
    """Returns the number of blocks, at most `most`, that detect a difference of 5 % in every
    undecided comparison; 0 if all are decided.

    Comparisons with p up to `level` are decided; for the others the number depends on the
    variance only. A comparison with fewer than two usable blocks gets as many blocks as it lost to
    disturbances.
    """
    needed = [0]
    for values, comparison in zip(contrasts, compared(contrasts), strict=True):
        lost = int(np.isnan(values).sum())
        if comparison.p > level and np.isfinite(comparison.variance):
            needed.append(blocks_needed(comparison.variance, len(contrasts), most=most) or most)
        elif lost and not np.isfinite(comparison.variance):
            needed.append(min(len(values) + lost, most))
    return max(needed)
