"""Made-up cases that tests of the report share."""

import pytest
from support.synthetic import example, table_of

from snnbench.report.table import Table


@pytest.fixture(scope="session")
def examples() -> Table:
    """The cases of `example()`."""
    return table_of(example())
