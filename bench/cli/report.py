"""`snnbench report`: tables, CSV and HTML from finished records."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from ..config import ConfigError
from ..exit_codes import NOTHING
from ..report.files import read_results, write_report
from ..report.markdown import markdown_text
from ..report.matrix import matrix_text
from ..report.terminal import print_tables
from .console import messages, output


class Format(StrEnum):
    TABLE = "table"
    MARKDOWN = "markdown"
    COVERAGE = "coverage"


def report(
    folders: Annotated[list[Path], typer.Argument(help="Result folders of earlier runs.", show_default=False)],
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.TABLE,
    out: Annotated[Path | None, typer.Option(help="Where to write [default: the first folder].", show_default=False)] = None,
) -> None:
    """Print the tables of one or more result folders; unless as Markdown, write results.csv and report.html anew.

    `coverage` is Markdown too: which framework was proved to compute which neuron in which precision, and why the rest was not.
    """
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder}: there is no such folder")
    results = read_results(folders)
    for sentence in results.unreadable:
        messages().print(escape(f"snnbench: {sentence}"), soft_wrap=True)
    if not results.rows:
        messages().print(escape(f"snnbench: {', '.join(map(str, folders))}: no records there"), soft_wrap=True)
        raise typer.Exit(NOTHING)
    if format is not Format.TABLE:
        print({Format.MARKDOWN: markdown_text, Format.COVERAGE: matrix_text}[format](results.rows), end="")
        return
    write_report(out or folders[0], " + ".join(folder.resolve().name for folder in folders), results)
    console = output()
    print_tables(results.rows, console)
    console.print(f"[bold]report[/] {(out or folders[0]) / 'report.html'}", highlight=False, soft_wrap=True)
