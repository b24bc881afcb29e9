"""Losses and optimizers in torch, as its users write them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from snnbench.core.training import MEAN_OF_TIME, OPTIMIZERS

if TYPE_CHECKING:
    from torch.optim import Optimizer

STATES = {"first": ("momentum_buffer", "exp_avg"), "second": ("exp_avg_sq",)}
"""Names in torch's optimizers of the states that `core.training` describes."""


def loss_of(name: str, output: Tensor, labels: Tensor) -> Tensor:
    """Returns the loss `name` of an output (T', B, K) and labels (B,), computed in float32."""
    logits = output.float().sum(0)
    if name in MEAN_OF_TIME:
        logits = logits / len(output)  # backward of torch's mean would write T' gradients
    return torch.nn.functional.cross_entropy(logits, labels)


def optimizer_of(
    name: str, by_scale: Mapping[float, list[Tensor]], capturable: bool, fused: bool
) -> "Optimizer":
    """Returns torch's own optimizer for parameters by the factor that scales them. torch.optim is
    imported late: it takes half a second. `capturable`: steps can be captured in a CUDA graph.
    `fused`: each parameter in one pass, which torch offers on CPUs, too."""
    from torch.optim import SGD, Adam

    constants = OPTIMIZERS[name]
    if constants.second is None:
        rated = [
            {"params": leaves, "lr": constants.scaled(scale)[0]}
            for scale, leaves in by_scale.items()
        ]
        return SGD(rated, lr=constants.rate, momentum=constants.first, fused=fused)
    groups = ((*constants.scaled(scale), leaves) for scale, leaves in by_scale.items())
    rated = [{"params": leaves, "lr": rate, "eps": epsilon} for rate, epsilon, leaves in groups]
    return Adam(
        rated,
        lr=constants.rate,
        betas=(constants.first, constants.second),
        capturable=capturable,
        fused=fused,
    )


class Trainer:
    """A step's loss, and its optimizer with states, for `parameters` by node and name, each node's
    scaled by `scales`. Without an optimizer parameters move along their gradients at `rate`, scaled
    too."""

    def __init__(
        self,
        loss: str | None,
        optimizer: str | None,
        parameters: Mapping[str, Mapping[str, Tensor]],
        scales: Mapping[str, float],
        rate: float,
        capturable: bool = False,
        fused: bool = False,
    ) -> None:
        self.loss: Callable[[Tensor, Tensor], Tensor] | None = (
            partial(loss_of, loss) if loss else None
        )
        self.parameters = parameters
        by_scale: dict[float, list[Tensor]] = {}
        for node, named in parameters.items():
            by_scale.setdefault(scales.get(node, 1.0), []).extend(named.values())
        self.optimizer = optimizer_of(optimizer, by_scale, capturable, fused) if optimizer else None
        self.update: Callable[[], object] = self.optimizer.step if self.optimizer else self._descend
        self.rated = [(rate * scale**2, leaves) for scale, leaves in by_scale.items()]

    def _descend(self) -> None:
        """Computes as `torch.optim.SGD` without momentum."""
        with torch.no_grad():
            for rate, leaves in self.rated:
                if moved := [leaf for leaf in leaves if leaf.grad is not None]:
                    torch._foreach_add_(moved, [leaf.grad for leaf in moved], alpha=-rate)

    def states(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Returns the optimizer's states by their names in `core.training`, node and name; None
        where there is none yet."""
        if self.optimizer is None:
            return {}
        by_leaf, states = self.optimizer.state, dict[str, dict[str, dict[str, Any]]]()
        for kind, names in STATES.items():
            of_kind = {
                node: {
                    key: next((by_leaf[leaf][one] for one in names if one in by_leaf[leaf]), None)
                    for key, leaf in named.items()
                }
                for node, named in self.parameters.items()
            }
            if any(state is not None for named in of_kind.values() for state in named.values()):
                states[kind] = of_kind
        return states

    def rest(self) -> None:
        """Sets all states to 0, in place: a graph of an earlier step may hold them."""
        if self.optimizer is not None:
            for of_leaf in self.optimizer.state.values():
                for state in of_leaf.values():
                    state.zero_()

    @property
    def state_bytes(self) -> int:
        by_leaf = self.optimizer.state.values() if self.optimizer is not None else ()
        return sum(state.nbytes for states in by_leaf for state in states.values())
