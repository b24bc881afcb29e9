"""Full matrices of cases, of which `make test` runs representatives and `make test-all`
everything."""

import tomllib
from collections.abc import Container, Iterable, Iterator, Sequence

import pytest

from .paths import WRONG


def _faults(table: dict | list) -> Iterator[str]:
    """The faults that a table of faults.toml, its tables and lists name."""
    for name in table:
        if ".py:" in name:
            yield name
        elif isinstance(table, dict):
            yield from _faults(table[name])


_TABLE = tomllib.loads((WRONG / "faults.toml").read_text())
KINDS = set(_TABLE.pop("kinds"))
PLANTED = {*_faults(_TABLE)}
COVERED = PLANTED - KINDS
"""Planted faults of a kind that another fault shows too."""


def marked_slow(*values):
    """A case for `parametrize` that only `make test-all` runs."""
    return pytest.param(*values, marks=pytest.mark.slow)


def representatives(cases: Iterable, quick: Container[int]) -> list:
    """The cases for `parametrize`; those with an index that is not in `quick` are marked slow."""
    return [
        case if index in quick else marked_slow(*(case if isinstance(case, tuple) else (case,)))
        for index, case in enumerate(cases)
    ]


def one_of_each(cases: Sequence[tuple], without: Container = ()) -> list:
    """The cases for `parametrize`, one of them quick for each first value that is not in `without`.

    It is in turns the first, the second, … that such a value has.
    """
    places: dict = {}
    for index, (first, *_) in enumerate(cases):
        places.setdefault(first, []).append(index)
    return representatives(
        cases,
        {
            indices[turn % len(indices)]
            for turn, (first, indices) in enumerate(places.items())
            if first not in without
        },
    )


def without(slow: Container, cases: Iterable) -> list:
    """The cases for `parametrize`; those with a first value in `slow` are marked slow."""
    cases = list(cases)
    firsts = [case[0] if isinstance(case, tuple) else case for case in cases]
    return representatives(cases, {i for i, first in enumerate(firsts) if first not in slow})
