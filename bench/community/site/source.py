"""The bundles of a site: their rows, submitters and confirmations."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from packaging.version import InvalidVersion, Version

from snnbench.adapters.registry import OURS

from ...machine.facts import machine_kind
from ...records.rows import Row, rows_of
from ...report.colours import PLACES
from ..bundle import Bundle

MARKS = {**dict.fromkeys(OURS, "ours"), **dict.fromkeys(("torch", "jax"), "plain loop")}
"""Labels of this project's kernels and loops: readers should know that it measured itself."""
MEANINGS = {
    "ours": "this project’s own",
    "plain loop": (
        "this project’s own loop over time steps, in the array library alone: what a framework is "
        "compared with"
    ),
}
AGREE = 1.25
"""Largest factor between the times of two submitters that confirm each other."""


@dataclass
class Source:
    """A verified bundle. Rows of different bundles are never ranked together."""

    bundle: Bundle

    @cached_property
    def rows(self) -> list[Row]:
        return rows_of(list(self.bundle.records))

    @property
    def by(self) -> str:
        return self.bundle.by or "unnamed"

    @cached_property
    def date(self) -> str:
        """The day of the newest record."""
        return max(record.started_at for record in self.bundle.records)[:10]


def kind_of_row(row: Row) -> str:
    """Returns the kind of the row's machine: see `machine_kind`."""
    return machine_kind(row.first.machine)


def framework_of(row: Row) -> str:
    """Returns the framework's name without the version of a report."""
    return row.first.typed_case.variant.framework


def version_of(row: Row) -> str:
    """Returns the framework's version, empty if unknown."""
    return row.first.adapter["version"] or ""


def undecided(group: Sequence[Row]) -> str:
    """Returns why no case of a comparison is shown to be the fastest, empty if one is. Disturbed
    times decide nothing, even without a rival."""
    leading = [row for row in group if row.standing and row.standing.best == 1]
    notes = [row.standing.note for row in leading if row.standing and row.standing.note][:1]
    return ", ".join(
        [*notes, *(["disturbed"] if any("disturbed" in row.quality for row in leading) else [])]
    )


def mark_of(framework: str) -> str:
    """Returns `ours`, `plain loop`, or an empty text for other frameworks."""
    return MARKS.get(framework, "")


def in_order(frameworks: Iterable[str]) -> list[str]:
    """Returns the frameworks, built-in ones first, in the order of their colours in reports."""
    return sorted(set(frameworks), key=lambda name: (PLACES.get(name, len(PLACES)), name))


def by_version(text: str) -> tuple[bool, Version, str]:
    """Returns a key that sorts versions; invalid ones come first."""
    try:
        return True, Version(text), text
    except InvalidVersion:
        return False, Version("0"), text


def slug(name: str) -> str:
    """Returns a part of a file name: a plain name itself.

    >>> slug("rockpool-jax"), slug("../Évil")
    ('rockpool-jax', 'vil-2d68a1')
    """
    plain = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")[:40]
    return (
        plain if plain == name else f"{plain}-{sha256(name.encode()).hexdigest()[:6]}".lstrip("-")
    )


def confirmations(sources: Sequence[Source]) -> dict[int, int]:
    """Returns how many other submitters confirm a row on a machine of the same kind, by `id` of the
    row."""
    known: dict[tuple[str, ...], list[tuple[str, Row]]] = {}
    for source in sources:
        for row in source.rows:
            if row.sound and source.bundle.by:
                key = (
                    kind_of_row(row),
                    row.first.case_id,
                    version_of(row),
                    str(row.first.measure["threads"]),
                    row.ranked,
                )
                known.setdefault(key, []).append((source.by, row))
    confirmed = {}
    for same in known.values():
        for by, row in same:
            seconds = row.estimates[row.ranked].seconds
            others = {
                submitter
                for submitter, other in same
                if submitter != by
                and 1 / AGREE <= other.estimates[row.ranked].seconds / seconds <= AGREE
            }
            if others:
                confirmed[id(row)] = len(others)
    return confirmed
