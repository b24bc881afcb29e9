"""Keywords of the functions that measure or prove: axes of a grid, with one value or several."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

from ..common.mistakes import ConfigError, shown
from ..experiment.config import Experiment, Grid
from ..experiment.measure import Measure
from ..experiment.setting import Argument
from ..experiment.values import parse_duration

Flag = bool | Sequence[bool]
Whole = int | Sequence[int]
Share = float | Sequence[float]
Text = str | Sequence[str]
Neuron = str | Mapping[str, bool | float | str]
Neurons = Neuron | Sequence[Neuron]

F = TypeVar("F", bound=Callable[..., Any])


class NetworkAxes(TypedDict, total=False):
    """The axes of the network but its neuron; docs/experiments.md and `snnbench init` describe
    them."""

    workload: Text
    layers: Whole
    neurons: Whole
    time_steps: Whole
    batch: Whole
    precision: Text
    input: Text
    bias: Flag
    input_grad: Flag
    width: Whole
    image: Whole
    classes: Whole
    norm: Flag
    firing: Share
    loss: Text
    optimizer: Text
    dataset: Text
    samples: Whole
    loaders: Whole
    pinned: Flag
    augment: Flag
    behind: Text
    parallel: Text
    ranks: Whole
    inputs: Whole
    outputs: Whole
    recurrent: Flag
    readout: Text
    heads: Whole
    recipe: Text


class Axes(NetworkAxes, total=False):
    """All axes of a grid."""

    framework: Text
    neuron: Neurons
    device: Text


def with_axes(function: F) -> F:
    """Puts the axes in place of `**axes` in a function's signature, where notebooks look for
    keywords."""
    signature = inspect.signature(function)
    *named, rest = signature.parameters.values()
    (axes,) = rest.annotation.__args__
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=...)
        for name in axes.__annotations__
    ]
    listed = signature.replace(parameters=[*named, *keywords])
    function.__signature__ = listed  # type: ignore[attr-defined]  # read by inspect
    return function


def axis_settings(function: str, axes: Mapping[str, object]) -> list[Argument]:
    """Returns the settings of a function's axes. Raises ConfigError for a key of another part of
    the config."""
    for key, value in axes.items():
        if key == "framework" and function != "run":
            raise ConfigError(
                f"{function}(framework={shown(value)}): frameworks have no keyword; "
                "put their names first"
            )
        if key not in Grid.model_fields:
            if key in Measure.model_fields:
                right = f"belongs to measure: run(measure={{{key!r}: {shown(value)}}})"
            elif key in Experiment.model_fields:
                right = f"is a key of the config itself, such as {{'name': 'mine', {key!r}: …}}"
            else:
                continue
            raise ConfigError(f"{function}({key}={shown(value)}): {key} {right}")
    return [Argument(f"grid.{axis}", values_of(value), function) for axis, value in axes.items()]


def seconds_of(function: str, keyword: str, text: str) -> float:
    """Returns the seconds of a function's duration. Raises ConfigError."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ConfigError(f"{function}({keyword}={shown(text)}): {error}") from None


def values_of(value: Any) -> Any:
    """Returns the values of an axis as a list; a single value needs none."""
    return list(value) if isinstance(value, list | tuple | range) else [value]
