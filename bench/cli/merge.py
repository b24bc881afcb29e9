"""`snnbench merge`: the records of runs on many machines, or of the parts of one, in one folder with one report."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from ..mistakes import ConfigError
from ..records.manifest import in_short
from ..records.merge import merge_folders
from ..report.files import read_results, write_report
from ..report.tables.terminal import print_tables
from . import exit_codes
from .console import messages, output
from .options import make_writable


def merge(
    folders: Annotated[list[Path], typer.Argument(help="Result folders of runs, e.g. of all shards.", show_default=False)],
    out: Annotated[Path, typer.Option(help="A new folder for all of it.", show_default=False)],
) -> None:
    """Put the records of several result folders into one, and report on them.

    Rankings stay within a machine. Of two records of one case and round on one machine the newest counts.
    """
    for folder in folders:
        if not (folder / "records").is_dir():
            raise ConfigError(f"{folder}: is no result folder: it has no records")
    make_writable(out)
    merged = merge_folders(folders, out)
    results = read_results([out])
    results.unreadable += merged.unreadable
    missing = [in_short(results.missing)] if results.missing else []
    for sentence in [*merged.remarks, *results.unreadable, *missing]:
        messages().print(escape(f"snnbench: {sentence}"), soft_wrap=True)
    if not results.rows:
        messages().print(escape(f"snnbench: {', '.join(map(str, folders))}: no records there"), soft_wrap=True)
        raise typer.Exit(exit_codes.NOTHING)
    write_report(out, merged.name, results)
    console = output()
    print_tables(results.table, console)
    console.print(f"[bold]report[/] {out / 'report.html'}   [bold]table[/] {out / 'results.csv'}", soft_wrap=True)
    raise typer.Exit(exit_codes.of_rows(results.rows))
