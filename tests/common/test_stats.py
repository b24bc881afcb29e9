"""Trends and power laws on numbers with a known answer."""

import numpy as np
import pytest

from snnbench.common.stats import crossing, drift, power_law


def test_drift_is_the_change_over_the_whole_span():
    times = np.arange(31.0)
    assert drift(1 + 0.1 * times / 30, times) == pytest.approx(0.1 / 1.05)
    assert drift(np.full(31, 2.0), times) == 0
    assert drift([1.0, 2.0], [0.0, 1.0]) == 0.0
    assert drift([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]) == 0.0


def test_one_slow_call_is_no_drift():
    samples = np.ones(97)
    samples[-1] = 50
    assert drift(samples, np.arange(97)) == 0


def test_a_power_law_is_found_and_two_meet_where_they_are_equal():
    assert power_law([10, 100, 1000], [3.0, 300.0, 30000.0]) == pytest.approx(2)
    assert crossing((10, 1000), (1.0, 1.0), (0.1, 10.0)) == pytest.approx((100, 1))
