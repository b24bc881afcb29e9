"""Two hundred hostile configs and command lines; `make fuzz` tries ten thousand, and records and events."""

import pytest
from support.fuzz import tried


@pytest.mark.parametrize("kind", ["configs", "command lines", "real command lines"])
def test_nothing_from_outside_ends_in_a_traceback_or_touches_what_is_not_its(kind):
    tried(kind, 3 if kind.startswith("real") else 200, 0)
