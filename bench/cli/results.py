"""Output of the verbs that write a result folder."""

from typing import Any

from ..records.store import ResultFolder
from ..report.files import ReadResults, finish
from ..report.table import Table
from ..report.tables.terminal import print_tables
from .console import output, print_json, say


def finished(folder: ResultFolder, name: str) -> ReadResults:
    """Writes the report of a folder after a run, and says which of its files could not be read."""
    results = finish(folder, name)
    for sentence in results.unreadable:
        say(sentence)
    return results


def print_results(
    table: Table, results: ReadResults, folder: ResultFolder, as_json: bool, **facts: Any
) -> None:
    """Prints a table and the places of the files, or one JSON document.

    The document has the places, `facts`, and rows with the columns of results.csv.
    """
    if as_json:
        places = {
            "folder": str(folder.path),
            "report": str(folder.page),
            "table": str(folder.table),
        }
        rows = [entry.values for entry in table.entries]
        print_json({**places, **facts, "unreadable": results.unreadable, "rows": rows})
        return
    console = output()
    print_tables(table, console)
    console.print(f"[bold]report[/] {folder.page}   [bold]table[/] {folder.table}", soft_wrap=True)
