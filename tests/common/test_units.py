"""Numbers as people read them."""

import pytest

from snnbench.common import units


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1e-3, 2e-3, "1.00 – 2.00 ms"),
        (9e-4, 2e-3, "900 µs – 2.00 ms"),
        (0.9, 1.2, "900 ms – 1.20 s"),
    ],
)
def test_an_interval_names_its_unit_once_if_it_is_one(low, high, said):
    assert units.seconds_between(low, high) == said


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ((1.0,), "1.00×"),
        ((10.163, 9.85, 10.471), "10.16× (9.85–10.47)"),
        ((0.957, 0.918, 1.0021), "0.957× (0.918–1.002)"),
        ((0.0312, 0.03, 0.0324), "0.0312× (0.0300–0.0324)"),
        ((2.5, 2.0), "2.50× (≥ 2.00)"),
        ((2.5, 1.999), "2.50× (≥ 1.99)"),
        ((1.2, 1.09), "1.20× (≥ 1.09)"),
    ],
)
def test_a_ratio_and_its_bounds_have_the_same_decimals(of, said):
    assert units.ratio(*of) == said


def test_an_upper_bound_of_a_time_is_rounded_up():
    times = (0.7501, 0.75, 1.001e-3, 12.34e-6, 3.0)
    assert [units.most_seconds(time) for time in times] == (
        ["751 ms", "750 ms", "1.01 ms", "12.4 µs", "3.00 s"]
    )
    spans = (4.2, 40.0, 89.5, 300.0, 310.0)
    assert [units.most_duration(span) for span in spans] == (
        ["5 s", "40 s", "2 min", "5 min", "6 min"]
    )


def test_a_bound_is_rounded_down():
    bounds = (1.05, 1.06, 1.0999, 1.1, 1.68, 1.69, 1.7, 1.77, 2.0, 3.0999, 24.9, 1999.9)
    assert [units.least_ratio(bound) for bound in bounds] == (
        ["1.05", "1.06", "1.09", "1.1", "1.6", "1.6", "1.7", "1.7", "2.0", "3.0", "24", "1,999"]
    )
