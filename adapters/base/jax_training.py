"""Losses and optimizers in JAX: the equations of `training`, which XLA compiles with the rest of a
step."""

from typing import Any

import jax
import jax.numpy as jnp

from snnbench.core.training import MEAN_OF_TIME, OPTIMIZERS

Tree = dict[str, dict[str, Any]]
"""Arrays by node and name."""


def loss_of(name: str, output: Any, labels: Any) -> Any:
    """The loss `name` of an output (T', B, K) and labels (B,), computed in float32."""
    return loss_of_items(name, output, labels).mean()


def loss_of_items(name: str, output: Any, labels: Any) -> Any:
    """The same of every item, (B,)."""
    output = output.astype(jnp.float32)
    logits = output.mean(0) if name in MEAN_OF_TIME else output.sum(0)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)[:, 0]


class Updates:
    """How a step moves parameters, each node's scaled by `scales`; pure functions. Without an
    optimizer they move along their gradients at `rate`."""

    def __init__(self, optimizer: str | None, scales: dict[str, float], rate: float) -> None:
        self.own = OPTIMIZERS[optimizer] if optimizer else None
        self.scales, self.rate = scales, rate

    def rest(self, parameters: Tree) -> dict[str, Any]:
        """States at 0, by what `training` calls them; `steps` counts for Adam."""
        if self.own is None:
            return {}
        zeros = {"first": jax.tree_util.tree_map(jnp.zeros_like, parameters)}
        if self.own.second is None:
            return zeros
        return {
            **zeros,
            "second": jax.tree_util.tree_map(jnp.zeros_like, parameters),
            "steps": jnp.zeros((), jnp.int32),
        }

    def update(
        self, parameters: Tree, states: dict[str, Any], gradients: Tree
    ) -> tuple[Tree, dict[str, Any]]:
        """(parameters, states) after a step."""
        moved: Tree = {node: {} for node in parameters}
        after: dict[str, Any] = {
            kind: {node: {} for node in parameters} for kind in states if kind != "steps"
        }
        steps = states["steps"] + 1 if "steps" in states else None
        for node, named in parameters.items():
            for name, p in named.items():
                own = {kind: states[kind][node][name] for kind in after}
                step, own = self._step(node, gradients[node][name], own, steps)
                moved[node][name] = (p - step).astype(p.dtype)
                for kind, state in own.items():
                    after[kind][node][name] = state
        return moved, after if steps is None else {**after, "steps": steps}

    def _step(
        self, node: str, g: Any, states: dict[str, Any], steps: Any
    ) -> tuple[Any, dict[str, Any]]:
        """By how much a parameter of `node` goes down, and its states then."""
        scale = self.scales.get(node, 1.0)
        if self.own is None:
            return self.rate * scale**2 * g, {}
        rate, epsilon = self.own.scaled(scale)
        first = self.own.first * states["first"] + self.own.share * g
        if self.own.second is None:
            return rate * first, {"first": first}
        second = self.own.second * states["second"] + (1 - self.own.second) * g * g
        mean, square = (
            state / (1 - kept**steps)
            for state, kept in ((first, self.own.first), (second, self.own.second))
        )
        return rate * mean / (jnp.sqrt(square) + epsilon), {"first": first, "second": second}
