"""Networks in a framework's own containers, as its users write them, in place of a run of nodes."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import takewhile

import torch
from torch import Tensor, nn

from snnbench.core.network import Network, Node

from .torch_network import ITEMWISE, NodeContainer, layer_of


def modules_by_node(
    network: Network, spelled: Mapping[str, Callable[[Node], nn.Module]]
) -> dict[str, nn.Module]:
    """Returns a module by name for the first nodes, up to one of another kind, as a mean over time:
    the module that `spelled` makes of its kind, else torch's layer."""
    nodes = takewhile(lambda node: node.kind in spelled or node.kind in ITEMWISE, network.nodes)
    return {
        n.name: spelled[n.kind](n) if n.kind in spelled else layer_of(n, network) for n in nodes
    }


class Chain(NodeContainer):
    """Consecutive modules in `container`, which `run` calls once for each step. Forward hooks
    collect the spikes of hidden neurons, which the container does not return."""

    def __init__(
        self,
        by_node: dict[str, nn.Module],
        neurons: tuple[str, ...],
        container: nn.Module,
        run: Callable[[nn.Module, Tensor], Tensor],
    ) -> None:
        super().__init__(by_node, neurons)
        self.container, self.run = container, run
        self.collected: dict[str, list[Tensor]] = {}
        for name in set(neurons) - {list(by_node)[-1]}:
            by_node[name].register_forward_hook(partial(self._collect, name))

    def _collect(
        self, name: str, module: nn.Module, inputs: object, output: Tensor | tuple[Tensor, object]
    ) -> None:
        if name in self.collected:
            self.collected[name].append(output[0] if isinstance(output, tuple) else output)

    def forward(self, x: Tensor, every_border: bool) -> tuple[dict[str, Tensor], Tensor]:
        self.collected = {
            name: [] for name in (self.neurons if every_border else self.neurons[-1:])
        }
        value = self.run(self.container, x)
        collected, self.collected = self.collected, {}
        return {
            name: torch.stack(steps) if steps else value for name, steps in collected.items()
        }, value
