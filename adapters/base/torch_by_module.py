"""Where a training step of a user's torch module goes: seconds and kept memory by module, and
gradients by time step."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .torch_breakdown import Mark
from .torch_model import Seen, TorchModel, over_time, tensors, with_first

REPEATS = 3
"""Steps that are taken apart."""
OUTSIDE = "outside of modules"


@dataclass
class Part:
    """Seconds of a module in forward and in backward of a training step without an optimizer, and
    the bytes that it keeps for backward."""

    module: str
    forward_s: float = 0.0
    backward_s: float = 0.0
    kept_bytes: int = 0


def by_module(model: TorchModel, x: np.ndarray, names: Iterable[str]) -> list[Part]:
    """Returns the parts of a step on x (T, B, *features): modules that hold none of each other, and
    what runs outside of them."""
    modules = {name: model.module.get_submodule(name) for name in names}
    apart = [_seconds(model, x, modules) for _ in range(REPEATS)]
    kept = _kept(model, x, modules)

    def seconds(name: str, phase: str) -> float:
        return median(each.get((name, phase), 0.0) for each in apart)

    return [
        Part(name, seconds(name, "forward"), seconds(name, "backward"), kept.get(name, 0))
        for name in (*modules, OUTSIDE)
    ]


def _seconds(
    model: TorchModel, x: np.ndarray, modules: dict[str, nn.Module]
) -> dict[tuple[str, str], float]:
    """Returns seconds by module and phase. A backward mark is where the gradient of a module's
    output is complete: there autograd begins to compute that module."""
    seconds: dict[tuple[str, str], float] = {}
    phase, running, since = "forward", OUTSIDE, 0.0

    def enter(name: str) -> None:
        nonlocal running, since
        now = time.perf_counter()
        seconds[running, phase] = seconds.get((running, phase), 0.0) + now - since
        running, since = name, now

    def leave(name: str, output: Any) -> Any:
        enter(OUTSIDE)
        return _marked(output, partial(enter, name))

    model.module.train()
    model.restore()
    with _hooked(modules, enter, leave):
        given = model.put(x)
        since = time.perf_counter()
        outputs = model(given)
        enter(OUTSIDE)
        phase = "backward"
        model.differentiate(outputs)
        enter(OUTSIDE)
    return seconds


def _kept(model: TorchModel, x: np.ndarray, modules: dict[str, nn.Module]) -> dict[str, int]:
    """Returns the bytes that autograd saves for backward, each by the first module that does."""
    running, kept = OUTSIDE, dict[str, int]()
    known = {one.untyped_storage().data_ptr() for one in model.module.parameters()}

    def enter(name: str) -> None:
        nonlocal running
        running = name

    def leave(name: str, output: Any) -> Any:
        enter(OUTSIDE)
        return output

    def pack(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        if storage.data_ptr() not in known:
            known.add(storage.data_ptr())
            kept[running] = kept.get(running, 0) + storage.nbytes()
        return saved.detach()

    model.module.train()
    model.restore()
    with (
        _hooked(modules, enter, leave),
        torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved),
    ):
        alive = model(model.put(x))
    del alive
    return kept


@contextmanager
def _hooked(
    modules: dict[str, nn.Module],
    enter: Callable[[str], None],
    leave: Callable[[str, Any], Any],
) -> Iterator[None]:
    """Calls `enter` before each module; `leave` gets its output and returns it."""

    def before(name: str, module: nn.Module, args: Any) -> None:
        enter(name)

    def after(name: str, module: nn.Module, args: Any, output: Any) -> Any:
        return leave(name, output)

    handles = [
        handle
        for name, module in modules.items()
        for handle in (
            module.register_forward_pre_hook(partial(before, name)),
            module.register_forward_hook(partial(after, name)),
        )
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _marked(output: Any, enter: Callable[[], None]) -> Any:
    """Returns an output with a mark on its first tensor, if that gets a gradient."""
    return with_first(output, lambda y: Mark.apply(y, enter) if y.requires_grad else y)


def gradients_over_time(
    model: TorchModel, x: np.ndarray, neurons: list[Seen]
) -> dict[str, np.ndarray]:
    """Returns the norm of the gradient by each neuron's spikes in each time step, by its name."""
    gradients = _by_outputs(model, x, [one.name for one in neurons])
    found = {}
    for one in neurons:
        gradient = over_time(replace(one, spikes=gradients[one.name]), *x.shape[:2])
        found[one.name] = np.sqrt(np.square(gradient, dtype=np.float64).sum(axis=(1, 2)))
    return found


def reached(model: TorchModel, x: np.ndarray, names: Iterable[str]) -> set[str]:
    """Returns the modules of which a first output gets a gradient that is not 0."""
    gradients = _by_outputs(model, x, names)
    return {name for name, each in gradients.items() if any(one.any() for one in each)}


def calls_of(model: TorchModel, name: str, x: np.ndarray) -> np.ndarray:
    """Returns the first outputs of a module's calls in a forward on x (T, B, *features), (calls,
    *shape)."""
    with torch.no_grad():
        return np.asarray(torch.stack(_outputs(model, name, model.put(x))).float())


def gradient_of_call(model: TorchModel, name: str, x: np.ndarray, call: int) -> np.ndarray | None:
    """Returns the gradient by x of the sum of what a call of a module gives; None without one."""
    given = model.put(x).requires_grad_()
    y = _outputs(model, name, given.clone())[call]
    if y.requires_grad:
        y.sum().backward()
    return None if given.grad is None else given.grad.float().numpy()


def _outputs(model: TorchModel, name: str, given: Tensor) -> list[Tensor]:
    outputs: list[Tensor] = []

    def keep(name: str, output: Any) -> Any:
        outputs.extend(tensors(output)[:1])
        return output

    model.module.train()
    model.restore()
    with _hooked({name: model.module.get_submodule(name)}, lambda name: None, keep):
        model(given)
    return outputs


def _by_outputs(model: TorchModel, x: np.ndarray, names: Iterable[str]) -> dict[str, list[Tensor]]:
    """Returns, by module, the gradients of a backward by the first output of each call; zeros where
    there is none."""
    modules = {name: model.module.get_submodule(name) for name in names}
    outputs: dict[str, list[Tensor]] = {name: [] for name in modules}

    def keep(name: str, output: Any) -> Any:
        for first in tensors(output)[:1]:
            if first.requires_grad:
                first.retain_grad()
            outputs[name].append(first)
        return output

    model.module.train()
    model.restore()
    with _hooked(modules, lambda name: None, keep):
        model.backward(x)
    return {
        name: [torch.zeros_like(y) if y.grad is None else y.grad for y in each]
        for name, each in outputs.items()
    }
