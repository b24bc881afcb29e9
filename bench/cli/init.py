"""`snnbench init`: a first config."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from ..common.mistakes import ConfigError
from ..experiment.config import Experiment
from .console import print_json


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
    """Write a commented config to start from."""
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
    path.write_text(_shipped("starter.toml"), encoding="utf-8")
    typer.echo(f"wrote {path}; now: snnbench run --config {path}")


def _shipped(name: str) -> str:
    """Returns the text of a file that comes with snnbench."""
    return files("snnbench").joinpath(name).read_text(encoding="utf-8")
