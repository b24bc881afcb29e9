"""Statistics of timing samples: pure functions on numbers, NumPy only."""

from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000


def median_interval(samples, confidence: float = 0.95) -> tuple[float, float, float]:
    """Median and its distribution-free interval from order statistics (binomial): (median, low, high). With too few samples for
    the asked confidence the interval is the range."""
    ordered = np.sort(np.asarray(samples, dtype=float))
    count = len(ordered)
    middle = float(np.median(ordered))
    below, tail, term = 0, 0, 1  # below: how many order statistics may be cut from each side; term: comb(count, below)
    allowed = round((1 - confidence) * 10**9) << count  # whole numbers: 2**count is no float beyond 1023 samples
    while below < count // 2 and 2 * 10**9 * (tail + term) <= allowed:
        tail += term
        term = term * (count - below) // (below + 1)
        below += 1
    cut = max(below - 1, 0)
    return middle, float(ordered[cut]), float(ordered[count - 1 - cut])


@dataclass(frozen=True)
class Estimate:
    """The published figure: median of the rounds' medians with a 95 % interval, in the samples' unit."""

    median: float
    low: float
    high: float
    samples: int
    rounds: int


def estimate(rounds: list[list[float]], seed: int = 0) -> Estimate:
    """Hierarchical bootstrap: resample rounds (processes), then samples within each; 10,000 times, seeded. Rounds differ from
    each other more than samples within one, which a pooled interval would hide."""
    middle = np.median([np.median(samples) for samples in rounds])
    low, high = np.quantile(resampled(rounds, seed), [0.025, 0.975])
    return Estimate(float(middle), float(low), float(high), sum(map(len, rounds)), len(rounds))


def resampled(rounds: list[list[float]], seed: int | tuple[int, int]) -> np.ndarray:
    """Bootstrapped medians of one case's times. Two cases whose ratio is taken need different seeds. The median of n draws with
    replacement from n sorted values is the value at the rank on which the middle of n uniform draws falls. That rank is Beta
    distributed, so that one draw does instead of n."""
    random = np.random.default_rng(seed)
    shape = (RESAMPLES, len(rounds))
    picked = random.integers(0, len(rounds), shape)
    medians = np.empty(shape)
    for index, samples in enumerate(rounds):
        ordered = np.sort(np.asarray(samples, dtype=float))
        count, where = len(ordered), picked == index
        middle = (count + 1) / 2
        uniform = random.beta(middle, middle, int(where.sum()))
        medians[where] = ordered[np.minimum((uniform * count).astype(int), count - 1)]
    return np.median(medians, axis=1)


def ratio_of(rounds: list[list[float]], baseline: list[list[float]], drawn: np.ndarray) -> tuple[float, float, float]:
    """(ratio of medians, low, high) of a case's time over a baseline's, with the 95 % interval of the bootstrapped `drawn`."""
    middle = np.median([np.median(s) for s in rounds]) / np.median([np.median(s) for s in baseline])
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(middle), float(low), float(high)


def drift(samples, times) -> float:
    """Theil–Sen slope over the whole span as a share of the median: +0.05 means 5 % slower at the end than at the start."""
    values, times = np.asarray(samples, dtype=float), np.asarray(times, dtype=float)
    if len(values) < 3 or times[-1] == times[0]:
        return 0.0
    if len(values) > 300:  # pairs grow with the square
        keep = np.linspace(0, len(values) - 1, 300).astype(int)
        values, times = values[keep], times[keep]
    first, second = np.triu_indices(len(values), 1)
    slopes = (values[second] - values[first]) / (times[second] - times[first])
    return float(np.median(slopes) * (times[-1] - times[0]) / np.median(values))


def outliers(samples) -> int:
    """How many samples lie beyond 1.5 interquartile ranges from the quartiles (Tukey). Counted, never dropped."""
    values = np.asarray(samples, dtype=float)
    low, high = np.quantile(values, [0.25, 0.75])
    reach = 1.5 * (high - low)
    return int(((values < low - reach) | (values > high + reach)).sum())


def power_law(sizes, times) -> float:
    """The exponent p of the line t = c·n^p that lies closest to the points in logarithms (least squares)."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def crossing(sizes, first, second) -> tuple[float, float]:
    """(size, time) where two power laws meet, each through its times at the two `sizes`. They must not be parallel."""
    size, time, gap = np.log(sizes), np.log(first), np.log(first) - np.log(second)
    share = gap[0] / (gap[0] - gap[1])
    return float(np.exp(size[0] + share * (size[1] - size[0]))), float(np.exp(time[0] + share * (time[1] - time[0])))
