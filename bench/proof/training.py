"""Losses and optimizers in float64: the equations of `snnbench.core.training`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.contract import Parameters
from ..core.result import Gradients
from ..core.training import MEAN_OF_TIME, OPTIMIZERS
from .rounding import last_bit

States = Mapping[str, Mapping[str, Mapping[str, np.ndarray | None]]]
"""States of an optimizer by their names in `core.training`, node and name."""

ROUNDED = 8
"""Most roundings behind a state or a parameter, each to the last bit of its format."""
FLUSHED = 2 * float(np.finfo(np.float32).tiny)
"""Largest sum of two float32 products that XLA rounds to 0 each, because they are subnormal."""
CORRECTION = 2e-5
"""Relative error of a movement by Adam that computes 1 − 0.999 in float32."""


def loss_and_gradient(
    loss: str, output: np.ndarray, labels: np.ndarray
) -> tuple[float, np.ndarray]:
    """Returns the loss of an output (T', B, K) with labels (B,), and its gradient by the output."""
    steps, items, _ = output.shape
    logits = output.astype(np.float64).sum(axis=0) / (steps if loss in MEAN_OF_TIME else 1)
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_shares = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(items)
    gradient = np.exp(log_shares)
    gradient[rows, labels] -= 1
    gradient /= items * (steps if loss in MEAN_OF_TIME else 1)
    return float(-log_shares[rows, labels].mean()), np.broadcast_to(gradient, output.shape)


@dataclass
class Descent:
    """Parameters under an optimizer, float64 by node and name, and its states."""

    optimizer: str | None
    parameters: dict[str, dict[str, np.ndarray]]
    plain_rate: float = 0.0
    steps: int = 0
    states: dict[tuple[str, str], tuple[np.ndarray | float, np.ndarray | float]] = field(
        default_factory=dict
    )

    def step(self, gradients: Mapping[str, Mapping[str, np.ndarray]]) -> None:
        """Moves every parameter along its gradient."""
        self.steps += 1
        for node, named in self.parameters.items():
            for name, p in named.items():
                before = self.states.get((node, name), (0.0, 0.0))
                move, self.states[node, name] = self._move(
                    np.asarray(gradients[node][name], np.float64), *before
                )
                named[name] = p - move

    def _move(self, g: np.ndarray, first: Any, second: Any) -> tuple[np.ndarray, tuple[Any, Any]]:
        if self.optimizer is None:
            return self.plain_rate * g, (first, second)
        settings = OPTIMIZERS[self.optimizer]
        first = settings.first * first + settings.share * g
        if settings.second is None:
            return settings.rate * first, (first, second)
        second = settings.second * second + (1 - settings.second) * g**2
        mean, square = (
            first / (1 - settings.first**self.steps),
            second / (1 - settings.second**self.steps),
        )
        return settings.rate * mean / (np.sqrt(square) + settings.epsilon), (first, second)


def gradients_of_states(optimizer: str, given: Gradients) -> dict[str, dict[str, Any]]:
    """Returns the gradients of a step from rest, read from the optimizer's first state."""
    share = np.float32(OPTIMIZERS[optimizer].share)
    return {
        node: {name: None if state is None else state / share for name, state in named.items()}
        for node, named in given.states.get("first", {}).items()
    }


def wrong_update(
    optimizer: str,
    precision: str,
    before: Parameters,
    given: Gradients,
    earlier: States | None = None,
    steps: int = 1,
) -> Iterator[str]:
    """Yields faults of the parameters and the second states of step number `steps`, judged by its
    first states. Before it the parameters were `before` and the states `earlier`, None for rest."""
    settings, bit = OPTIMIZERS[optimizer], ROUNDED * last_bit(precision)

    def state(of: States | None, kind: str) -> np.ndarray | None:
        array = (of or {}).get(kind, {}).get(node, {}).get(name)
        return None if array is None else array.astype(np.float64)

    for node, named in before.items():
        for name, p in named.items():
            first = state(given.states, "first")
            after = (given.updated or {}).get(node, {}).get(name)
            if first is None or after is None:
                yield f"{optimizer} has not moved the {name} of {node}"
                continue
            move = settings.rate * first
            if settings.second is not None:
                was, second = state(earlier, "first"), state(given.states, "second")
                was = np.zeros_like(first) if was is None else was
                g = (first - settings.first * was) / settings.share
                inexact = bit * (np.abs(first) + np.abs(was)) / settings.share
                right = (1 - settings.second) * g**2
                if (was := state(earlier, "second")) is not None:
                    right += settings.second * was
                allowed = (1 - settings.second) * inexact * (2 * np.abs(g) + inexact)
                allowed += 4 * bit * right + FLUSHED
                if second is None or not (np.abs(second - right) <= allowed).all():
                    yield f"the second state of the {name} of {node} is not that of {optimizer}"
                    continue
                mean, square = (
                    first / (1 - settings.first**steps),
                    second / (1 - settings.second**steps),
                )
                move = settings.rate * mean / (np.sqrt(square) + settings.epsilon)
            largest = np.abs(move).max()
            rounding = bit * (np.abs(p) + largest) + CORRECTION * largest
            if not (np.abs(after - (p - move)) <= rounding).all():
                yield f"the update of the {name} of {node} is not that of {optimizer}"


def wrong_without_gradient(
    optimizer: str,
    before: Parameters,
    given: Gradients,
    earlier: States | None,
    silent: Mapping[str, np.ndarray],
) -> Iterator[str]:
    """Yields faults of weights (outputs, inputs, …) with a gradient of 0, because the inputs in the
    masks `silent` by node are. From rest, without `earlier` states, they stay as they are to the
    bit; later their first states decay."""
    settings, bit = OPTIMIZERS[optimizer], ROUNDED * last_bit("fp32")
    for node, inputs in silent.items():
        weight, after = before[node]["weight"], (given.updated or {})[node]["weight"]
        first = given.states["first"][node]["weight"]
        assert after is not None and first is not None
        was = earlier["first"][node]["weight"] if earlier else np.zeros_like(first)
        assert was is not None
        apart = np.abs(first - settings.first * was.astype(np.float64))[:, inputs]
        if not earlier and not np.array_equal(after[:, inputs], weight[:, inputs]):
            yield f"the weight of {node} moves without a gradient, as if it decayed"
        elif not (apart <= bit * np.abs(was)[:, inputs]).all():
            yield f"the first state of the weight of {node} is not that of {optimizer}"
