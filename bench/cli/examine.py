"""`snnbench examine`: what a user's own model computes, and what is wrong with it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..common.files import naming
from ..common.mistakes import ConfigError
from ..runner.examine import Examined, examine_model
from . import exit_codes, options
from .console import output, print_json, say

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
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure no fused neurons in place of yours.")
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE.py", help="Write the lines that put fused neurons in."),
    ] = None,
    timeout: Timeout = "2m",
    as_json: options.Json = False,
) -> None:
    """Say which equation each neuron of your own torch model computes, and what is wrong with the
    model."""
    seconds = options.parse_seconds("--timeout", timeout)
    if quick and write:
        raise ConfigError("--write: needs what --quick leaves out; drop one of them")
    examined = examine_model(*parse_model(model), parse_sizes(shape), axes.value, seconds, quick)
    if as_json:
        print_json(examined.as_dict())
    else:
        _print(examined)
    is_written = write is None or _write(write, examined)
    if examined.status != "ok":
        raise typer.Exit(exit_codes.FAILED)
    if examined.is_wrong:
        raise typer.Exit(exit_codes.REJECTED)
    raise typer.Exit(exit_codes.FINE if is_written else exit_codes.NOTHING)


def _write(path: Path, examined: Examined) -> bool:
    """Writes the code of a swap; False if there is none."""
    code = examined.swap["code"] if examined.swap else ""
    if not code:
        say(f"{path}: not written: no fused neurons keep the model the same")
        return False
    with naming(path):
        path.write_text(code)
    return True


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
