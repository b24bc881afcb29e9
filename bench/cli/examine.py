"""`snnbench examine`: what a user's own model computes, and what is wrong with it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..common.mistakes import ConfigError
from ..runner.examine import Examined, ExaminedNeuron, Finding, examine_model
from . import exit_codes, options
from .console import output, print_json

COLOURS = {"wrong": "red", "costly": "yellow", "to know": "cyan"}


class Layout(StrEnum):
    TBF = "tbf"
    BTF = "btf"
    BF = "bf"


def examine(
    model: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py:NAME", help="A torch.nn.Module, or a function that returns one."
        ),
    ],
    shape: Annotated[
        str,
        typer.Option("--input", metavar="T,B,FEATURES", help="Sizes of an input: 250,64,700."),
    ],
    axes: Annotated[
        Layout,
        typer.Option(
            help="The order in which forward takes them: tbf, btf, or bf for one step a call."
        ),
    ] = Layout.TBF,
    timeout: Annotated[str, typer.Option(help="Time limit.")] = "2m",
    as_json: options.Json = False,
) -> None:
    """Say which equation each neuron of your own torch model computes, and what is wrong with the
    model."""
    file, colon, name = model.rpartition(":")
    if not (colon and file and name.isidentifier()):
        raise ConfigError(f"{model}: must be a file and a name in it, as model.py:net")
    if not Path(file).is_file():
        raise ConfigError(f"{file}: there is no such file")
    examined = examine_model(
        Path(file), name, _sizes(shape), axes.value, options.parse_seconds("--timeout", timeout)
    )
    if as_json:
        print_json(examined.as_dict())
    else:
        _print(examined)
    if examined.status != "ok":
        raise typer.Exit(exit_codes.FAILED)
    raise typer.Exit(exit_codes.REJECTED if examined.is_wrong else exit_codes.FINE)


def _sizes(text: str) -> tuple[int, ...]:
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
    for neuron in examined.neurons:
        console.print(neuron_in_words(neuron), soft_wrap=True, markup=False)
    for finding in examined.findings:
        severity = finding["severity"]
        console.print(f"[{COLOURS[severity]}]{severity}[/]", end=" · ")
        console.print(finding_in_words(finding), soft_wrap=True, markup=False)
    if examined.status != "ok":
        text = f"{examined.model}: {examined.status}: {examined.reason}"
        console.print(text, soft_wrap=True, markup=False)
        return
    if not examined.neurons:
        console.print(
            "no spiking module was found: neurons that forward writes by hand are not seen; put "
            "each into a module of its own",
            soft_wrap=True,
            markup=False,
        )
    if not examined.findings:
        console.print("no finding: nothing wrong, costly or to know was seen", soft_wrap=True)


def neuron_in_words(neuron: ExaminedNeuron) -> str:
    """Returns a line on a neuron: `lif1: snnTorch's Leaky: …: proved`."""
    learned = f"; learned: {', '.join(neuron['learned'])}" if neuron["learned"] else ""
    verdict = {
        "proved": "proved",
        "nearest": f"the nearest equation; {neuron['differs']}",
        "none": neuron["differs"],
        "unproved": "not held against the oracle",
    }[neuron["verdict"]]
    words = [neuron["module"], neuron["kind"], neuron["equation"] + learned, verdict]
    return ": ".join(filter(None, words))


def finding_in_words(finding: Finding) -> str:
    return f"{finding['module']} {finding['sentence']}"
