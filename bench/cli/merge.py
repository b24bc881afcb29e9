"""`snnbench merge`: the records of runs on many machines, or of the parts of one, in one folder
with one report."""

from pathlib import Path
from typing import Annotated

import typer

from ..records.bundle import stored_set
from ..records.merge import merge_folders
from ..records.store import ResultFolder
from ..report.files import results_of, write_report
from . import exit_codes
from .console import say
from .options import Json
from .results import print_results


def merge(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help="Result folders of runs, e.g. of all shards, or bundles.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(help="A new folder for all of it.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Put the records of several result folders into one, and report on them.

    Rankings stay within a machine. Of two records of one case and round on one machine the newest
    counts.
    """
    whole = ResultFolder(out)
    merged = merge_folders([stored_set(folder) for folder in folders], whole)
    results = results_of([whole])
    results.unreadable += merged.unreadable
    for sentence in [*merged.remarks, *results.unreadable, *results.missing_in_words]:
        say(sentence)
    if not results.rows:
        say(f"{', '.join(map(str, folders))}: no records there")
        raise typer.Exit(exit_codes.with_refused(exit_codes.NOTHING, results.unreadable))
    with whole.writing():
        write_report(whole, merged.name, results)
    print_results(
        results.table, results, whole, as_json, remarks=merged.remarks, missing=results.missing
    )
    raise typer.Exit(exit_codes.with_refused(exit_codes.of_rows(results.rows), results.unreadable))
