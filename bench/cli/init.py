"""`snnbench init`: a first config."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from ..common.mistakes import ConfigError
from ..experiment.config import EXPERIMENT_NAME, Experiment
from .console import print_json

NAMED = 'name = "experiment"'
"""The line of the starter that names the experiment; in a file `mine.toml` it names it `mine`."""


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("experiment.toml"),
    schema: Annotated[
        bool,
        typer.Option("--schema", help="Print the JSON Schema of configs instead, for editors."),
    ] = False,
    skill: Annotated[
        bool,
        typer.Option(
            "--skill", help="Print instructions for coding agents instead, a file SKILL.md."
        ),
    ] = False,
) -> None:
    """Write a commented config to start from, which names its experiment as the file is named."""
    if skill:
        typer.echo(_shipped("SKILL.md"), nl=False)
        return
    if schema:
        print_json(Experiment.model_json_schema())
        return
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{path}: there is no folder {path.parent}")
    if path.exists():
        raise ConfigError(f"{path}: exists already; name another file")
    text = _shipped("starter.toml")
    if re.match(EXPERIMENT_NAME, path.stem):
        text = text.replace(NAMED, f'name = "{path.stem}"', 1)
    path.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {path}; now: snnbench run --config {path}")


def _shipped(name: str) -> str:
    """Returns the text of a file that comes with snnbench."""
    return files("snnbench").joinpath(name).read_text(encoding="utf-8")
