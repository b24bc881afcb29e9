"""Writes what can be derived from records. Deleting it loses nothing."""

from pathlib import Path

from ..store import read_records, write_atomically
from .csv_table import csv_text
from .html import html_text
from .rows import Row, rows_of


def rows_in(folders: list[Path], only: set[str] | None = None) -> tuple[list[Row], list[str]]:
    """Rows of the records in `folders`, those of the cases `only` if given, and a sentence per unreadable file."""
    records, unreadable = [], []
    for folder in folders:
        found, bad = read_records(folder)
        records += [record for record in found if only is None or record.case_id in only]
        unreadable += bad
    return rows_of(records), unreadable


def write_report(folder: Path, name: str, only: set[str] | None = None, sources: list[Path] | None = None) -> list[Row]:
    """`results.csv` and `report.html` in `folder`, from the records of `sources` (default: itself)."""
    rows, unreadable = rows_in(sources or [folder], only)
    write_atomically(folder / "results.csv", csv_text(rows))
    write_atomically(folder / "report.html", html_text(rows, name, unreadable))
    return rows
