"""`snnbench bundle`: the results of a folder as one file for others."""

from pathlib import Path
from typing import Annotated

import typer

from ..common.files import spare_inputs, write_atomically
from ..common.mistakes import ConfigError
from ..community.bundle import LICENCE, bundle_of, text_of
from ..community.verify.bundle_checks import unfinished
from ..records.bundle import SUFFIX, BundleFile, stored_set
from . import exit_codes
from .console import output, print_json, say
from .options import Json


def bundle(
    folder: Annotated[
        Path, typer.Argument(help="The result folder of a run, or a bundle.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option(help="The file.", show_default=f"NAME{SUFFIX}, here")
    ] = None,
    by: Annotated[str, typer.Option(help="Your name on GitHub, shown beside the results.")] = "",
    note: Annotated[
        str, typer.Option(help="A sentence on the machine or the run, for readers.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Write the results of a folder as one text file that others can verify and show.

    It has a list of allowed fields, without paths, names of people and machines, and the words of
    errors. The same records give the same bytes. Of a run that has not come to its end it says what
    is missing, and ends with exit code 3.

    An earlier bundle of the same experiment is replaced, another file is not. A bundle has the
    licence CC-BY-4.0: others may show it with your name.
    """
    if by and (len(by) > 39 or not by.replace("-", "").isalnum() or not by.isascii()):
        raise ConfigError(
            f"--by {by}: must be a name on GitHub: letters, digits and dashes, at most 39"
        )
    if len(note) > 200:
        raise ConfigError(f"--note: has {len(note)} characters; at most 200")
    made, refused = bundle_of(stored_set(folder), by, note)
    target = out or Path(f"{made.header['name']}{SUFFIX}")
    if not target.name.endswith(SUFFIX):
        raise ConfigError(
            f"--out {target}: must end with {SUFFIX}, by which verify and site know a bundle"
        )
    if target.is_dir():
        raise ConfigError(f"--out {target}: is a folder; name a file")
    spare_inputs(target, [folder])
    BundleFile(target).must_be_of(made.header["name"])
    for sentence in refused:
        say(sentence)
    networks = {record.case.get("network") or "" for record in made.records} - {""}
    if names := sorted({network.partition("@")[0] for network in networks}):
        raise ConfigError(
            f"{folder}: has cases of {', '.join(names)}, your own networks, which others could "
            "not verify; publish its report with the network's file and the config instead"
        )
    if lacking := unfinished(made):
        say(f"{folder}: the run has not come to its end: {', '.join(lacking)}")
        say(
            f"to go on: snnbench run --config CONFIG --out {folder}, with the --adapter that it "
            "had, if any; it measures only what is missing; then bundle again"
        )
    text = text_of(made)
    write_atomically(target, text)
    if as_json:
        facts = {"file": str(target), "bytes": len(text), "unreadable": refused}
        print_json({**facts, "unfinished": lacking, **made.header})
    else:
        statuses = ", ".join(
            f"{count} {status}" for status, count in made.header["statuses"].items()
        )
        size = f"{len(text) / 1e6:.2f} MB"
        output().print(
            f"[bold]bundle[/] {target}: {len(made.records)} records ({statuses}), {size}",
            soft_wrap=True,
        )
        output().print(
            f"licence {LICENCE}: others may show it with your name; next: snnbench verify {target}",
            soft_wrap=True,
        )
    raise typer.Exit(exit_codes.with_refused(exit_codes.FINE, [*refused, *lacking]))
