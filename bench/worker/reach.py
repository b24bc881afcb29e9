"""How far gradients reach back in time: states that are detached in the loop, in every step or in
some."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import sub

import numpy as np

from snnbench.adapters.base import torch_by_module
from snnbench.adapters.base.torch_model import Seen, TorchModel

from .models import TO_KNOW, WRONG, Finding, alike

FEWEST_STEPS = 3
STRETCHES = 4
"""Stretches between cuts that are measured at most, from the end on."""


@dataclass
class Result:
    """What a model computes for an input (T, B, *features), by its `name`: `values` from a time
    step on, and the `gradient` of their sum in a step by the input, None without one."""

    name: str
    values: Callable[[np.ndarray, int], np.ndarray]
    gradient: Callable[[np.ndarray, int], np.ndarray | None]


def reach_finding(
    model: TorchModel, x: np.ndarray, other: np.ndarray, units: list[Seen]
) -> Finding | None:
    """Returns that earlier inputs change late results, but get no gradient from them. x and another
    input are (T, B, *features); `units` are the modules that forward passes."""
    if len(x) < FEWEST_STEPS:
        return None
    for result in _results(model, x, units):
        steps = _reach(result, x, other)
        if steps == 1:
            sentence = (
                f"has no gradient by earlier steps, although these change {result.name} in the "
                "last step: its state is detached in the loop over time"
            )
            return Finding(WRONG, "the model", sentence)
        if steps:
            sentence = (
                f"has gradients that reach back {steps} steps at most, although earlier ones "
                f"change {result.name}: right for truncated backpropagation through time"
            )
            return Finding(TO_KNOW, "the model", sentence)
    return None


def _results(model: TorchModel, x: np.ndarray, units: list[Seen]) -> Iterator[Result]:
    """Yields outputs, and the last module that is called in each step, as for a model that sums its
    steps."""
    steps = len(x)
    for place, y in enumerate(model.first_inference(x)):
        if y.ndim:
            time = int(model.axes == "btf")
            is_over_time = y.ndim > 1 and y.shape[time] == steps
            yield _by_step(model, place, time) if is_over_time else _at_end(model, place)
    if last := next((one for one in reversed(units) if one.calls == steps), None):
        name = last.name
        yield Result(
            f"what {name} gives",
            lambda x, step: torch_by_module.calls_of(model, name, x)[step:],
            lambda x, step: torch_by_module.gradient_of_call(model, name, x, step),
        )


def _by_step(model: TorchModel, place: int, time: int) -> Result:
    """Returns an output with an axis of time."""

    def values(x: np.ndarray, step: int) -> np.ndarray:
        return np.moveaxis(model.first_inference(x)[place], time, 0)[step:]

    def gradient(x: np.ndarray, step: int) -> np.ndarray | None:
        model.restore()
        return model.gradient_of(x, place, time, slice(step, step + 1))

    return Result("its output", values, gradient)


def _at_end(model: TorchModel, place: int) -> Result:
    """Returns an output of the whole input; its step is that of an input that ends there."""

    def values(x: np.ndarray, step: int) -> np.ndarray:
        return model.first_inference(x)[place]

    def gradient(x: np.ndarray, step: int) -> np.ndarray | None:
        model.restore()
        return model.gradient_of(x[: step + 1], place, 0, slice(None))

    return Result("its output", values, gradient)


def _reach(result: Result, x: np.ndarray, other: np.ndarray) -> int | None:
    """Returns the number of steps between cuts; None without cuts, if they are irregular, or if
    inputs before them change nothing."""
    first = _first(result.gradient(x, len(x) - 1))
    if not first:
        return None
    early = other.copy()
    early[first:] = x[first:]
    if alike([result.values(x, first)], [result.values(early, first)]):
        return None
    starts = [first]
    with suppress(Exception):  # it may run on its number of steps alone
        while starts[-1] and len(starts) < STRETCHES:
            if (start := _first(result.gradient(x, starts[-1] - 1))) is None:
                break
            starts.append(start)
    lengths = {*map(sub, starts, starts[1:])} or {1}
    return lengths.pop() if len(lengths) == 1 and len(x) - first <= max(lengths) else None


def _first(gradient: np.ndarray | None) -> int | None:
    """Returns the first step with a gradient; None if there is none, 0 if it vanishes before."""
    if gradient is None or not gradient.any():
        return None
    largest = np.abs(gradient).reshape(len(gradient), -1).max(axis=1)
    first = int(np.flatnonzero(largest)[0])
    return first if largest[first] > np.finfo(np.float32).tiny else 0
