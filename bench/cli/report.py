"""`snnbench report`: tables, CSV, JSON, HTML and plots from finished records."""

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from ..common.mistakes import ConfigError, nearest
from ..common.units import counted
from ..core.case import PHASES
from ..records.bundle import SUFFIX, stored_set
from ..records.store import ResultFolder
from ..report.figures import NAMES
from ..report.files import ReadResults, plotted, read_results, write_plots, write_report
from ..report.plots import ALL, DRAWING, Choice
from ..report.tables.csv import csv_text
from ..report.tables.frame import parquet_bytes
from ..report.tables.latex import latex_text
from ..report.tables.markdown import markdown_text
from ..report.tables.proved import matrix_text
from ..report.tables.terminal import print_tables
from .console import messages, output, say
from .exit_codes import FINE, NOTHING, with_refused


class Format(StrEnum):
    TABLE = "table"
    MARKDOWN = "markdown"
    LATEX = "latex"
    COVERAGE = "coverage"
    CSV = "csv"
    JSON = "json"


FIGURES = (*NAMES, ALL)
FORMATS = tuple(suffix[1:] for suffix in DRAWING)
TEXTS = {
    Format.MARKDOWN: markdown_text,
    Format.LATEX: latex_text,
    Format.COVERAGE: matrix_text,
    Format.CSV: csv_text,
}


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(help="Result folders of earlier runs, or bundles.", show_default=False),
    ],
    format: Annotated[
        Format, typer.Option(help="What is printed; only with `table` files are written.")
    ] = Format.TABLE,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write.",
            show_default="the folder, if it is one; of a bundle a folder of its name",
        ),
    ] = None,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Also write results.parquet, with typed columns.")
    ] = False,
    plots: Annotated[
        bool, typer.Option("--plots", help="Also write figures as PNG, SVG and PDF, in OUT/plots.")
    ] = False,
    figure: Annotated[
        list[str],
        typer.Option(
            "--figure", help=f"Of the plots only this, under all conditions: {', '.join(FIGURES)}."
        ),
    ] = [],
    phase: Annotated[
        list[str], typer.Option("--phase", help=f"Of the plots only those of {', '.join(PHASES)}.")
    ] = [],
    plot_format: Annotated[
        list[str], typer.Option("--plot-format", help=f"Of the plots only {', '.join(FORMATS)}.")
    ] = [],
    baseline: Annotated[
        str,
        typer.Option(
            help="Framework that the figures compare times with.", show_default="the fastest"
        ),
    ] = "",
) -> None:
    """Print the tables of one or more result folders; as a table, write results.csv and report.html anew.

    Plots are of each figure and phase the first conditions only, so that they are few; a figure that --figure names has all.

    `coverage` is Markdown too: which framework was proved to compute which neuron in which precision, and why the rest was not.
    """
    if len(folders) > 1 and out is None and format is Format.TABLE:
        raise ConfigError(
            f"report {' '.join(map(str, folders))}: needs --out FOLDER: the table of several is none of theirs"
        )
    choice = _choice(figure, phase, plot_format)
    plots = plots or choice != Choice()
    if (plots or parquet) and format is not Format.TABLE:
        what = "plots" if plots else "results.parquet"
        raise ConfigError(
            f"report --format {format}: writes no files, and so no {what}; leave one of the two out"
        )
    for folder in folders:
        stored_set(folder).must_exist()
    results = read_results(folders, baseline)
    for sentence in results.unreadable:
        say(sentence)
    if not results.rows:
        say(f"{', '.join(map(str, folders))}: no records there")
        raise typer.Exit(with_refused(NOTHING, results.unreadable))
    for sentence in results.missing_in_words:
        say(sentence)
    _check_baseline(baseline, results)
    if format in TEXTS:
        print(TEXTS[format](results.table), end="")
    elif format is Format.JSON:
        print(
            json.dumps(
                {"rows": [entry.values for entry in results.table.entries]}, indent=1, default=str
            )
        )
    else:
        target, console = ResultFolder(out or _beside(folders[0])), output()
        target.make()
        with target.writing():
            if parquet:
                target.write(target.parquet, parquet_bytes(results.table))
            write_report(target, " + ".join(stored_set(folder).name for folder in folders), results)
            print_tables(results.table, console)
            console.print(f"[bold]report[/] {target.page}", highlight=False, soft_wrap=True)
            if parquet:
                console.print(f"[bold]table[/] {target.parquet}", highlight=False, soft_wrap=True)
            if plots:
                figures = plotted(results)
                count = counted(_write_plots(write_plots(target, results, figures, choice)), "file")
                console.print(
                    f"[bold]plots[/] {target.plots} ({count})", highlight=False, soft_wrap=True
                )
                for sentence in choice.empty(figures):
                    say(sentence)
                if left := choice.left_out(figures):
                    console.print(
                        f"Of each figure and phase the first conditions; {left} more panels with --figure {ALL}",
                        highlight=False,
                    )
    raise typer.Exit(with_refused(FINE, results.unreadable))


def _beside(path: Path) -> Path:
    """Returns the folder in which the report of a set is written."""
    return path.with_name(path.name.removesuffix(SUFFIX))


def _choice(figures: list[str], phases: list[str], formats: list[str]) -> Choice:
    """Raises ConfigError."""
    known = {
        "--figure": (figures, FIGURES),
        "--phase": (phases, PHASES),
        "--plot-format": (formats, FORMATS),
    }
    for option, (given, names) in known.items():
        for name in given:
            if name not in names:
                raise ConfigError(
                    f"{option} {name}: must be one of {', '.join(names)}{nearest(name, names)}"
                )
    return Choice(tuple(figures), tuple(phases), tuple(formats))


def _write_plots(left: Iterator[int]) -> int:
    """Draw to the end, with a bar on a terminal; how many files there are."""
    console, count = messages(), next(left)
    with Progress(console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("plots", total=count)
        for after in left:
            bar.update(task, completed=count - after)
    return count


def _check_baseline(baseline: str, results: ReadResults) -> None:
    variants = sorted(
        {row.case.framework_variant for row in results.rows if "step" in row.estimates}
    )
    if baseline and baseline not in variants:
        timed = (
            f"one that was timed: {', '.join(variants)}"
            if variants
            else "left out: nothing was timed"
        )
        raise ConfigError(f"--baseline {baseline}: must be {timed}{nearest(baseline, variants)}")
