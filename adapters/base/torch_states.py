"""What state the neurons of a user's torch module find in each call of a loop over time: that of
the call before, with or without its graph, or always that of the first call."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .torch_model import RUNNING, Seen, TorchModel, is_count, neurons_of, tensors

Values = dict[Any, Tensor]


@dataclass
class Arrivals:
    """`detached` and `attached`: calls, from 1 on, that find the state of the call before without
    and with its graph; `renewed`: calls that find that of call 0. The state is `held` by the
    module, or `returned` and not part of the next input, as one that forward computes by hand. A
    call of a neuron that takes all steps at once is a `chunk` of them."""

    calls: int = 0
    detached: list[int] = field(default_factory=list)
    attached: list[int] = field(default_factory=list)
    renewed: list[int] = field(default_factory=list)
    is_held: bool = False
    is_returned: bool = False
    is_chunk: bool = False

    @property
    def is_detached(self) -> bool:
        """Whether every call finds the state without its graph."""
        return bool(self.detached) and not self.attached

    @property
    def is_renewed(self) -> bool:
        """Whether a call changes the state, and no other call finds that."""
        is_state = self.is_held or self.is_returned
        return is_state and len(self.renewed) == self.calls - 1 > 0


def arrivals(model: TorchModel, x: np.ndarray, neurons: Iterable[Seen]) -> dict[str, Arrivals]:
    """Returns, by name, what neurons find in a training step of the user on x (T, B, *features),
    until it ends or raises; without one, those that take a step a call, in a forward."""
    in_chunks = model.training.step is not None
    watches = {one.name: _Watch(one) for one in neurons if in_chunks or one.layout == "step"}
    handles = [
        handle
        for watch in watches.values()
        for handle in (
            watch.module.register_forward_pre_hook(watch.before, with_kwargs=True),
            watch.module.register_forward_hook(watch.after),
        )
    ]
    model.module.train()
    model.restore()
    try:
        if model.training.step is None:
            model(model.put(x))
        else:
            model.keep_parameters()
            with suppress(Exception):
                model.train(x)
            model.restore_parameters()
    finally:
        for handle in handles:
            handle.remove()
    return {name: watch.arrived for name, watch in watches.items()}


def detached_of(model: TorchModel, x: np.ndarray) -> list[str]:
    """Returns the neurons that do not always find their state with its graph."""
    model.restore()
    with model.watched(*x.shape[:2]) as seen:
        model.inference(x)
    found = arrivals(model, x, neurons_of(model, seen))
    return [name for name, one in found.items() if one.detached]


def keeping(model: TorchModel, x: np.ndarray, neurons: Iterable[Seen]) -> list[str]:
    """Returns the neurons that hold another state where a second equal call begins than where the
    first did; those that get it as an argument hold none."""
    begun: list[dict[str, Values]] = []
    holders = [one for one in neurons if len(tensors(one.first)) == 1]

    def before(name: str, module: nn.Module, args: Any) -> None:
        begun[-1].setdefault(name, _copies(_held(module)))

    handles = [one.module.register_forward_pre_hook(partial(before, one.name)) for one in holders]
    model.restore()
    try:
        for _ in range(2):
            begun.append({})
            model.inference(x)
    finally:
        for handle in handles:
            handle.remove()
    first, second = begun
    return [
        name
        for name in first
        if any(not _alike(first[name], second[name], key) for key in {*first[name], *second[name]})
    ]


class _Watch:
    """Compares what a module finds with what its call before left."""

    def __init__(self, seen: Seen):
        self.module, self.arrived = seen.module, Arrivals(is_chunk=seen.layout != "step")
        self.first, self.found, self.left = (dict[Any, Tensor]() for _ in range(3))
        self.with_graph: set[Any] = set()
        self.graph: set[Any] = set()

    def before(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        current, *given = tensors((args, kwargs)) or [torch.empty(0)]
        values = {**_held(module), **{("given", place): one for place, one in enumerate(given)}}
        if self.arrived.calls:
            self._compare(values)
        else:
            self.first = _copies(values)
        if self.arrived.calls == 1 and self.graph:
            self.arrived.is_returned = not _reaches(current.grad_fn, self.graph)
        self.graph = {current.grad_fn}
        self.found = _copies(values)
        self.arrived.calls += 1

    def after(self, module: nn.Module, args: Any, output: Any) -> None:
        returned = {("returned", place): one for place, one in enumerate(tensors(output)[1:])}
        values = {**_held(module), **returned}
        states = {one.grad_fn for one in returned.values()} - {None}
        self.graph = (states | self.graph) - {None} if states else set()
        self.with_graph = {key for key, one in values.items() if one.requires_grad}
        self.left = _copies(values)

    def _compare(self, values: Values) -> None:
        """Compares what a call finds. An argument takes the place of a state that the module holds
        and returns."""
        arrived, call = self.arrived, self.arrived.calls
        returned = [one for key, one in self.left.items() if key[0] == "returned"]
        is_given = any(key[0] == "given" for key in values)
        replaced = {
            key
            for key, left in self.left.items()
            if is_given and key[0] == "held" and any(_equal(left, one) for one in returned)
        }
        graphs = {
            one.requires_grad
            for place, one in values.items()
            for key, left in self.left.items()
            if place not in replaced
            and (key == place or (key[0], place[0]) == ("returned", "given"))
            and key in self.with_graph
            and _equal(left, one)
            and not is_count(one)
            and not (key in self.found and _equal(self.found[key], one))  # a constant
        }
        if graphs:
            (arrived.attached if True in graphs else arrived.detached).append(call)
        held = {key for key in self.left if key[0] == "held"} - replaced
        arrived.is_held |= any(not _alike(self.left, self.first, key) for key in held)
        if all(_alike(values, self.first, key) for key in {*values, *self.first} - replaced):
            arrived.renewed.append(call)


def _reaches(node: Any, targets: set[Any]) -> bool:
    """Tells if a graph's node is one of others, or computed from one."""
    waiting, passed = [node], set[Any]()
    while waiting:
        one = waiting.pop()
        if one in targets:
            return True
        if one is not None and one not in passed:
            passed.add(one)
            waiting += [before for before, _ in one.next_functions]
    return False


def _held(module: nn.Module) -> Values:
    """Returns the tensors that a module and those in it hold beside parameters."""
    return {
        ("held", name, key, place): one
        for name, each in module.named_modules()
        for key, value in vars(each).items()
        if key not in RUNNING
        for place, one in enumerate(tensors(value))
    }


def _copies(values: Values) -> Values:
    return {key: one.detach().clone() for key, one in values.items()}


def _equal(first: Tensor, second: Tensor) -> bool:
    alike = (first.shape, first.dtype) == (second.shape, second.dtype)
    return alike and bool(torch.equal(first, second.detach()))


def _alike(values: Values, others: Values, key: Any) -> bool:
    """Tells if both have equal tensors under a key, or none; zeros of any size count as none."""
    first, second = (
        each[key] if key in each and each[key].any() else None for each in (others, values)
    )
    if first is None or second is None:
        return first is second
    return _equal(first, second)
