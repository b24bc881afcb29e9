"""Sixty of each kind of hostile input; `make fuzz` tries ten thousand."""

import pytest
from support.fuzz import KINDS, tried


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_from_outside_ends_in_a_traceback_or_touches_what_is_not_its(kind):
    tried(kind, 3 if kind.startswith("real") else 60, 0)
