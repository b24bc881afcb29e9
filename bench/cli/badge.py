"""`snnbench badge`: the proved neurons as a badge of shields.io."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..common.files import spare_inputs, write_atomically
from ..common.mistakes import ConfigError, in_words
from ..community.badge import badge_of, endings_in, is_badge


def badge(
    checked: Annotated[
        Path, typer.Argument(help="The output of snnbench check --json.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The file of a shields.io endpoint, .json.")] = Path(
        "badge.json"
    ),
) -> None:
    """Write a badge with the number of proved neurons of a framework or an adapter.

    It is red if a proof failed, and never shows a rank.
    """
    try:
        text = checked.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{checked}: cannot be read: {in_words(error)}") from None
    document = badge_of(endings_in(text, str(checked)))
    if out.suffix != ".json":
        raise ConfigError(f"--out {out}: must end with .json")
    spare_inputs(out, [checked])
    if out.is_file() and not is_badge(out.read_bytes()):
        fault = "is no badge of snnbench, and is not replaced"
        raise ConfigError(f"--out {out}: {fault}; choose another --out")
    write_atomically(out, json.dumps(document) + "\n")
    print(f"{document['message']}: {out}")
