"""Medians and their intervals, held against exact binomials and against simulation with fixed seeds."""

from math import comb

import numpy as np
import pytest

from snnbench.stats import drift, estimate, median_interval, outliers, ratio_of, resampled


def binomial_tail(count, most):
    """P(X ≤ most) for X ~ Binomial(count, 1/2)."""
    return sum(comb(count, k) for k in range(most + 1)) / 2**count


@pytest.mark.parametrize("count", [6, 7, 10, 31, 97, 150, 1001, 3001])
def test_the_interval_is_the_narrowest_that_keeps_its_confidence(count):
    middle, low, high = median_interval(range(count))
    cut = int(low)
    assert (middle, high) == ((count - 1) / 2, count - 1 - cut)
    assert 1 - 2 * binomial_tail(count, cut) >= 0.95
    assert 1 - 2 * binomial_tail(count, cut + 1) < 0.95, "one order statistic more could have been cut"


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_with_too_few_samples_the_interval_is_the_range(count):
    samples = np.arange(count)[::-1]
    assert median_interval(samples) == ((count - 1) / 2, 0.0, count - 1.0)


def test_the_interval_holds_the_true_median_as_often_as_it_says():
    random = np.random.default_rng(3)
    drawn = np.exp(random.standard_normal((4000, 37)))
    bounds = np.array([median_interval(samples)[1:] for samples in drawn])
    covered = ((bounds[:, 0] <= 1) & (bounds[:, 1] >= 1)).mean()
    assert 0.945 <= covered <= 0.985  # exact: 1 − 2·P(Binomial(37, ½) ≤ 12) = 0.953


def rounds_of(random, count, samples, between, within, centre=1.0):
    centres = centre * np.exp(between * random.standard_normal(count))
    return [list(c * np.exp(within * random.standard_normal(samples))) for c in centres]


def test_the_estimate_lies_in_its_interval_and_is_the_same_every_time():
    rounds = rounds_of(np.random.default_rng(1), 5, 37, 0.01, 0.02)
    first = estimate(rounds)
    assert first.low <= first.median <= first.high
    assert first.median == np.median([np.median(samples) for samples in rounds])
    assert (first.samples, first.rounds) == (5 * 37, 5)
    assert estimate(rounds) == first


def test_rounds_that_disagree_widen_the_interval():
    agreeing = estimate(rounds_of(np.random.default_rng(2), 5, 97, 0.0, 0.01))
    apart = estimate(rounds_of(np.random.default_rng(2), 5, 97, 0.05, 0.01))
    assert apart.high - apart.low > 5 * (agreeing.high - agreeing.low)


def test_the_interval_scales_with_the_samples():
    rounds = rounds_of(np.random.default_rng(4), 3, 31, 0.01, 0.02)
    one, thousand = estimate(rounds), estimate([[1000 * s for s in samples] for samples in rounds])
    assert thousand.low == pytest.approx(1000 * one.low)
    assert thousand.high == pytest.approx(1000 * one.high)


def test_a_single_sample_is_its_own_interval():
    only = estimate([[0.5]])
    assert (only.low, only.median, only.high) == (0.5, 0.5, 0.5)


def test_the_drawn_median_is_distributed_like_one_of_real_resamples():
    """The shortcut through the Beta distribution, held against drawing the samples themselves."""
    random = np.random.default_rng(5)
    samples = np.exp(0.1 * random.standard_normal(37))
    short = estimate([list(samples)])
    real = np.median(random.choice(samples, (10_000, 37)), axis=1)
    low, high = np.quantile(real, [0.025, 0.975])
    assert short.low == pytest.approx(low, rel=0.01)
    assert short.high == pytest.approx(high, rel=0.01)


def ratio(rounds, baseline, seed=0):
    return ratio_of(rounds, baseline, resampled(rounds, (seed, 0)) / resampled(baseline, (seed, 1)))


def test_equal_cases_differ_about_as_often_as_five_in_a_hundred():
    random, alarms = np.random.default_rng(6), 0
    for trial in range(100):
        one, other = (rounds_of(random, 10, 31, 0.01, 0.02) for _ in range(2))
        _, low, high = ratio(one, other, seed=trial)
        alarms += not low <= 1 <= high
    assert alarms <= 12  # five, and three standard errors of a hundred trials more


def test_a_planted_difference_of_five_percent_is_found():
    random = np.random.default_rng(7)
    slower, base = (rounds_of(random, 10, 31, 0.01, 0.02, centre) for centre in (1.05, 1.0))
    middle, low, high = ratio(slower, base)
    assert 1 < low <= middle <= high
    assert middle == pytest.approx(1.05, rel=0.02)
    assert ratio(base, slower)[2] < 1
    assert ratio(slower, base) == (middle, low, high)


def test_drift_is_the_change_over_the_whole_span():
    times = np.arange(31.0)
    assert drift(1 + 0.1 * times / 30, times) == pytest.approx(0.1 / 1.05)
    assert drift(np.full(31, 2.0), times) == 0
    assert drift([1.0, 2.0], [0.0, 1.0]) == 0.0
    assert drift([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]) == 0.0
    many = np.arange(3001.0)
    assert drift(1 + 0.1 * many / 3000, many) == pytest.approx(0.1 / 1.05, rel=1e-3)


def test_one_slow_call_is_no_drift():
    samples = np.ones(97)
    samples[-1] = 50
    assert drift(samples, np.arange(97)) == 0


def test_outliers_are_counted_on_both_sides():
    assert outliers([1.0] * 30 + [5.0, 0.2]) == 2
    assert outliers(np.linspace(1, 2, 31)) == 0
