"""Files of a report. They are derived from records and can be written again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..common.texts import anonymous, first_few
from ..records.bundle import StoredSet, stored_set
from ..records.record import Record
from ..records.rows import Row, rows_of
from ..records.store import ResultFolder
from .figures import Figure, coverage_map, figures_of
from .page.page import html_text
from .page.reproduce import ResultSet, given_by_command, result_set
from .plots import Choice, drawn
from .table import Table, csv_text
from .tables.frame import parquet_bytes
from .tables.latex import latex_text


@dataclass
class ReadResults:
    """Rows of one or more result sets, sentences on unreadable files, the sets, and the names of
    planned cases without a record. `baseline` is the variant that figures compare with; empty:
    the fastest."""

    rows: list[Row]
    unreadable: list[str]
    sets: list[ResultSet] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    baseline: str = ""

    @cached_property
    def table(self) -> Table:
        """The data that every part of the report reads."""
        return Table(self.rows, self.baseline)

    @property
    def missing_in_words(self) -> list[str]:
        """A sentence for a terminal about missing cases, if there are any."""
        count = len(self.missing)
        have = "cases have" if count > 1 else "case has"
        return [f"{count} planned {have} no record yet: {first_few(self.missing)}"] if count else []


def read_results(folders: list[Path], baseline: str = "") -> ReadResults:
    """Returns the results of folders and bundles, read from their files."""
    return results_of([stored_set(folder) for folder in folders], baseline)


def results_of(folders: Sequence[StoredSet], baseline: str = "") -> ReadResults:
    """Returns the results of sets; records may have been read already."""
    records: list[Record] = []
    unreadable: list[str] = []
    sets: list[ResultSet] = []
    planned: dict[str, str] = {}
    for folder in folders:
        new, damaged = folder.read_records()
        records += new
        sets.append(result_set(folder, [record.started_at for record in new]))
        sets[-1].given = given_by_command(sets[-1], (record.adapter["reference"] for record in new))
        unreadable += anonymous([*damaged, *sets[-1].unreadable])
        planned |= sets[-1].planned
    recorded = {record.case_id for record in records}
    missing = [name for case_id, name in planned.items() if case_id not in recorded]
    return ReadResults(rows_of(records), unreadable, sets, missing, baseline)


REPORT = ("csv", "html")
"""The formats that a run writes."""


def write_report(
    folder: ResultFolder, name: str, results: ReadResults, formats: Iterable[str] = REPORT
) -> list[Path]:
    """Writes the report in `formats` ("csv", "html", "latex", "parquet") and returns the files.
    Raises ConfigError, and writes nothing, if a format needs a package that is missing."""
    table = results.table
    contents: dict[str, tuple[Path, Callable[[], str | bytes]]] = {
        "csv": (folder.table, lambda: csv_text(table)),
        "html": (
            folder.page,
            lambda: html_text(
                table, anonymous(name), results.unreadable, results.sets, results.missing
            ),
        ),
        "latex": (folder.latex, lambda: latex_text(table)),
        "parquet": (folder.parquet, lambda: parquet_bytes(table)),
    }
    made = [(path, content()) for path, content in map(contents.__getitem__, formats)]
    for path, content in made:
        folder.write(path, content)
    return [path for path, _ in made]


def finish(folder: ResultFolder, name: str) -> ReadResults:
    """Writes the report of everything that `folder` holds, and returns it."""
    results = results_of([folder])
    with folder.writing():
        write_report(folder, name, results)
    return results


def figures_to_plot(table: Table) -> list[Figure]:
    """Returns all figures of the report that can be files."""
    return [coverage_map(table), *figures_of(table)]


def write_plots(
    folder: ResultFolder, results: ReadResults, figures: Sequence[Figure], choice: Choice
) -> Iterator[int]:
    """Writes the chosen panels as PNG, SVG and PDF, and their captions, into `plots/` of `folder`.
    Yields the number of files still to write, first of all files."""
    remaining = len(choice.panels(figures)) * (len(choice.suffixes) + 1)
    yield remaining
    for name, content in drawn(results.table, figures, choice):
        folder.write(folder.plots / name, content)
        remaining -= 1
        yield remaining
