"""Losses and optimizers in JAX: the equations of `core.training`, compiled by XLA with the rest of
a step."""

from typing import Any

import jax
import jax.numpy as jnp

from snnbench.core.training import MEAN_OF_TIME, OPTIMIZERS

Tree = dict[str, dict[str, Any]]


def loss_of(name: str, output: Any, labels: Any) -> Any:
    """Returns the loss `name` of an output (T', B, K) and labels (B,), computed in float32."""
    return loss_of_items(name, output, labels).mean()


def loss_of_items(name: str, output: Any, labels: Any) -> Any:
    """Returns the loss of every item, (B,)."""
    output = output.astype(jnp.float32)
    logits = output.mean(0) if name in MEAN_OF_TIME else output.sum(0)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)[:, 0]


class Updates:
    """Pure functions that update parameters, each node's scaled by `scales`. Without an optimizer
    parameters move along their gradients at `rate`."""

    def __init__(self, optimizer: str | None, scales: dict[str, float], rate: float) -> None:
        self.optimizer = OPTIMIZERS[optimizer] if optimizer else None
        self.scales, self.rate = scales, rate

    def rest(self, parameters: Tree) -> dict[str, Any]:
        """Returns states of zeros by their names in `core.training`; `steps` counts for Adam."""
        if self.optimizer is None:
            return {}
        zeros = {"first": jax.tree_util.tree_map(jnp.zeros_like, parameters)}
        if self.optimizer.second is None:
            return zeros
        return {
            **zeros,
            "second": jax.tree_util.tree_map(jnp.zeros_like, parameters),
            "steps": jnp.zeros((), jnp.int32),
        }

    def update(
        self, parameters: Tree, states: dict[str, Any], gradients: Tree
    ) -> tuple[Tree, dict[str, Any]]:
        moved: Tree = {node: {} for node in parameters}
        after: dict[str, Any] = {
            kind: {node: {} for node in parameters} for kind in states if kind != "steps"
        }
        steps = states["steps"] + 1 if "steps" in states else None
        for node, named in parameters.items():
            for name, p in named.items():
                before = {kind: states[kind][node][name] for kind in after}
                step, moments = self._step(node, gradients[node][name], before, steps)
                moved[node][name] = (p - step).astype(p.dtype)
                for kind, state in moments.items():
                    after[kind][node][name] = state
        return moved, after if steps is None else {**after, "steps": steps}

    def _step(
        self, node: str, g: Any, states: dict[str, Any], steps: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Returns the decrement of a parameter of `node`, and its states after the step."""
        scale = self.scales.get(node, 1.0)
        if self.optimizer is None:
            return self.rate * scale**2 * g, {}
        rate, epsilon = self.optimizer.scaled(scale)
        first = self.optimizer.first * states["first"] + self.optimizer.share * g
        if self.optimizer.second is None:
            return rate * first, {"first": first}
        second = self.optimizer.second * states["second"] + (1 - self.optimizer.second) * g * g
        mean, square = (
            state / (1 - decay**steps)
            for state, decay in ((first, self.optimizer.first), (second, self.optimizer.second))
        )
        return rate * mean / (jnp.sqrt(square) + epsilon), {"first": first, "second": second}
