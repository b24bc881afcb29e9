"""When to stop warming up and when to stop sampling. Numbers in, a reason out: no clocks here."""

from dataclasses import dataclass, field

import numpy as np

from ..stats import median_interval

WINDOW = 10
LEAST_WARM_UP, MOST_WARM_UP = 3, 50
LEAST_SAMPLES, LEAST_LONG_SAMPLES, LEAST_EVER = 30, 7, 3
PLATEAU = 64


@dataclass
class WarmUp:
    """Warm until two adjacent windows of ten calls agree: medians within 2 %, quartiles within 5 %. Bounded by 50 calls and by
    `budget` seconds beside the first call, which may compile, but never fewer than three calls."""

    budget: float
    calls: list[float] = field(default_factory=list)
    converged: bool = False

    def done(self, seconds: float) -> bool:
        """Take in one call's time; True once warm or out of budget."""
        self.calls.append(seconds)
        if len(self.calls) >= 2 * WINDOW:
            before, after = (np.quantile(w, [0.25, 0.5, 0.75]) for w in np.split(np.array(self.calls[-2 * WINDOW :]), 2))
            allowed = np.array([0.05, 0.02, 0.05])
            self.converged = bool((np.abs(after - before) <= allowed * before).all())
        spent = len(self.calls) >= MOST_WARM_UP or sum(self.calls[1:]) >= self.budget
        return len(self.calls) >= LEAST_WARM_UP and (self.converged or spent)


def stop_reason(samples: list[float], elapsed: float, rel_ci: float, budget: float) -> str:
    """Why to stop sampling: a narrow interval (`converged`), noise that stopped shrinking (`noise_plateau`) or `budget`, in
    seconds; else "". `rel_ci` is the half width of the 95 % interval of the median, as a share of it."""
    count = len(samples)
    if elapsed >= budget and count >= LEAST_EVER:
        return "budget"
    least = LEAST_LONG_SAMPLES if count and np.median(samples) > 1 else LEAST_SAMPLES
    if count < least or (count - least) % WINDOW:
        return ""
    middle, low, high = median_interval(samples)
    if high - low <= 2 * rel_ci * middle:
        return "converged"
    return "noise_plateau" if count >= 2 * PLATEAU and _spread_is_stable(samples) else ""


def _spread_is_stable(samples: list[float]) -> bool:
    """The relative interquartile range of all samples is within 5 % of what it was 64 samples ago."""

    def spread(values):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
        return (high - low) / middle if middle else 0.0

    now, then = spread(samples), spread(samples[:-PLATEAU])
    return bool(abs(now - then) <= 0.05 * then)
