"""Bundles of machines of one kind, held against each other: what is far from what others found is worth a second look."""

from collections.abc import Iterator, Mapping

import numpy as np

from ...common import units
from ...core.case import full_name
from ...machine.facts import machine_kind
from ...records.rows import Row, rows_of
from ..bundle import Bundle

FAR = 3.0
"""A ratio to the other cases that is so many times another bundle's is told."""
FEWEST = 3
"""Cases that two bundles must share for one of them to stand out."""
Key = tuple[str, str, str, int]


def unlike(bundles: Mapping[str, Bundle]) -> Iterator[tuple[str, str]]:
    """The name of a bundle, and a remark on a time of it that is unlike that of an earlier one, beside what both have."""
    known: dict[str, dict[Key, Row]] = {}
    for name, bundle in bundles.items():
        own = {
            _key(row): row
            for row in rows_of(list(bundle.records))
            if row.sound and not row.case.native
        }
        for other, rows in known.items():
            shared = [key for key in own if key in rows]
            if len(shared) >= FEWEST:
                for key, factor in zip(
                    shared,
                    _factors([own[key] for key in shared], [rows[key] for key in shared]),
                    strict=True,
                ):
                    if max(factor, 1 / factor) >= FAR:
                        yield name, _in_words(own[key], rows[key], factor, other)
        known[name] = own


def _key(row: Row) -> Key:
    first = row.first
    return (
        machine_kind(first.machine),
        first.case_id,
        first.adapter["version"] or "",
        first.measure["threads"],
    )


def _factors(own: list[Row], others: list[Row]) -> list[float]:
    """How many times as long each takes as in the other bundle, beside the median of all."""
    logs = np.log([[row.estimates["step"].seconds for row in rows] for rows in (own, others)])
    ratios = logs[0] - logs[1]
    return [float(factor) for factor in np.exp(ratios - np.median(ratios))]


def _in_words(row: Row, other: Row, factor: float, name: str) -> str:
    times = f"{max(factor, 1 / factor):.1f} times as {'slow' if factor > 1 else 'fast'}"
    seconds = f"{units.seconds(row.estimates['step'].seconds)}, and {units.seconds(other.estimates['step'].seconds)} there"
    return f"{full_name(row.case)} is {times} beside the others as in {name}: {seconds}"
