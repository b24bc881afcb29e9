"""Names the fault of a training step: its loss, or what its optimizer carries from step to step."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.training import MEAN_OF_TIME, OPTIMIZERS
from .. import oracle
from ..judge import JudgedCall, judge
from ..limits import LimitsByNode
from ..problem import Problem
from ..training import Descent, loss_and_gradient

By = dict[str, dict[str, np.ndarray]]
Stepped = Callable[[Descent, list[By]], None]


def loss_fault(problem: Problem, call: JudgedCall, limits: LimitsByNode) -> str | None:
    """Names the wrong loss that explains the gradients of a call with right decisions and a
    right output."""
    if problem.loss is None or call.gradients is None:
        return None
    result = oracle.forward(problem.network, problem.parameters, call.x, call.spikes)
    output = result.values[problem.network.output.name]
    for words, upstream in _wrong_losses(problem.loss, output, problem.upstream):
        if judge(replace(problem, loss=None, upstream=upstream), call, limits).passed:
            return words
    return None


def _wrong_losses(
    loss: str, output: np.ndarray, labels: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Yields gradients of the output, with the words for their loss."""
    right, (steps, items, count) = loss_and_gradient(loss, output, labels)[1], output.shape
    each = [loss_and_gradient(loss, output[t : t + 1], labels)[1] for t in range(steps)]
    if steps > 1:
        yield "the loss is taken at every time step, and averaged", np.concatenate(each) / steps
        yield "the loss is taken at every time step, and summed", np.concatenate(each)
        mean = loss in MEAN_OF_TIME
        other = loss_and_gradient("spike-count" if mean else "cross-entropy", output, labels)[1]
        yield (
            "the loss is of the sum over time, not of the mean"
            if mean
            else "the loss is of the mean over time, not of the sum",
            other,
        )
        last = np.zeros_like(right)
        last[-1] = each[-1][0]
        yield "the loss is of the last time step alone", last
    yield "the loss is summed over the batch, not averaged", right * items
    yield "the gradient is added up twice", 2 * right
    yield "the loss is averaged over classes too", right / count


def _lost(descent: Descent, seen: list[By]) -> None:
    descent.states, descent.steps = {}, 0
    descent.step(seen[-1])


def _added_up(descent: Descent, seen: list[By]) -> None:
    descent.step(
        {
            node: {name: np.sum([g[node][name] for g in seen], 0) for name in own}
            for node, own in seen[-1].items()
        }
    )


def _twice(descent: Descent, seen: list[By]) -> None:
    descent.step(
        {node: {name: 2 * g for name, g in named.items()} for node, named in seen[-1].items()}
    )


class _Decaying(Descent):
    """m ← μ·(m + g): the gradient is added before the momentum decays."""

    def _move(self, g: np.ndarray, first: Any, second: Any) -> tuple[np.ndarray, tuple[Any, Any]]:
        own = OPTIMIZERS[self.optimizer or "sgd"]
        return (
            super()._move(own.first * g, first, second)
            if own.second is None
            else super()._move(g, first, second)
        )


class _Nesterov(Descent):
    def _move(self, g: np.ndarray, first: Any, second: Any) -> tuple[np.ndarray, tuple[Any, Any]]:
        own = OPTIMIZERS[self.optimizer or "sgd"]
        move, states = super()._move(g, first, second)
        return (own.rate * (g + own.first * states[0]) if own.second is None else move), states


class _Uncorrected(Descent):
    """Adam without the correction of its means for their start at 0."""

    def _move(self, g: np.ndarray, first: Any, second: Any) -> tuple[np.ndarray, tuple[Any, Any]]:
        own = OPTIMIZERS[self.optimizer or "sgd"]
        move, states = super()._move(g, first, second)
        return (
            move
            if own.second is None
            else own.rate * states[0] / (np.sqrt(states[1]) + own.epsilon)
        ), states


FAULTS: dict[str, tuple[type[Descent], Stepped]] = {
    "the optimizer's states are lost after every step": (Descent, _lost),
    "gradients of earlier steps are added up": (Descent, _added_up),
    "the gradient is added up twice": (Descent, _twice),
    "the gradient is added before the momentum decays": (
        _Decaying,
        lambda descent, seen: descent.step(seen[-1]),
    ),
    "the momentum is Nesterov's": (_Nesterov, lambda descent, seen: descent.step(seen[-1])),
    "Adam's means are not corrected for their start": (
        _Uncorrected,
        lambda descent, seen: descent.step(seen[-1]),
    ),
}


def step_fault(
    optimizer: str | None, start: By, seen: list[By], fits: Callable[[By], bool]
) -> str | None:
    """Names the fault with which steps from `start` along the gradients `seen` end where it
    `fits`. None if there is none, or if the right steps do."""
    if fits(_way(Descent, lambda descent, given: descent.step(given[-1]), optimizer, start, seen)):
        return None
    for words, (kind, stepped) in FAULTS.items():
        if (optimizer is not None or kind is Descent) and fits(
            _way(kind, stepped, optimizer, start, seen)
        ):
            return words
    return None


def _way(
    kind: type[Descent], stepped: Stepped, optimizer: str | None, start: By, seen: list[By]
) -> By:
    descent = kind(optimizer, {node: dict(named) for node, named in start.items()})
    for count in range(1, len(seen) + 1):
        stepped(descent, seen[:count])
    return descent.parameters
