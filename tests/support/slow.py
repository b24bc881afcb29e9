"""Full matrices of cases, of which `make test` runs representatives and `make test-all` everything."""

from collections.abc import Iterable

import pytest


def representatives(cases: Iterable, quick: Iterable[int]) -> list:
    """The cases for `parametrize`; those whose index is not in `quick` are marked slow."""
    quick = set(quick)
    return [
        case if index in quick else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for index, case in enumerate(cases)
    ]
