"""`snnbench compare`: is this result set, or this framework variant, worse than that one?"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ..common.files import write_atomically
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
from ..report.comparison import COLUMNS, junit_text, markdown_text, rows, summary
from ..report.files import read_results
from . import exit_codes
from .console import new_table, output, print_json, say
from .options import Json

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
            help="In place of a second folder: two framework variants of the first.",
            show_default=False,
        ),
    ] = None,
    factor: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            help=f"How many times slower is worse (default: {STORED.changed:.2f}; between machines {OTHER_MACHINE.changed:.0f}; "
            f"of a pair {PAIRED.changed:.2f}). From {NOISE:.0f} on it counts even where blocks are few or disturbed.",
            show_default=False,
        ),
    ] = None,
    relative: Annotated[
        bool,
        typer.Option(
            "--relative",
            help="Compare times as if the machines were different: by their ratios in each run.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with 7 if it is not known of each time whether it changed."
        ),
    ] = False,
    as_json: Json = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for pull requests.")
    ] = False,
    junit: Annotated[
        Path | None,
        typer.Option(help="Also write JUnit's XML to this file, for CI.", show_default=False),
    ] = None,
) -> None:
    """Compare statuses, proofs, memory and the times of all phases, case by case: of two result sets, or of two variants in one.

    Sets were measured at different times: only changes of 10 % or more are told, and what all cases have in common is taken out.
    Variants of one run were alive together: 3 % is told. Times of disturbed sets, or of fewer than three blocks, are unsure.

    Times of different machines are compared as ratios to the other frameworks of the same run only.

    A case that only one of the two has is neither better nor worse: it is counted, and with --strict one of BASE is not known.
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
    if junit:
        write_atomically(junit, junit_text(comparison))
    if as_json:
        if not comparison.cases:
            say(next(summary(comparison)))
        print_json(asdict(comparison))
    elif markdown:
        print(markdown_text(comparison), end="")
    else:
        _print(comparison, output())
    raise typer.Exit(exit_codes.with_refused(_exit_code(comparison, strict), refused))


def _rows(folder: Path, refused: list[str]) -> list[Row]:
    """The rows of a folder; sentences on files that are refused are said, and added to `refused`."""
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


def _print(comparison: Comparison, console: Console) -> None:
    table, above = new_table(*COLUMNS), ""
    for (case, *texts, verdict), note in rows(comparison):
        coloured = f"[{COLOURS[verdict]}]{verdict}[/]" + (f": {note}" if note else "")
        table.add_row(escape(case) if case != above else "", *map(escape, texts), coloured)
        above = case
    if table.row_count:
        console.print(table)
    for sentence in summary(comparison):
        console.print(escape(sentence))
