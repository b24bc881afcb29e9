"""What tests of the report share: intervals that take no time, and one set of made-up cases."""

import pytest
from support.synthetic import example, table_of

from snnbench.report.table import Table

RESAMPLES = 100


@pytest.fixture(scope="module")
def quick_intervals():
    """For tests that do not look at how good intervals are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snnbench.stats.RESAMPLES", RESAMPLES)
        yield


@pytest.fixture(scope="session")
def examples() -> Table:
    """The cases of `example()`; asked for by modules that use `quick_intervals` only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snnbench.stats.RESAMPLES", RESAMPLES)
        return table_of(example())
