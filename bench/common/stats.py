"""Trends of times."""

import numpy as np


def drift(samples, times) -> float:
    """Theil–Sen slope over the span as a share of the median: +0.05 is 5 % slower at the end."""
    values, times = np.asarray(samples, dtype=float), np.asarray(times, dtype=float)
    if len(values) < 3 or times[-1] == times[0]:
        return 0.0
    first, second = np.triu_indices(len(values), 1)
    slopes = (values[second] - values[first]) / (times[second] - times[first])
    return float(np.median(slopes) * (times[-1] - times[0]) / np.median(values))


def power_law(sizes, times) -> float:
    """The exponent p of t = c·n^p, fitted to the logarithms by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def crossing(sizes, first, second) -> tuple[float, float]:
    """(size, time) where two power laws meet, each given by its times at the two `sizes`.

    They must not be parallel.
    """
    size, time, gap = np.log(sizes), np.log(first), np.log(first) - np.log(second)
    share = gap[0] / (gap[0] - gap[1])
    return float(np.exp(size[0] + share * (size[1] - size[0]))), float(
        np.exp(time[0] + share * (time[1] - time[0]))
    )
