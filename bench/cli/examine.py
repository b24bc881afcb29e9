"""`snnbench examine`: what a user's own model computes, and what is wrong with it."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..common.files import naming
from ..common.mistakes import ConfigError
from ..report.page.examined import examined_html
from ..runner.examine import Examined, Look, examine_model, read_input
from . import exit_codes, options
from .console import output, print_json, say, waiting

COLOURS = {"wrong": "red", "costly": "yellow", "to know": "cyan"}


class Loss(StrEnum):
    CROSS_ENTROPY = "cross-entropy"
    MSE = "mse"


class Layout(StrEnum):
    TBF = "tbf"
    BTF = "btf"
    BF = "bf"


Model = Annotated[
    str,
    typer.Argument(
        metavar="FILE.py:NAME",
        help="A torch.nn.Module, a JAX model, or a function that returns one.",
    ),
]
Input = Annotated[
    str,
    typer.Option(
        "--input", metavar="T,B,FEATURES", help="Sizes of an input, 250,64,700, or a file .npy."
    ),
]
Axes = Annotated[
    Layout,
    typer.Option(help="The order that forward takes: tbf, btf, or bf for one step a call."),
]
Timeout = Annotated[str, typer.Option(help="Time limit.")]


def examine(
    model: Model,
    input_: Input,
    axes: Axes = Layout.TBF,
    classes: Annotated[
        int | None, typer.Option(min=1, help="Train on random labels of so many classes.")
    ] = None,
    loss: Annotated[Loss, typer.Option(help="The loss of --classes.")] = Loss.CROSS_ENTROPY,
    step: Annotated[
        str,
        typer.Option(
            metavar="FILE.py:NAME",
            help="Your training step, a function of (net, x), or (net, x, labels) with --classes.",
        ),
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure neither costs nor fused neurons.")
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE.py", help="Write the lines that put fused neurons in."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write a page with figures by time and module."),
    ] = None,
    timeout: Timeout = "2m",
    as_json: options.Json = False,
) -> None:
    """Say which equation each neuron of your own torch model computes, and what is wrong with the
    model."""
    seconds = options.parse_seconds("--timeout", timeout)
    if quick and write:
        raise ConfigError("--write: needs what --quick leaves out; drop one of them")
    look = replace(
        parse_look(input_, axes),
        classes=classes,
        loss=loss.value,
        step=parse_model(step) if step else None,
        quick=quick,
    )
    with waiting(f"examining {model}", seconds):
        examined = examine_model(*parse_model(model), look, seconds)
    if as_json:
        print_json(examined.as_dict())
    else:
        _print(examined)
    if html:
        with naming(html):
            html.write_text(examined_html(examined.as_dict(), [*examined.costs()]))
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
        tried = examined.swap is not None or examined.status == "ok"
        reason = (
            "no fused neurons keep the model the same"
            if tried
            else "it ended before any were tried"
        )
        say(f"{path}: not written: {reason}")
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


def parse_look(text: str, axes: Layout) -> Look:
    """Returns the input of sizes or of a file. Raises ConfigError."""
    if text.endswith(".npy"):
        read_input(Path(text))
        return Look(axes=axes.value, input=Path(text))
    return Look(parse_sizes(text), axes.value)


def parse_sizes(text: str) -> tuple[int, ...]:
    """Returns (T, B, *features). Raises ConfigError."""
    sizes = text.replace(" ", "").split(",")
    if len(sizes) < 3 or not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise ConfigError(
            f"--input {text}: must be time steps, batch and features, whole numbers from 1, as "
            "250,64,700, or a file .npy"
        )
    return tuple(map(int, sizes))


def _print(examined: Examined) -> None:
    console = output()
    for severity, line in examined.lines():
        if severity:
            console.print(f"[{COLOURS[severity]}]{severity}[/]", end=" · ")
        console.print(line, soft_wrap=True, markup=False)
