"""Options that several verbs share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from snnbench.kernels.spec import NEURONS

from ..common.mistakes import ConfigError
from ..core.case import INPUTS
from ..experiment.config import Grid
from ..experiment.setting import Option, Setting
from ..experiment.values import parse_duration, parse_neuron_text
from ..runner.planning import Where, left_out_in_words
from ..workloads import WORKLOADS
from .console import messages

Config = Annotated[
    Path,
    typer.Option(
        "--config",
        "-c",
        help="The experiment: a TOML file, or a name such as quickstart.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None, typer.Option(help="Where results go.", show_default="results/local/NAME")
]
Settings = Annotated[
    list[str],
    typer.Option("--set", help="Override a key of the config, e.g. grid.neurons=[64,128]."),
]
Only = Annotated[
    str, typer.Option("--only", help="Run a part of the grid, e.g. 'framework=norse,neurons=1*'.")
]
Adapters = Annotated[
    list[str], typer.Option("--adapter", "-a", help="One more adapter: path/to/file.py:Class.")
]
ShardOption = Annotated[
    str,
    typer.Option("--shard", metavar="I/N", help="One of N parts of the grid, e.g. 2/3; see merge."),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        help="Frameworks, also variants like torch:compile.", show_default="all that can run here"
    ),
]
NEURON_HELP = f"{', '.join(NEURONS)}, native, or a table: {{ reset = 'hard', decay = 0.5 }}."
Device = Annotated[str, typer.Option(help="cpu, cuda or cuda:0.")]
WorkloadName = Annotated[str, typer.Option("--workload", help=f"{', '.join(WORKLOADS)}.")]
InputKind = Annotated[str, typer.Option("--input", help=f"{', '.join(INPUTS)}.")]
Size = Annotated[int, typer.Option(min=1)]
Width = Annotated[int, typer.Option(min=1, help="Channels of a network's first stage.")]
Image = Annotated[int, typer.Option(min=1, help="Pixels of a side.")]
Norm = Annotated[bool, typer.Option(help="Batch norms, in networks that have a choice.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Measure again what is already done.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")
]
ExecutorOption = Annotated[
    Where,
    typer.Option("--executor", help="Workers as processes, or in containers; or a job of SLURM."),
]


def tell_left_out(names: list[str]) -> None:
    """Say which adapters `all` does not mean here."""
    for sentence in left_out_in_words(names):
        messages().print(sentence, soft_wrap=True)


def timeout_given(text: str) -> float:
    """Seconds of the option `--timeout`. Raises ConfigError."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ConfigError(f"--timeout {text}: {error}") from None


def axes_given(specs: Sequence[str], **axes: Any) -> list[Setting]:
    """The options of a verb that has one for each axis, as settings of a config: those with other values than usual, and the
    device. Raises ConfigError for what is no neuron."""
    neuron = []
    for text in specs:
        try:
            neuron.append(parse_neuron_text(text))
        except ValueError as error:
            meant = f"; did you mean --neurons {text}?" if text.isdecimal() else ""
            raise ConfigError(f"--neuron {text}: {error}{meant}") from None
    listed = {"neuron": neuron} | {
        axis: value if isinstance(value, list) else [value] for axis, value in axes.items()
    }
    return [
        Option(f"grid.{axis}", values, f"--{axis.replace('_', '-')}")
        for axis, values in listed.items()
        if values != Grid.model_fields[axis].default
    ]


def tell_controls(names: list[str]) -> None:
    """Say what is measured beside versions, unasked."""
    if names:
        messages().print(
            f"measured beside the versions, which are compared with it: {', '.join(names)}",
            soft_wrap=True,
        )
