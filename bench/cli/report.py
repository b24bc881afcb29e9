"""`snnbench report`: tables, CSV, JSON, HTML and plots from finished records."""

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from ..common.files import spare_inputs
from ..common.mistakes import ConfigError, nearest
from ..common.units import counted
from ..core.case import PHASES
from ..records.bundle import SUFFIX, stored_set
from ..records.store import ResultFolder, name_of
from ..report.figures import NAMES
from ..report.files import (
    REPORT,
    ReadResults,
    figures_to_plot,
    results_of,
    write_plots,
    write_report,
)
from ..report.plots import ALL, DRAWING, Choice
from ..report.table import csv_text
from ..report.tables.latex import latex_text
from ..report.tables.markdown import markdown_text
from ..report.tables.proved import matrix_text
from ..report.tables.terminal import print_tables
from .console import RARER, messages, output, say
from .exit_codes import FINE, NOTHING, with_refused


class ReportFormat(StrEnum):
    TABLE = "table"
    MARKDOWN = "markdown"
    LATEX = "latex"
    COVERAGE = "coverage"
    CSV = "csv"
    JSON = "json"


PLOTS = "plots"
FILES = ("csv", "html", "latex", "parquet", PLOTS)
FIGURES = (*NAMES, ALL)
FORMATS = tuple(suffix[1:] for suffix in DRAWING)
TEXTS = {
    ReportFormat.MARKDOWN: markdown_text,
    ReportFormat.LATEX: latex_text,
    ReportFormat.COVERAGE: matrix_text,
    ReportFormat.CSV: csv_text,
}


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(help="Result folders of earlier runs, or bundles.", show_default=False),
    ],
    format: Annotated[
        ReportFormat, typer.Option(help="What is printed; only with `table` files are written.")
    ] = ReportFormat.TABLE,
    write: Annotated[
        str,
        typer.Option(
            help=f"The files to write: some of {','.join(FILES)}. "
            "Plots are PNG, SVG and PDF in OUT/plots, with captions.",
            show_default=",".join(REPORT),
        ),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write.",
            show_default="the folder, if it is one; of a bundle a folder of its name",
        ),
    ] = None,
    only: Annotated[
        list[str],
        typer.Option(
            "--only",
            metavar="FIGURE",
            help=f"Of the plots only this, under all conditions: {', '.join(FIGURES)}.",
            rich_help_panel=RARER,
        ),
    ] = [],
    phase: Annotated[
        list[str],
        typer.Option(
            "--phase",
            help=f"Of the plots only those of {', '.join(PHASES)}.",
            rich_help_panel=RARER,
        ),
    ] = [],
    plot_format: Annotated[
        list[str],
        typer.Option(
            "--plot-format",
            help=f"Of the plots only {', '.join(FORMATS)}.",
            rich_help_panel=RARER,
        ),
    ] = [],
    baseline: Annotated[
        str,
        typer.Option(
            help="Framework that the figures compare times with.",
            show_default="the fastest",
            rich_help_panel=RARER,
        ),
    ] = "",
) -> None:
    """Print the tables of one or more result folders; as a table, write results.csv and report.html
    anew.

    Each figure and phase is plotted under its first conditions; a figure that --only names is
    plotted under all. An option that chooses plots writes them too.

    `coverage` is Markdown: which framework was proved to compute which neuron in which precision,
    and why the rest was not.
    """
    if len(folders) > 1 and out is None and format is ReportFormat.TABLE:
        raise ConfigError(
            f"report {' '.join(map(str, folders))}: needs --out FOLDER: "
            "the table of several is none of theirs"
        )
    choice = _choice(only, phase, plot_format)
    files = _files(write) or list(REPORT)
    if choice != Choice() and PLOTS not in files:
        files.append(PLOTS)
    if format is not ReportFormat.TABLE and (write or PLOTS in files):
        unwritten = _files(write) or [PLOTS]
        raise ConfigError(
            f"report --format {format}: writes no files, and so no {' and no '.join(unwritten)}; "
            "leave one of the two out"
        )
    sets = [stored_set(folder) for folder in folders]
    for each in sets:
        each.must_exist()
    results = results_of(sets, baseline)
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
    elif format is ReportFormat.JSON:
        rows = [entry.values for entry in results.table.entries]
        print(json.dumps({"rows": rows}, indent=1, default=str))
    else:
        target, console = ResultFolder(out or _beside(folders[0])), output()
        if len(folders) > 1:
            spare_inputs(target.path, folders)
        if target.path.resolve() != folders[0].resolve():
            target.must_be_of(*filter(None, (name_of(each.read_experiment()[0]) for each in sets)))
        target.make()
        name = " + ".join(each.name for each in sets)
        with target.writing():
            tables = [each for each in files if each != PLOTS]
            written = write_report(target, name, results, tables)
            print_tables(results.table, console)
            for path in written:
                kind = "report" if path == target.page else "table"
                console.print(f"[bold]{kind}[/] {path}", highlight=False, soft_wrap=True)
            if PLOTS in files:
                _plot(target, results, choice, console)
    raise typer.Exit(with_refused(FINE, results.unreadable))


def _beside(path: Path) -> Path:
    """Returns the folder in which the report of a set is written."""
    return path.with_name(path.name.removesuffix(SUFFIX))


def _files(text: str) -> list[str]:
    """Parses `--write`. Raises ConfigError."""
    names = list(dict.fromkeys(name.strip() for name in text.split(","))) if text else []
    _must_be_of("--write", names, FILES)
    return names


def _choice(figures: list[str], phases: list[str], formats: list[str]) -> Choice:
    """Raises ConfigError."""
    _must_be_of("--only", figures, FIGURES)
    _must_be_of("--phase", phases, PHASES)
    _must_be_of("--plot-format", formats, FORMATS)
    return Choice(tuple(figures), tuple(phases), tuple(formats))


def _must_be_of(option: str, values: list[str], known: tuple[str, ...]) -> None:
    for value in values:
        if value not in known:
            raise ConfigError(
                f"{option} {value}: must be one of {', '.join(known)}{nearest(value, known)}"
            )


def _plot(target: ResultFolder, results: ReadResults, choice: Choice, console: Console) -> None:
    figures = figures_to_plot(results.table)
    count = counted(_with_a_bar(write_plots(target, results, figures, choice)), "file")
    console.print(f"[bold]plots[/] {target.plots} ({count})", highlight=False, soft_wrap=True)
    for sentence in choice.empty(figures):
        say(sentence)
    if more := choice.left_out(figures):
        console.print(
            f"Of each figure and phase the first conditions; {more} more panels with --only {ALL}",
            highlight=False,
        )


def _with_a_bar(steps: Iterator[int]) -> int:
    """Draws all files, with a bar on a terminal, and returns their number. `steps` yields the
    number of files still to draw, first of all."""
    console, count = messages(), next(steps)
    with Progress(console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("plots", total=count)
        for remaining in steps:
            bar.update(task, completed=count - remaining)
    return count


def _check_baseline(baseline: str, results: ReadResults) -> None:
    variants = sorted(
        {row.case.framework_variant for row in results.rows if row.ranked in row.estimates}
    )
    if baseline and baseline not in variants:
        timed = (
            f"one that was timed: {', '.join(variants)}"
            if variants
            else "left out: nothing was timed"
        )
        raise ConfigError(f"--baseline {baseline}: must be {timed}{nearest(baseline, variants)}")
