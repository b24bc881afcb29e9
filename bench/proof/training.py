"""Losses and optimizers in float64: the equations of `snnbench.core.training`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.contract import Parameters
from ..core.result import Gradients
from ..core.training import MEAN_OF_TIME, OPTIMIZERS
from .rounding import last_bit

ROUNDED = 8
"""Most roundings behind a state or a parameter, each to the last bit of its format."""
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
    optimizer: str, precision: str, before: Parameters, given: Gradients
) -> Iterator[str]:
    """Yields faults of the parameters and the second states of a step from rest, judged by its
    first states."""
    settings, bit = OPTIMIZERS[optimizer], ROUNDED * last_bit(precision)
    states, updated = given.states, given.updated or {}
    for node, named in before.items():
        for name, p in named.items():
            first, after = (
                states.get("first", {}).get(node, {}).get(name),
                updated.get(node, {}).get(name),
            )
            if first is None or after is None:
                yield f"{optimizer} has not moved the {name} of {node}"
                continue
            g = first.astype(np.float64) / settings.share
            move = settings.rate * g
            if settings.second is not None:
                second = states.get("second", {}).get(node, {}).get(name)
                right = (1 - settings.second) * g**2
                if second is None or not np.allclose(second, right, rtol=4 * bit, atol=1e-38):
                    yield f"the second state of the {name} of {node} is not that of {optimizer}"
                    continue
                move = settings.rate * g / (np.abs(g) + settings.epsilon)
            rounding = (
                bit * (np.abs(p).max() + np.abs(move).max()) + CORRECTION * np.abs(move).max()
            )
            if not np.allclose(after, p - move, rtol=0, atol=rounding):
                yield f"the update of the {name} of {node} is not that of {optimizer}"
