"""Numbers as people read them."""

import pytest

from snnbench import units


@pytest.mark.parametrize(
    ("low", "high", "said"), [(1e-3, 2e-3, "1.00 – 2.00 ms"), (9e-4, 2e-3, "900 µs – 2.00 ms"), (0.9, 1.2, "900 ms – 1.20 s")]
)
def test_an_interval_names_its_unit_once_if_it_is_one(low, high, said):
    assert units.seconds_between(low, high) == said
