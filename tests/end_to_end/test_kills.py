"""A few commands that are killed at any moment; `make kills` kills three hundred."""

import pytest
from support.kills import merge, report, run, tried
from support.slow import representatives


@pytest.mark.parametrize("number", representatives(range(2), [0]))
@pytest.mark.parametrize("kind", representatives([report, merge, run], [0, 1]))
def test_a_command_that_is_killed_loses_nothing_and_comes_to_its_end_the_next_time(kind, number):
    tried(kind, number)
