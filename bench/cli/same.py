"""`snnbench same`: whether two models of users compute the same."""

from typing import Annotated

import typer

from ..runner.examine import compare_models
from . import exit_codes, options
from .console import output, print_json, waiting
from .examine import Axes, Input, Layout, Timeout, parse_look, parse_model

Model = Annotated[
    str,
    typer.Argument(
        metavar="FILE.py:NAME", help="A torch.nn.Module, or a function that returns one."
    ),
]


def same(
    first: Model,
    second: Model,
    input_: Input,
    axes: Axes = Layout.TBF,
    timeout: Timeout = "2m",
    as_json: options.Json = False,
) -> None:
    """Say whether two torch models compute the same spikes and gradients from the same parameters,
    and where the first difference is."""
    seconds = options.parse_seconds("--timeout", timeout)
    models = [parse_model(text) for text in (first, second)]
    look = parse_look(input_, axes)
    with waiting(f"comparing {first} and {second}", seconds):
        compared = compare_models(models, look, seconds)
    if as_json:
        print_json(compared.as_dict())
    else:
        output().print(repr(compared), soft_wrap=True, markup=False)
    if compared.status != "ok":
        raise typer.Exit(exit_codes.FAILED)
    raise typer.Exit(exit_codes.FINE if compared else exit_codes.REJECTED)
