"""`snnbench compare`: is this result set, or this framework variant, worse than that one?"""

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..common.mistakes import ConfigError
from ..records.bundle import stored_set
from ..records.changes import NOISE
from ..records.compare import (
    OTHER_MACHINE,
    PAIRED,
    STORED,
    Comparison,
    compare_sets,
    compare_variants,
)
from ..records.rows import Row
from ..report.comparison import columns, junit_text, markdown_text, rows, summary
from ..report.files import read_results
from . import exit_codes
from .console import RARER, UNLIMITED, new_table, output, say


class ComparisonFormat(StrEnum):
    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    JUNIT = "junit"


COLOURS = {
    "worse": "red",
    "slower": "red",
    "better": "green",
    "faster": "green",
    "ambiguous": "yellow",
}


def compare(
    base: Annotated[
        Path,
        typer.Argument(help="The result folder, or bundle, to measure up to.", show_default=False),
    ],
    new: Annotated[
        Path | None,
        typer.Argument(help="The result folder, or bundle, in question.", show_default=False),
    ] = None,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="BASE NEW",
            help="In place of a second folder: two framework variants of the first, or two cases "
            "that differ in more, such as torch,batch=1 torch,batch=64.",
            show_default=False,
        ),
    ] = None,
    factor: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            help=f"How many times slower is worse (default: {STORED.changed:.2f}; between machines "
            f"{OTHER_MACHINE.changed:.0f}; of a pair {PAIRED.changed:.2f}). From {NOISE:.0f} on it "
            "counts even where blocks are few or disturbed.",
            show_default=False,
            rich_help_panel=RARER,
        ),
    ] = None,
    relative: Annotated[
        bool,
        typer.Option(
            "--relative",
            help="Compare times as if the machines were different: by their ratios in each run.",
            rich_help_panel=RARER,
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with 7 if it is not known of each time whether it changed.",
            rich_help_panel=RARER,
        ),
    ] = False,
    only_changed: Annotated[
        bool,
        typer.Option(
            "--only-changed",
            help="In a table and in Markdown only what changed, or may have changed.",
        ),
    ] = False,
    format: Annotated[
        ComparisonFormat,
        typer.Option(help="What is printed: Markdown for pull requests, JUnit's XML for CI."),
    ] = ComparisonFormat.TABLE,
) -> None:
    """Compare statuses, proofs, memory and the times of all phases, case by case: of two result
    sets, or of two variants in one.

    Two sets were measured at different times: a change counts from 10 % on, after the change that
    all cases share is taken out. Two variants of one run were measured together: 3 % counts. Times
    of disturbed sets, or of fewer than three blocks, are unsure.

    Times of different machines are compared as ratios to the other frameworks of the same run only.

    A case in one set alone is counted, and is neither better nor worse; with --strict such a case
    of BASE ends with 7.
    """
    if (new is None) == (pair is None):
        raise ConfigError(
            "compare: name a second result folder, or two framework variants with --pair"
        )
    refused: list[str] = []
    if pair:
        comparison = compare_variants(_rows(base, refused), *pair, factor)
    else:
        comparison = compare_sets(
            _rows(base, refused), _rows(new, refused) if new else [], factor, relative
        )
    if format is ComparisonFormat.TABLE:
        print_comparison(comparison, only_changed, output())
    elif format is ComparisonFormat.MARKDOWN:
        print(markdown_text(comparison, only_changed), end="")
    else:
        if not comparison.cases:
            say(next(summary(comparison)))
        print(
            junit_text(comparison)
            if format is ComparisonFormat.JUNIT
            else json.dumps(asdict(comparison), indent=1)
        )
    raise typer.Exit(exit_codes.with_refused(_exit_code(comparison, strict), refused))


def _rows(folder: Path, refused: list[str]) -> list[Row]:
    """Returns the rows of a folder. Sentences on refused files are printed and added to
    `refused`."""
    stored_set(folder).must_exist()
    results = read_results([folder])
    for sentence in results.unreadable:
        say(sentence)
    refused += results.unreadable
    return results.rows


def _exit_code(comparison: Comparison, strict: bool) -> int:
    if not comparison.cases:
        return exit_codes.NOTHING
    if comparison.worse:
        return exit_codes.WORSE
    return exit_codes.AMBIGUOUS if strict and comparison.undecided else exit_codes.FINE


def print_comparison(comparison: Comparison, only_changed: bool, console: Console) -> None:
    """Prints a table of the comparison, and sentences below it."""
    table, above = new_table(*columns(comparison)), ""
    for (case, *texts, verdict), note in rows(comparison, only_changed):
        coloured = f"[{COLOURS.get(verdict, 'dim')}]{verdict}[/]" + (f": {note}" if note else "")
        table.add_row(escape(case) if case != above else "", *map(escape, texts), coloured)
        above = case
    for column in table.columns[1:-1]:  # a ratio and its interval stay whole
        words = [word for cell in column.cells for word in str(cell).split()]
        column.min_width = max(map(len, words), default=0)
    _narrow(table, console)
    if table.row_count:
        console.print(table)
    for sentence in summary(comparison):
        console.print(escape(sentence))


def _narrow(table: Table, console: Console) -> None:
    """Gives the cases, then the verdicts, no more room than the other columns leave, down to their
    longest words."""
    unlimited = console.options.update(width=UNLIMITED)
    for column in (table.columns[0], table.columns[-1]):
        excess = console.measure(table, options=unlimited).maximum - console.width
        texts = [Text.from_markup(str(cell)).plain for cell in (column.header, *column.cells)]
        longest = max(len(word) for text in texts for word in text.split())
        if excess > 0:
            column.max_width = max(longest, max(map(len, texts)) - excess)
