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
) -> None:
    """Write a commented config to start from."""
    if schema:
        print_json(Experiment.model_json_schema())
        return
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{path}: there is no folder {path.parent}")
    if path.exists():
        raise ConfigError(f"{path}: exists already; name another file")
    path.write_text(
        files("snnbench").joinpath("starter.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    typer.echo(f"wrote {path}; now: snnbench run --config {path}")
