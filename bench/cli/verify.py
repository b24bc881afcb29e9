"""`snnbench verify`: recomputes the claims of bundles."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from ..common.mistakes import ConfigError
from ..common.units import counted
from ..community.bundle import bundle_files
from ..community.verify.fault import Fault, folded
from ..community.verify.form import NoBundle
from ..community.verify.verify import BundleVerdict
from ..community.verify.verify import verify as verdicts_of
from . import exit_codes
from .console import output, print_json, say
from .options import Json

MOST_SHOWN = 5
"""Number of faults of one kind."""


def verify(
    bundles: Annotated[
        list[Path], typer.Argument(help="Bundles, or folders with bundles.", show_default=False)
    ],
    as_json: Json = False,
) -> None:
    """Recompute what bundles claim: ids, hashes, versions, proofs, statuses, statistics, ranks,
    floors, impossible times.

    Every fault is named in one sentence. Nothing is measured, no adapter is imported, and no
    network is used.

    A bundle without faults can still have wrong times; only a second measurement can tell.
    """
    verdicts, others = checked(bundles)
    if as_json:
        print_json({"bundles": [_as_json(verdict) for verdict in verdicts], "no_bundles": others})
    else:
        for verdict in verdicts:
            _print(verdict)
    if not all(verdict.sound for verdict in verdicts):
        raise typer.Exit(exit_codes.REJECTED)
    raise typer.Exit(exit_codes.USAGE if others else exit_codes.FINE)


def checked(paths: list[Path]) -> tuple[list[BundleVerdict], list[str]]:
    """Returns verdicts on the bundle files of the command line, and a sentence, which is printed,
    on each file that is no bundle. Raises ConfigError if none is one."""
    verdicts, others = list[BundleVerdict](), list[str]()
    for path in bundle_files(paths):
        try:
            verdicts += verdicts_of([path])
        except NoBundle as error:
            others.append(str(error))
    if not verdicts:
        raise ConfigError("; ".join(others))
    for sentence in others:
        say(sentence)
    return verdicts, others


def shortened(faults: list[Fault]) -> list[str]:
    """Returns the first faults of each kind in words, with the numbers of their consequences and of
    further ones."""
    kinds: dict[str, list[str]] = {}
    for fault, following in folded(faults):
        kinds.setdefault(fault.kind, []).append(
            f"{fault}{f' (and {following} that follow from it)' if following else ''}"
        )
    told = []
    for kind, same in kinds.items():
        more = len(same) - MOST_SHOWN
        told += [*same[:MOST_SHOWN], *([f"{kind}: and {more} more"] if more > 0 else [])]
    return told


def _print(verdict: BundleVerdict) -> None:
    console, bundle = output(), verdict.bundle
    count = counted(len(verdict.faults), "fault")
    word = "[green]no fault[/]" if verdict.sound else f"[red]{count}[/]"
    console.print(
        f"[bold]{escape(str(verdict.path))}[/]: {len(bundle.records)} records, {word}",
        soft_wrap=True,
    )
    for sentence in shortened(verdict.faults):
        console.print(f"  [red]✗[/] {escape(sentence)}", soft_wrap=True)
    for sentence in verdict.remarks:
        console.print(f"  [dim]i[/] {escape(sentence)}", soft_wrap=True)


def _as_json(verdict: BundleVerdict) -> dict[str, Any]:
    faults = [vars(fault) for fault in verdict.faults]
    header = {
        name: verdict.bundle.header[name]
        for name in ("by", "name", "sha256", "snnbench", "records")
    }
    return {
        "file": str(verdict.path),
        "sound": verdict.sound,
        **header,
        "faults": faults,
        "remarks": verdict.remarks,
    }
