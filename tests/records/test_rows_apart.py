"""A row is a case of one adapter, framework version, set of packages, machine and set; if
several have one name, every output says how they differ."""

import csv
import io
import json

import pytest
from rich.console import Console
from support.synthetic import blocks, figure

from snnbench.records.compare import compare_sets, compare_variants
from snnbench.records.rows import comparison_group, rows_of
from snnbench.report.comparison import summary
from snnbench.report.page.page import html_text
from snnbench.report.plots import paper_spec
from snnbench.report.table import Table, csv_text
from snnbench.report.tables.markdown import markdown_text
from snnbench.report.tables.proved import matrix_text
from snnbench.report.tables.terminal import print_tables

CLOSURES = [{"torch": "2.13.0"}, {"torch": "2.14.0"}]


def changed(framework="snntorch", step=0.004, **changes):
    """Returns records of a case with another adapter, environment, machine or set."""
    records = blocks(framework, step=step)
    tables = {
        name: {**getattr(records[0], name), **value}
        for name, value in changes.items()
        if isinstance(value, dict)
    }
    texts = {name: value for name, value in changes.items() if not isinstance(value, dict)}
    return [record.model_copy(update={**tables, **texts}) for record in records]


def version(text: str, **more):
    return changed(adapter={"version": text}, done_key=text, **more)


APART = {
    "versions": (version("0.9.4"), version("1.0.0"), ["snntorch 0.9.4", "snntorch 1.0.0"]),
    "packages": (
        changed(adapter={"closure": CLOSURES[0]}, environment={"hash": "a" * 16}),
        changed(adapter={"closure": CLOSURES[1]}, environment={"hash": "b" * 16}),
        ["snntorch with torch 2.13.0", "snntorch with torch 2.14.0"],
    ),
    "many packages": (
        changed(adapter={"closure": CLOSURES[0]}, environment={"hash": "a" * 16}),
        changed(
            adapter={"closure": {**CLOSURES[1], "numpy": "2", "jax": "1"}},
            environment={"hash": "b" * 16},
        ),
        ["snntorch with environment aaaaaa", "snntorch with environment bbbbbb"],
    ),
    "unknown packages": (
        changed(environment={"hash": "a" * 16}),
        changed(environment={"hash": "b" * 16}),
        ["snntorch with environment aaaaaa", "snntorch with environment bbbbbb"],
    ),
    "sets, beside unrelated packages": (
        changed(adapter={"closure": CLOSURES[0]}, environment={"hash": "a" * 16}, set="mine"),
        changed(adapter={"closure": CLOSURES[0]}, environment={"hash": "b" * 16}, set="yours"),
        ["snntorch set mine", "snntorch set yours"],
    ),
    "Python": (
        changed(environment={"python": "CPython 3.11.7"}),
        changed(environment={"python": "CPython 3.12.1"}),
        ["snntorch with Python CPython 3.11.7", "snntorch with Python CPython 3.12.1"],
    ),
    "a version in its packages": (
        changed(adapter={"version": "0.9.4", "closure": {"snntorch": "0.9.4"}}),
        changed(adapter={"version": "1.0.0", "closure": {"snntorch": "1.0.0"}}),
        ["snntorch 0.9.4", "snntorch 1.0.0"],
    ),
    "images": (
        changed(environment={"image": {"digest": "sha256:1234567"}}),
        changed(),
        ["snntorch image 123456", "snntorch image none"],
    ),
    "files": (
        changed(adapter={"source_sha256": "1" * 64}),
        changed(adapter={"source_sha256": "2" * 64}),
        ["snntorch file 111111", "snntorch file 222222"],
    ),
    "sets": (
        changed(set="mine-12ab"),
        changed(set="yours-34cd"),
        ["snntorch set mine-12ab", "snntorch set yours-34cd"],
    ),
    "a version and a set": (
        [*version("0.9.4"), *version("1.0.0")],
        version("1.0.0", set="yours"),
        ["snntorch 0.9.4, set made-up", "snntorch 1.0.0, set made-up", "snntorch 1.0.0, set yours"],
    ),
    "an unknown version": (
        version("0.9.4"),
        changed(adapter={"version": None}),
        ["snntorch", "snntorch 0.9.4"],
    ),
}


