"""docs/columns.md describes every column of results.csv, and no other."""

import re

from support.paths import ROOT

from snnbench.core.case import PHASES
from snnbench.report.columns.metrics import METRICS

ANY = {"PHASE": "|".join(PHASES)}


def described() -> list[str]:
    rows = [
        line
        for line in (ROOT / "docs" / "columns.md").read_text().splitlines()
        if line.startswith("| `")
    ]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def pattern(name: str) -> re.Pattern:
    for word, ways in ANY.items():
        name = name.replace(word, f"(?:{ways})")
    return re.compile(name)


def test_every_column_is_described():
    assert [
        metric.name
        for metric in METRICS
        if not any(pattern(name).fullmatch(metric.name) for name in described())
    ] == []


def test_nothing_is_described_that_is_no_column():
    names = [metric.name for metric in METRICS]
    assert [
        name for name in described() if not any(pattern(name).fullmatch(each) for each in names)
    ] == []


def test_every_unit_is_described():
    text = (ROOT / "docs" / "columns.md").read_text()
    assert [
        metric.unit for metric in METRICS if metric.unit and f"`{metric.unit}`" not in text
    ] == []
