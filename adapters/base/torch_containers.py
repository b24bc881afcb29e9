"""Networks in a framework's own containers, as its users write them, in the place of a run of
nodes."""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from snnbench.core.network import Network, Node

from .torch_network import Container, layer_of


def own_modules(
    network: Network, spelled: Mapping[str, Callable[[Node], nn.Module]]
) -> dict[str, nn.Module]:
    """A module for every node in front of the mean over time, by name: what `spelled` makes of its
    kind, else torch's layer."""
    in_time = [node for node in network.nodes if network.steps(node.name, 2) == 2]
    return {
        n.name: spelled[n.kind](n) if n.kind in spelled else layer_of(n, network) for n in in_time
    }


class Chain(Container):
    """Modules one after the other in `container`, which `run` calls once for each step. Spikes of
    hidden neurons, which it does not hand out, are collected by forward hooks and stacked behind
    its call."""

    def __init__(
        self,
        own: dict[str, nn.Module],
        neurons: tuple[str, ...],
        container: nn.Module,
        run: Callable[[nn.Module, Tensor], Tensor],
    ) -> None:
        super().__init__(own, neurons)
        self.container, self.run = container, run
        self.seen: dict[str, list[Tensor]] = {}
        for name in set(neurons) - {list(own)[-1]}:
            own[name].register_forward_hook(partial(self._collect, name))

    def _collect(
        self, name: str, module: nn.Module, inputs: object, output: Tensor | tuple[Tensor, object]
    ) -> None:
        if name in self.seen:
            self.seen[name].append(output[0] if isinstance(output, tuple) else output)

    def forward(self, x: Tensor, every_border: bool) -> tuple[dict[str, Tensor], Tensor]:
        self.seen = {name: [] for name in (self.neurons if every_border else self.neurons[-1:])}
        value = self.run(self.container, x)
        seen, self.seen = self.seen, {}
        return {name: torch.stack(steps) if steps else value for name, steps in seen.items()}, value
