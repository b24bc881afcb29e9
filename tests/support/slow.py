"""Full matrices of cases, of which `make test` runs representatives and `make test-all` everything."""

from collections.abc import Iterable, Sequence

import pytest


def representatives(cases: Iterable, quick: Iterable[int]) -> list:
    """The cases for `parametrize`; those whose index is not in `quick` are marked slow."""
    quick = set(quick)
    return [
        case
        if index in quick
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for index, case in enumerate(cases)
    ]


def one_of_each(cases: Sequence[tuple]) -> list:
    """The cases for `parametrize`, of which one is quick for each first value: in turns the first, the second, … that it has."""
    places: dict = {}
    for index, (first, *_) in enumerate(cases):
        places.setdefault(first, []).append(index)
    return representatives(
        cases, [own[turn % len(own)] for turn, own in enumerate(places.values())]
    )
