"""Writes what can be derived from records. Deleting it loses nothing."""

from dataclasses import dataclass
from pathlib import Path

from ..store import read_records, write_atomically
from .csv_table import csv_text
from .html import html_text
from .rows import Row, rows_of


@dataclass
class Results:
    """Rows of one or more result folders, and a sentence for each file that could not be read."""

    rows: list[Row]
    unreadable: list[str]


def read_results(folders: list[Path]) -> Results:
    """What the records in `folders` say."""
    records, unreadable = [], []
    for folder in folders:
        found, bad = read_records(folder)
        records += found
        unreadable += bad
    return Results(rows_of(records), unreadable)


def write_report(folder: Path, name: str, results: Results) -> None:
    """`results.csv` and `report.html` in `folder`."""
    write_atomically(folder / "results.csv", csv_text(results.rows))
    write_atomically(folder / "report.html", html_text(results.rows, name, results.unreadable))
