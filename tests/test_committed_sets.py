"""Committed results are worth reading: what they rank was mostly undisturbed, and something in
them is decided."""

import csv
import io

import pytest
from support.paths import GOLDEN, ROOT, SETS, committed
from support.synthetic import blocks, disturbed, table_of

from snnbench.records.quality import MOST_DISTURBED
from snnbench.report.files import read_results
from snnbench.report.table import csv_text

UNTIMED = {"coverage"}
"""Timed just long enough to see that it runs."""
HISTORY = {name for name in SETS if name.startswith("history-")}
UNRANKED = {*UNTIMED, *HISTORY, "memory", "natives"}
"""Memory is weighed and not timed; natives are networks that differ; a history compares each
version with the control alone."""


@pytest.mark.parametrize("name", ["quickstart", "training"])
def test_the_table_of_a_set_stays_the_same(name):
    """A library that computes the last digits differently is no change."""
    made = csv.reader(io.StringIO(csv_text(read_results([committed(name)]).table)))
    kept = csv.reader((GOLDEN / "sets" / f"{name}.csv").open(encoding="utf-8"))
    for wanted, found in zip(made, kept, strict=True):
        for one, other in zip(wanted, found, strict=True):
            assert one == other or float(one) == pytest.approx(float(other), rel=1e-6)


def share_said(name: str, share: float) -> bool:
    """Whether a line of the README or of docs/ that names the set tells the share of its slots
    that were disturbed."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    return any(f"results/{name}" in line and f"{share:.0%}" in line for line in lines)


def faults(name: str, groups: list[list]) -> list[str]:
    """What is wrong with the rows of a set, by group; a set that is not there for its times is
    looked at as a whole."""
    groups = [[row for rows in groups for row in rows]] if name in UNTIMED else groups
    found = []
    for rows in groups:
        slots = [one for row in rows for one in row.column("step", "disturbed")]
        share = sum(one is not None for one in slots) / len(slots)
        if share > MOST_DISTURBED and not share_said(name, share):
            found.append(
                f"{share:.0%} of the slots were disturbed, and no line of the docs that names results/{name} says so"
            )
    standings = [(row.standing, len(rows)) for rows in groups for row in rows if row.standing]
    if name not in UNRANKED and not any(
        standing.best > 1 or standing.worst < count for standing, count in standings
    ):
        found.append("no rank is decided")
    return found


def groups_of(table) -> list[list]:
    """Rows that have a rank, or were timed as natives."""
    groups = (
        [
            entry.row
            for entry in group
            if entry.row.standing or entry.row.column("step", "disturbed")
        ]
        for _, group in table.comparison_groups()
    )
    return [rows for rows in groups if len(rows) > 1]


@pytest.mark.parametrize("name", SETS)
def test_a_set_is_undisturbed_and_decides_something(name):
    assert faults(name, groups_of(read_results([committed(name)]).table)) == []


def made_up(every: int | None = None, **fields) -> list[list]:
    records = [
        one
        for name, step in (("jax", 0.002), ("torch", 0.003))
        for one in blocks(name, step=step, noise=0.005, **fields)
    ]
    return groups_of(table_of(disturbed(records, every) if every else records))


def test_what_is_wrong_with_a_set_is_seen():
    assert faults("made-up", made_up()) == []
    assert faults("made-up", made_up(count=1)) == ["no rank is decided"]
    (said,) = faults("made-up", made_up(every=3))
    assert said.startswith("33% of the slots were disturbed")
