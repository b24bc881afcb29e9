"""`snnbench report`: tables, CSV and HTML from finished records."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..config import ConfigError
from ..exit_codes import NOTHING
from ..report.files import rows_in, write_report
from ..report.markdown import markdown_text
from ..report.terminal import print_tables
from .console import messages, output


class Format(StrEnum):
    TABLE = "table"
    MARKDOWN = "markdown"


def report(
    folders: Annotated[list[Path], typer.Argument(help="Result folders of earlier runs.", show_default=False)],
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.TABLE,
    out: Annotated[Path | None, typer.Option(help="Where to write [default: the first folder].", show_default=False)] = None,
) -> None:
    """Print the tables of one or more result folders; unless as Markdown, write results.csv and report.html anew."""
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder}: there is no such folder")
    if not rows_in(folders)[0]:
        raise typer.Exit(_nothing(folders))
    if format is Format.MARKDOWN:
        print(markdown_text(rows_in(folders)[0]), end="")
        return
    rows = write_report(out or folders[0], " + ".join(folder.resolve().name for folder in folders), sources=folders)
    console = output()
    print_tables(rows, console)
    console.print(f"[bold]report[/] {(out or folders[0]) / 'report.html'}", highlight=False, soft_wrap=True)


def _nothing(folders: list[Path]) -> int:
    messages().print(f"snnbench: {', '.join(map(str, folders))}: no records there")
    return NOTHING