@pytest.mark.parametrize("what", APART)
def test_what_differs_is_a_row_of_its_own_and_named(what):
    one, other, names = APART[what]
    rows = rows_of([*one, *other, *blocks("torch", step=0.008)])
    assert sorted(row.case.framework for row in rows) == [*names, "torch"]
    assert len({comparison_group(row) for row in rows}) == 1, "they are ranked together"
    assert all(len(row.records) == 3 for row in rows)
    assert {row.axes["framework"] for row in rows} == {row.case.framework for row in rows}
    assert {row.first.case["framework"] for row in rows} == {"snntorch", "torch"}


@pytest.mark.parametrize("what", APART)
def test_alone_each_has_its_plain_name(what):
    for records in APART[what][:2]:
        if what != "a version and a set":
            assert [row.case.framework for row in rows_of(records)] == ["snntorch"]


def test_packages_that_the_framework_does_not_rest_on_make_no_row():
    one = changed(adapter={"closure": CLOSURES[0]}, environment={"hash": "a"})
    other = changed(
        adapter={"closure": CLOSURES[0]},
        environment={"hash": "b"},
        started_at="2027-01-01T00:00:00+00:00",
    )
    (row,) = rows_of([one[0], *other[1:]])
    assert row.case.framework == "snntorch" and [record.block for record in row.records] == [
        0,
        1,
        2,
    ]


def test_two_machines_of_one_kind_are_two_machines():
    there = changed(step=0.002, machine={"node": "1" * 12}, set="theirs")
    here = changed(machine={"node": "2" * 12})
    rows = rows_of([*there, *here])
    assert [row.case.framework for row in rows] == ["snntorch", "snntorch"], (
        "the machine tells them apart"
    )
    assert [row.standing.place for row in rows] == [1, 1] and len(
        {row.machine for row in rows}
    ) == 2
    table = Table(rows)
    assert [entry.parts["machine"] for entry in table.entries] == ["machine 1", "machine 2"]
    assert [row["machine"] for row in csv.DictReader(io.StringIO(csv_text(table)))] == [
        "m1-111111111111",
        "m1-222222222222",
    ]
    assert [row.machine for row in rows_of(here)] == ["m1"]


NAMES = {"snntorch 0.9.4", "snntorch 1.0.0", "torch"}


@pytest.fixture(scope="module")
def table() -> Table:
    """Two versions, of which the newer one is faster, and another framework."""
    return Table(
        rows_of([*version("0.9.4"), *version("1.0.0", step=0.003), *blocks("torch", step=0.008)])
    )


def test_every_output_names_them_apart(table):
    assert {row["framework"] for row in csv.DictReader(io.StringIO(csv_text(table)))} == NAMES
    console = Console(file=io.StringIO(), width=200)
    print_tables(table, console)
    page = html_text(table, "versions")
    drawn = [
        json.dumps(paper_spec(one, panel, table))
        for one in [figure(table, "times")]
        for panel in one.panels
    ]
    for text in (markdown_text(table), matrix_text(table), console.file.getvalue(), page, *drawn):
        assert [name for name in NAMES if name not in text] == []
    assert set(table.variants) == NAMES


def test_variants_are_compared_by_these_names(table):
    comparison = compare_variants(table.rows, "snntorch 0.9.4", "snntorch 1.0.0")
    assert comparison.cases == 1 and {one.verdict for one in comparison.changes} == {"faster"}


def test_two_sets_are_compared_by_the_newest_of_each_case_and_say_the_versions():
    later = {"started_at": "2027-01-01T00:00:00+00:00"}
    base, new = (
        version("0.9.4"),
        [*version("0.9.4", set="new"), *version("1.0.0", step=0.008, set="new", **later)],
    )
    comparison = compare_sets(rows_of(base), rows_of(new))
    assert comparison.cases == 1 and comparison.versions == ["snntorch 0.9.4 → 1.0.0"]
    assert {one.verdict for one in comparison.changes} == {"slower"}
    assert "versions: snntorch 0.9.4 → 1.0.0" in list(summary(comparison))
    assert compare_sets(rows_of(base), rows_of(base)).versions == []
