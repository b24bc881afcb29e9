"""Writes what can be derived from records. Deleting it loses nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..files import write_atomically
from ..records.manifest import without_record
from ..records.rows import Row, rows_of
from ..records.store import read_records
from .coverage import Conditions
from .figures import Published, Table, coverage_map, figures_of
from .page.page import html_text
from .page.reproduce import ResultSet, result_set
from .plots import drawn
from .tables.csv import csv_text


@dataclass
class Results:
    """Rows of one or more result folders, a sentence for each file that could not be read, what the folders are, and the names
    of cases that they were to hold and do not."""

    rows: list[Row]
    unreadable: list[str]
    sets: list[ResultSet] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def read_results(folders: list[Path]) -> Results:
    """What the records in `folders` say."""
    records, unreadable, sets, planned = [], [], [], {}
    for folder in folders:
        found, bad = read_records(folder)
        records += found
        sets.append(result_set(folder, [record.started_at for record in found]))
        unreadable += [*bad, *sets[-1].unreadable]
        planned |= sets[-1].planned
    return Results(rows_of(records), unreadable, sets, without_record(planned, records))


def write_report(folder: Path, name: str, results: Results, theirs: list[Published] = (), baseline: str = "") -> None:
    """`results.csv` and `report.html` in `folder`, which is made if need be."""
    write_atomically(folder / "results.csv", csv_text(results.rows))
    page = html_text(results.rows, name, results.unreadable, results.sets, theirs, baseline, results.missing)
    write_atomically(folder / "report.html", page)


def write_plots(folder: Path, results: Results, theirs: list[Published] = (), baseline: str = "") -> Iterator[Path]:
    """Every figure of the report as PNG, SVG and PDF in `folder`; yields each path when it is there."""
    table = Table(results.rows, Conditions(results.rows), baseline)
    for name, content in drawn(table, [coverage_map(table), *figures_of(table, theirs)]):
        write_atomically(folder / name, content)
        yield folder / name
