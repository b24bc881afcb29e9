"""`snnbench compare`: is this result set worse than that one?"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from ..records.compare import OTHER_MACHINE, SAME_MACHINE, Comparison
from ..records.compare import compare as compare_rows
from ..records.store import ResultFolder
from ..report.files import read_results
from . import exit_codes
from .console import new_table, output, print_json, say
from .options import Json

COLOURS = {"worse": "red", "better": "green", "ambiguous": "yellow"}


def compare(
    base: Annotated[Path, typer.Argument(help="The result folder to measure up to.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="The result folder in question.", show_default=False)],
    factor: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            help=f"How many times slower is worse [default: {SAME_MACHINE}, relative to the others {OTHER_MACHINE:.0f}].",
            show_default=False,
        ),
    ] = None,
    relative: Annotated[
        bool, typer.Option("--relative", help="Compare times as if the machines were different: by their ratios in each run.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 7 where times differ, but not surely.")] = False,
    as_json: Json = False,
) -> None:
    """Compare statuses, proofs, memory and step times of two result sets, case by case.

    Times of different machines are compared as ratios to the other frameworks of the same run only.
    """
    sets = []
    for folder in (base, new):
        ResultFolder(folder).must_exist()
        results = read_results([folder])
        for sentence in results.unreadable:
            say(sentence)
        sets.append(results.rows)
    comparison = compare_rows(sets[0], sets[1], factor, relative)
    if as_json:
        print_json(asdict(comparison))
    else:
        _print(comparison)
    if not comparison.cases:
        say("the two have no case in common")
    raise typer.Exit(_exit_code(comparison, strict))


def _exit_code(comparison: Comparison, strict: bool) -> int:
    if not comparison.cases:
        return exit_codes.NOTHING
    if comparison.any("worse"):
        return exit_codes.WORSE
    return exit_codes.AMBIGUOUS if strict and comparison.any("ambiguous") else exit_codes.FINE


def _print(comparison: Comparison) -> None:
    console = output()
    if comparison.findings:
        table = new_table("case", "what", "was", "is", "verdict")
        for one in comparison.findings:
            verdict = f"[{COLOURS[one.verdict]}]{one.verdict}[/]"
            table.add_row(escape(one.case), one.what, escape(one.base), escape(one.new), verdict)
        console.print(table)
    counts = ", ".join(f"{sum(one.verdict == verdict for one in comparison.findings)} {verdict}" for verdict in COLOURS)
    console.print(f"{comparison.cases} cases in both, {comparison.timed} with {comparison.times} step times compared: {counts}")
