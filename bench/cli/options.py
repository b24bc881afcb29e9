"""Options that several verbs share."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from snnbench.kernels.spec import NEURONS

from ..common.mistakes import ConfigError
from ..core.case import NETWORK
from ..experiment.config import Grid
from ..experiment.named import EXAMPLE, is_named
from ..experiment.setting import Option, Setting, parse_setting
from ..experiment.values import parse_duration, parse_neuron_text
from ..runner.planning import Where, left_out_in_words
from ..workloads import WORKLOADS
from .console import RARER, messages

Config = Annotated[
    Path,
    typer.Option(
        "--config",
        "-c",
        help="The experiment: a TOML file, or a name such as quickstart. As the only argument it "
        "needs no --config.",
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
    list[str],
    typer.Option(
        "--adapter", "-a", help="One more adapter: path/to/file.py:Class.", rich_help_panel=RARER
    ),
]
ShardOption = Annotated[
    str,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="One of N parts of the grid, e.g. 2/3; see merge.",
        rich_help_panel=RARER,
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        help="Frameworks, also variants like torch:compile.", show_default="all that can run here"
    ),
]
NEURON_HELP = (
    "soft: a spike subtracts the threshold; hard: it sets the potential to 0; none: neither; "
    f"{', '.join([*NEURONS][3:])}, native, a framework's such as '{EXAMPLE}', "
    "or a table: { reset = 'hard', decay = 0.5 }."
)
Device = Annotated[str, typer.Option(help="cpu, cuda or cuda:0.")]
WORKLOAD_HELP = (
    f"{', '.join(name for name in WORKLOADS if name != NETWORK)}; docs/networks.md has them. "
    "A network of yours needs a config: docs/own-networks.md."
)
WorkloadName = Annotated[str, typer.Option("--workload", help=WORKLOAD_HELP)]
Axes = Annotated[
    list[str],
    typer.Option(
        "--set",
        help="Set an axis of the network, e.g. grid.neurons=64.",
        rich_help_panel=RARER,
    ),
]
Size = Annotated[int, typer.Option(min=1)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Measure again what is already done.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")
]
ExecutorOption = Annotated[
    Where,
    typer.Option(
        "--executor",
        help="Workers as processes, or in containers; or a job of SLURM.",
        rich_help_panel=RARER,
    ),
]


def tell_left_out(names: list[str]) -> None:
    """Prints which adapters `all` does not mean here."""
    for sentence in left_out_in_words(names):
        messages().print(sentence, soft_wrap=True)


def tell_controls(names: list[str]) -> None:
    """Prints which frameworks are measured beside versions without being named."""
    if names:
        messages().print(
            f"measured beside the versions, which are compared with it: {', '.join(names)}",
            soft_wrap=True,
        )


def tell_neurons(lines: Iterable[str]) -> None:
    """Prints the equations of neurons that are named as their frameworks do."""
    for line in lines:
        messages().print(line, soft_wrap=True, markup=False)


def parse_seconds(option: str, text: str) -> float:
    """Returns the seconds of an option such as `--timeout`. Raises ConfigError."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ConfigError(f"{option} {text}: {error}") from None


def option_settings(specs: Sequence[str], **axes: Any) -> list[Setting]:
    """Returns a setting for each option of an axis that differs from the default of the grid.
    Raises ConfigError for an invalid neuron."""
    neuron: list[Any] = []
    for text in specs:
        try:
            parsed = parse_neuron_text(text)
        except ValueError as error:
            meant = f"; did you mean neurons = {text}?" if text.isdecimal() else ""
            raise ConfigError(f"--neuron {text}: {error}{meant}") from None
        neuron.append(text if is_named(text) else parsed)
    values_of = {"neuron": neuron} | {
        axis: value if isinstance(value, list) else [value] for axis, value in axes.items()
    }
    return [
        Option(f"grid.{axis}", values, f"--{axis.replace('_', '-')}")
        for axis, values in values_of.items()
        if values and values != Grid.model_fields[axis].default
    ]


def axis_settings(texts: Sequence[str], options: Sequence[Setting]) -> list[Setting]:
    """Returns the settings of `--set` and those of options for axes that `--set` does not name.
    Raises ConfigError for a key that is no axis of a network."""
    settings = [parse_setting(text) for text in texts]
    for setting in settings:
        table, dot, axis = setting.key.partition(".")
        if table != "grid" or not dot or axis == "framework":
            hint = (
                "frameworks are arguments; put their names first"
                if axis == "framework"
                else "must be an axis of the grid, such as grid.neurons=64"
            )
            raise ConfigError(f"{setting.source}: {hint}")
    named = {setting.key for setting in settings}
    return [*settings, *(option for option in options if option.key not in named)]
