"""`snnbench examine`: what a user's own model computes, and what is wrong with it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..common.mistakes import ConfigError
from ..runner.examine import Examined, examine_model
from . import exit_codes, options
from .console import output, print_json

COLOURS = {"wrong": "red", "costly": "yellow", "to know": "cyan"}


class Layout(StrEnum):
    TBF = "tbf"
    BTF = "btf"
    BF = "bf"


Model = Annotated[
    str,
    typer.Argument(
        metavar="FILE.py:NAME", help="A torch.nn.Module, or a function that returns one."
    ),
]
Input = Annotated[
    str, typer.Option("--input", metavar="T,B,FEATURES", help="Sizes of an input: 250,64,700.")
]
Axes = Annotated[
    Layout,
    typer.Option(help="The order that forward takes: tbf, btf, or bf for one step a call."),
]
Timeout = Annotated[str, typer.Option(help="Time limit.")]


def examine(
    model: Model,
    shape: Input,
    axes: Axes = Layout.TBF,
    timeout: Timeout = "2m",
    as_json: options.Json = False,
) -> None:
    """Say which equation each neuron of your own torch model computes, and what is wrong with the
    model."""
    seconds = options.parse_seconds("--timeout", timeout)
    examined = examine_model(*parse_model(model), parse_sizes(shape), axes.value, seconds)
    if as_json:
        print_json(examined.as_dict())
    else:
        _print(examined)
    if examined.status != "ok":
        raise typer.Exit(exit_codes.FAILED)
    raise typer.Exit(exit_codes.REJECTED if examined.is_wrong else exit_codes.FINE)


def parse_model(text: str) -> tuple[Path, str]:
    """Returns the file and the name in it of `model.py:net`. Raises ConfigError."""
    file, colon, name = text.rpartition(":")
    if not (colon and file and name.isidentifier()):
        raise ConfigError(f"{text}: must be a file and a name in it, as model.py:net")
    if not Path(file).is_file():
        raise ConfigError(f"{file}: there is no such file")
    return Path(file), name


def parse_sizes(text: str) -> tuple[int, ...]:
    """Returns (T, B, *features). Raises ConfigError."""
    sizes = text.replace(" ", "").split(",")
    if len(sizes) < 3 or not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise ConfigError(
            f"--input {text}: must be time steps, batch and features, whole numbers from 1, as "
            "250,64,700"
        )
    return tuple(map(int, sizes))


def _print(examined: Examined) -> None:
    console = output()
    for severity, line in examined.lines():
        if severity:
            console.print(f"[{COLOURS[severity]}]{severity}[/]", end=" · ")
        console.print(line, soft_wrap=True, markup=False)
