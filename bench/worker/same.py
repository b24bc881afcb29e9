"""Compares two models: do they compute the same spikes and gradients from the same parameters?"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from snnbench.adapters.base import torch_model
from snnbench.adapters.base.torch_model import Step, TorchModel
from snnbench.adapters.base.torch_states import detached_of

from ..common.units import counted, share
from .models import Emit, Unfit, inputs_of, load, raised, reporting, verb_of, write_answer

TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-6}
"""Largest relative L2 error of outputs and gradients that are called equal, by their format."""
OTHER_SIZES = "has the sizes"


@dataclass
class Compared:
    """`difference` is the first one in a sentence, empty if there is none; `extent` says what was
    compared; `notes` are sentences to know."""

    difference: str = ""
    extent: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class Model:
    """A module and its name in sentences."""

    name: str
    module: Any
    axes: str
    file: str = ""


def same(job: dict[str, Any], emit: Emit) -> None:
    """Compares the `models`, each with `file` and `name`, on an input of `shape` (T, B, *features)
    in the layout `axes`; the answer is written to the file `answer`."""
    with reporting(emit):
        models = []
        for each in job["models"]:
            module = load(each["file"], each["name"])
            name = f"{Path(each['file']).name}:{each['name']}"
            models.append(Model(name, module, job["axes"], each["file"]))
            torch_model.forget(each["file"])
        emit({"part": "first_call"})
        compared = compare(models[0], models[1], inputs_of(job)[0])
        write_answer(Path(job["answer"]), compared)


def compare(
    first: Model, second: Model, x: np.ndarray, pairs: list[tuple[str, str]] | None = None
) -> Compared:
    """Compares a training step of two models on x (T, B, *features). `pairs` are names of equal
    parameters; without them the second one's are overwritten by the first one's. Raises Unfit."""
    is_swap = pairs is not None
    pairs = torch_model.share_parameters(first.module, second.module) if pairs is None else pairs
    one, other = (TorchModel(each.module, each.axes) for each in (first, second))
    steps = _step(first, one, x), _step(second, other, x)
    names = first.name, second.name
    if again := _difference(steps[0], _step(first, one, x), [(n, n) for n, _ in pairs]):
        raise Unfit(f"{first.name} does not repeat itself: {again}")
    neurons = _paired(steps[0], steps[1])
    compared = Compared(extent=_extent(steps[0], x, len(neurons), len(pairs)))
    compared.notes += _uncompared(first, second, steps, neurons)
    compared.notes += [] if is_swap else _later_calls(names, (one, other), x)
    compared.difference = _learned_apart(first, second, pairs)
    if compared.difference:
        return compared
    compared.difference = _difference(steps[0], steps[1], pairs, names)
    if not compared.difference:
        return compared
    if not is_swap:
        compared.notes += _detached(names, (one, other), x)
    try:
        exact = [model.step_in_double(x) for model in (one, other)]
    except Exception as error:
        exact = []
        compared.notes.append(
            f"rounding was not ruled out: in float64 {raised('one of them', error, second.file)}"
        )
    if exact and all(y.dtype == np.float64 for step in exact for y in step.outputs):
        difference = _difference(exact[0], exact[1], pairs, names)
        if not difference:
            compared.notes.append(f"only rounding differs: {compared.difference} in float32")
        compared.difference = difference
    elif exact:
        compared.notes.append("rounding was not ruled out: one of them has outputs in float32 only")
    return compared


def _step(model: Model, loaded: TorchModel, x: np.ndarray) -> Step:
    try:
        return loaded.step(x)
    except Exception as error:
        raise Unfit(raised(model.name, error, model.file)) from None


def _extent(step: Step, x: np.ndarray, neurons: int, parameters: int) -> str:
    return (
        f"{counted(len(step.outputs), 'output')}, spikes of {counted(neurons, 'layer')} and "
        f"gradients of {counted(parameters, 'parameter')}, in {counted(x.shape[0], 'step')} of "
        f"{counted(x.shape[1], 'item')}"
    )


def _paired(first: Step, second: Step) -> list[tuple[str, str]]:
    """Returns the names of layers with the same place in both, or else with the same name."""
    shapes = [[spikes.shape for spikes in step.spikes.values()] for step in (first, second)]
    if shapes[0] == shapes[1]:
        return list(zip(first.spikes, second.spikes, strict=True))
    return [
        (name, name)
        for name, spikes in first.spikes.items()
        if name in second.spikes and spikes.shape == second.spikes[name].shape
    ]


def _uncompared(
    first: Model, second: Model, steps: tuple[Step, Step], neurons: list[tuple[str, str]]
) -> Iterator[str]:
    for place, model in enumerate((first, second)):
        compared = {pair[place] for pair in neurons}
        if apart := [name for name in steps[place].spikes if name not in compared]:
            yield f"spikes of {', '.join(apart)} in {model.name} have no counterpart"
    silent: dict[str, list[str]] = {}
    for pair in neurons:
        places = [place for place in (0, 1) if not steps[place].spikes[pair[place]].any()]
        where = (
            "" if len(places) == 2 else "".join(f" in {(first, second)[p].name}" for p in places)
        )
        if places:
            silent.setdefault(where, []).append(pair[places[0]])
    for where, names in silent.items():
        fires = verb_of(names, "fires", "fire")
        proves = "" if where else f", which proves little of {verb_of(names, 'it', 'them')}"
        yield f"{', '.join(names)} never {fires} on this input{where}{proves}"
    if all(gradient is None for step in steps for gradient in step.gradients.values()):
        yield "no output of either has a gradient"


def _later_calls(
    names: tuple[str, str], models: tuple[TorchModel, TorchModel], x: np.ndarray
) -> Iterator[str]:
    """Yields that a second call begins from a state of the first, which one call does not show."""
    keep = []
    for name, model in zip(names, models, strict=True):
        with suppress(Exception):  # a call on top of another may be one that the model forbids
            first, again = model.twice(x)
            if any(_error(y, z) for y, z in zip(first, again, strict=True)):
                keep.append(name)
    if keep:
        yield (
            f"{' and '.join(keep)} {verb_of(keep, 'keeps its', 'keep their')} state from one call "
            "to the next: without a reset a second call gives something else; the first calls were "
            "compared"
        )


def _detached(
    names: tuple[str, str], models: tuple[TorchModel, TorchModel], x: np.ndarray
) -> Iterator[str]:
    """Yields neurons of which one model detaches the state in its loop over time."""
    try:
        found = [detached_of(model, x) for model in models]
    except Exception:
        return
    for name, one in zip(names, found, strict=True):
        if one and found[0] != found[1]:
            yield f"in {name} the state of {', '.join(one)} is detached in the loop over time"


def _learned_apart(first: Model, second: Model, pairs: list[tuple[str, str]]) -> str:
    """Returns that one model learns what the other has not, or nothing."""
    for place, (model, other) in enumerate(((first, second), (second, first))):
        shared = {pair[place] for pair in pairs}
        learned = [name for name, one in model.module.named_parameters() if one.requires_grad]
        if apart := [name for name in learned if name not in shared]:
            return f"{model.name} learns {', '.join(apart)}, which {other.name} has not"
    return ""


def _difference(
    first: Step,
    second: Step,
    parameters: list[tuple[str, str]],
    models: tuple[str, str] = ("the first call", "the second"),
) -> str:
    """Returns the first difference of two steps: in spikes by time, in outputs, in gradients from
    the last parameter back. Empty if there is none."""
    found = []
    for place, (name, other) in enumerate(_paired(first, second)):
        apart = first.spikes[name] != second.spikes[other]
        if apart.any():
            found.append((int(np.argmax(apart.any(axis=(1, 2)))), place, name, other, apart))
    if found:
        step, _, name, other, apart = min(found, key=lambda each: each[:2])
        item, neuron = (int(i) for i in np.unravel_index(apart[step].argmax(), apart[step].shape))
        counts = [int(s[step, item, neuron]) for s in (first.spikes[name], second.spikes[other])]
        return (
            f"spikes of {_named(name, other)} differ from step {step} on (item {item}, neuron "
            f"{neuron}: {counts[0]} and {counts[1]}); {share(float(apart.mean()))} of all differ"
        )
    if len(first.outputs) != len(second.outputs):
        numbers = [counted(len(step.outputs), "tensor") for step in (first, second)]
        return f"forward returns {numbers[0]} and {numbers[1]}"
    for place, (y, z) in enumerate(zip(first.outputs, second.outputs, strict=True)):
        which = f"output {place}" if len(first.outputs) > 1 else "the output"
        if y.shape != z.shape:
            return f"{which} {OTHER_SIZES} {y.shape} and {z.shape}"
        if error := _error(y, z):
            return f"{which} differs by {error}"
    wrong = [
        (name, other, error)
        for name, other in reversed(parameters)
        if (error := _error(first.gradients.get(name), second.gradients.get(other)))
    ]
    if not wrong:
        return ""
    name, other, error = wrong[0]
    gradients = first.gradients.get(name), second.gradients.get(other)
    missing = [model for model, one in zip(models, gradients, strict=True) if one is None]
    how = f"is missing in {missing[0]}" if missing else f"differs by {error}"
    return (
        f"the gradient of {_named(name, other)} {how}; {len(wrong)} of {len(parameters)} gradients "
        "differ, spikes and outputs do not"
    )


def _named(name: str, other: str) -> str:
    return name if name == other else f"{name} and {other}"


def _error(first: np.ndarray | None, second: np.ndarray | None) -> str:
    """Returns the relative L2 error in words; nothing if it is within rounding."""
    if first is None or second is None:
        return "" if first is second else "all of it"
    a, b = first.astype(np.float64), second.astype(np.float64)
    if np.array_equal(a, b, equal_nan=True):
        return ""
    error = float(np.linalg.norm(a - b) / max(float(np.linalg.norm(a)), 1e-300))
    limit = max(TOLERANCE.get(each.dtype, 1e-4) for each in (first, second))
    return "" if error <= limit else f"{error:.1g} (relative L2 error)"
