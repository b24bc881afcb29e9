"""A few dozen of each kind of hostile input; `make fuzz` tries ten thousand."""

import pytest
from support.fuzz import KINDS, tried

COUNTS = {"records": 10, "emptied records": 10, "bundles": 10, "real command lines": 3}
"""Examples of the kinds that take long; 30 of the others."""


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_from_outside_ends_in_a_traceback_or_touches_what_is_not_its(kind):
    tried(kind, COUNTS.get(kind, 30), 0)
