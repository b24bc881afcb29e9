"""A framework's page: proofs by version, unsupported cases, and reasons for untried ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...common.units import counted
from ...core.case import PRECISIONS
from ...experiment.values import NAMED_NEURONS
from ...records.rows import Row, grouped
from ...report.words import reason_of, runs_text, version_runs
from ..badge import DATA, NEVER_TRIED, PROVED, neuron_kind, verdict_of
from .source import by_version, framework_of, version_of

Cell = tuple[str, str, str]
"""Words, colour class and a longer text."""
UNTOLD = ("not offered", "not tried")
"""Verdicts without a version: the framework need not be installed for them."""


def neuron_of(row: Row) -> str:
    """Returns the label of the row's neuron; DATA for a case that delivers data."""
    return row.case.neuron_label or DATA


def neurons_of(rows: Sequence[Row]) -> list[str]:
    """Returns the neurons of rows, named ones first."""
    known = {neuron_of(row) for row in rows}
    return [*(name for name in NAMED_NEURONS if name in known), *sorted(known - {*NAMED_NEURONS})]


def endings_of(rows: Sequence[Row]) -> list[str]:
    """Returns the endings of cases for a verdict: a proof stays, whatever happened to the times."""
    return [PROVED if row.proved else row.status for row in rows]


def cell_of(rows: Sequence[Row]) -> Cell:
    """Returns the cell on some cases of one neuron, in any construction."""
    if not rows:
        return "", "", ""
    verdict = verdict_of(endings_of(rows))
    if verdict == PROVED:
        proved = {row.case.precision for row in rows if row.proved}
        return ", ".join(name for name in PRECISIONS if name in proved), "good", ""
    reason = next(
        (reason_of(row) for row in rows if row.status == "check_failed"), ""
    ) or reason_of(rows[0])
    word, kind = {"not offered": ("–", ""), "not tried": (verdict, "muted")}.get(
        verdict, (verdict, "bad")
    )
    return word, kind, reason


def by_versions(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Returns rows by version, the oldest first."""
    versions = grouped(rows, version_of)
    return {version: versions[version] for version in sorted(versions, key=by_version)}


def in_words(verdicts: Mapping[str, str]) -> str:
    """Returns the verdicts by version, the oldest first, as one sentence."""
    if len(verdicts) > 1 and verdicts.get("") in UNTOLD:
        verdicts = {version: verdict for version, verdict in verdicts.items() if version}
    runs = version_runs((verdict, version) for version, verdict in verdicts.items())
    if len(runs) > 1:
        return runs_text(runs)
    ((verdict, versions),) = runs
    if versions == [""] and verdict in UNTOLD:
        return verdict
    span = f" – {versions[-1]}" if len(versions) > 1 else ""
    return f"{verdict} in {versions[0] or 'an unknown version'}{span}"


def newest_endings(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Returns, by kind of neuron, the endings with the newest version that was tried; `native`
    neurons are left out, because they differ from framework to framework."""
    kinds = grouped(
        [row for row in rows if not row.case.native],
        lambda row: neuron_kind(row.first.case.get("neuron")),
    )
    return {kind: endings_of(list(by_versions(same).values())[-1]) for kind, same in kinds.items()}


def framework_page(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Returns the data of a framework's page."""
    of_framework = [row for row in rows if framework_of(row) == name]
    plain = [row for row in of_framework if not row.case.native]
    neurons, versions = neurons_of(plain), by_versions(plain)
    tried = {
        neuron: by_versions([row for row in plain if neuron_of(row) == neuron])
        for neuron in neurons
    }
    verdicts = {
        neuron: {version: verdict_of(endings_of(some)) for version, some in version_rows.items()}
        for neuron, version_rows in tried.items()
    }
    cells = {
        version: [cell_of([row for row in same if neuron_of(row) == neuron]) for neuron in neurons]
        for version, same in versions.items()
    }
    return {
        "verdicts": [
            (neuron, in_words(version_verdicts)) for neuron, version_verdicts in verdicts.items()
        ],
        "neurons": neurons,
        "versions": list(cells.items()),
        "refusals": _reasons([row for row in of_framework if row.status == "unsupported"]),
        "untried": _reasons(
            [row for row in of_framework if row.status in NEVER_TRIED and not row.proved]
        ),
    }


def _reasons(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Returns each reason with the number and variants of its cases."""
    reasons = []
    for reason, same in grouped(rows, reason_of).items():
        variants = sorted({row.first.typed_case.framework_variant for row in same})
        named = ", ".join(variants[:4]) + (
            f" and {len(variants) - 4} more" if len(variants) > 4 else ""
        )
        reasons.append((reason, f"{named}: {counted(len(same), 'case')}"))
    return sorted(reasons)
