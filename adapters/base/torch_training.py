"""Losses and optimizers in torch, as a user of torch has them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from snnbench.core.training import MEAN_OF_TIME, OPTIMIZERS

if TYPE_CHECKING:
    from torch.optim import Optimizer

STATES = {"first": ("momentum_buffer", "exp_avg"), "second": ("exp_avg_sq",)}
"""How torch's optimizers call the states that `training` describes."""


def loss_of(name: str, output: Tensor, labels: Tensor) -> Tensor:
    """The loss `name` of an output (T', B, K) and labels (B,), computed in float32."""
    reduced = torch.mean if name in MEAN_OF_TIME else torch.sum
    return torch.nn.functional.cross_entropy(reduced(output.float(), 0), labels)


def optimizer_of(
    name: str, by_scale: Mapping[float, list[Tensor]], capturable: bool
) -> "Optimizer":
    """torch's own optimizer for parameters, given by the factor that scales them. Imported where it
    is asked for: torch.optim takes half a second. `capturable`: its steps can be captured in a CUDA
    graph."""
    from torch.optim import SGD, Adam

    own = OPTIMIZERS[name]
    if own.second is None:
        rated = [
            {"params": leaves, "lr": own.scaled(scale)[0]} for scale, leaves in by_scale.items()
        ]
        return SGD(rated, lr=own.rate, momentum=own.first)
    groups = ((*own.scaled(scale), leaves) for scale, leaves in by_scale.items())
    rated = [{"params": leaves, "lr": rate, "eps": epsilon} for rate, epsilon, leaves in groups]
    return Adam(rated, lr=own.rate, betas=(own.first, own.second), capturable=capturable)


class Trainer:
    """What a step does beside the network: the loss, and the optimizer with its states, of
    `parameters` by node and name, each node's scaled by `scales`. Without an optimizer parameters
    move along their gradients at `rate`, scaled too."""

    def __init__(
        self,
        loss: str | None,
        optimizer: str | None,
        parameters: Mapping[str, Mapping[str, Tensor]],
        scales: Mapping[str, float],
        rate: float,
        capturable: bool = False,
    ) -> None:
        self.loss: Callable[[Tensor, Tensor], Tensor] | None = (
            partial(loss_of, loss) if loss else None
        )
        self.parameters = parameters
        by_scale: dict[float, list[Tensor]] = {}
        for node, named in parameters.items():
            by_scale.setdefault(scales.get(node, 1.0), []).extend(named.values())
        self.optimizer = optimizer_of(optimizer, by_scale, capturable) if optimizer else None
        self.update: Callable[[], object] = self.optimizer.step if self.optimizer else self._descend
        self.rated = [(rate * scale**2, leaves) for scale, leaves in by_scale.items()]

    def _descend(self) -> None:
        """As `torch.optim.SGD` computes it without momentum."""
        with torch.no_grad():
            for rate, leaves in self.rated:
                if moved := [leaf for leaf in leaves if leaf.grad is not None]:
                    torch._foreach_add_(moved, [leaf.grad for leaf in moved], alpha=-rate)

    def states(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The optimizer's states by what `training` calls them, node and name; None where there is
        none yet."""
        if self.optimizer is None:
            return {}
        kept, found = self.optimizer.state, dict[str, dict[str, dict[str, Any]]]()
        for kind, names in STATES.items():
            of_kind = {
                node: {
                    key: next((kept[leaf][own] for own in names if own in kept[leaf]), None)
                    for key, leaf in named.items()
                }
                for node, named in self.parameters.items()
            }
            if any(state is not None for named in of_kind.values() for state in named.values()):
                found[kind] = of_kind
        return found

    def rest(self) -> None:
        """Set all states to 0, in place: a graph of an earlier step may hold them."""
        if self.optimizer is not None:
            for own in self.optimizer.state.values():
                for state in own.values():
                    state.zero_()

    @property
    def state_bytes(self) -> int:
        """Bytes of all states on the device."""
        kept = self.optimizer.state.values() if self.optimizer is not None else ()
        return sum(state.nbytes for own in kept for state in own.values())
