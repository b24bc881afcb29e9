"""`snnbench badge`: what is proved, as a picture or for shields.io."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..common.files import write_atomically
from ..common.mistakes import ConfigError
from ..community.badge import badge_of, badge_svg, endings_in


def badge(
    checked: Annotated[
        Path, typer.Argument(help="What snnbench check --json printed.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option(help="A picture, .svg, or the file of a shields.io endpoint, .json.")
    ] = Path("snnbench.svg"),
) -> None:
    """Write a badge that says how many of the checked neurons are proved, of a framework or an adapter. It is red if a proof
    failed, and never says who is faster."""
    try:
        text = checked.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{checked}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    document = badge_of(endings_in(text, str(checked)))
    if out.suffix not in (".svg", ".json"):
        raise ConfigError(f"--out {out}: must end with .svg or .json")
    write_atomically(
        out, badge_svg(document) if out.suffix == ".svg" else json.dumps(document) + "\n"
    )
    print(f"{document['message']}: {out}")
