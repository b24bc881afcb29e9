"""Time steps shared by ranks: each has all layers and its steps. The state of every neuron is handed to the next rank as soon as
it is there, its gradient back; while the next rank computes a layer, this one computes the layer behind it.

Autograd runs the youngest node first, so that the backward is the same wavefront mirrored: a layer's `Send` waits for the
gradient of its state, its `Receive` hands one back before the layer in front is gone through.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from snnbench.kernels.lif.module import LIF

from ..contract import Unsupported
from ..time_loop import TimeLoop
from ..torch_network import TorchNetwork

Scan = Callable[[Tensor, Any], tuple[Tensor, Any]]
"""Spikes and final state of currents and a state, None at rest."""


@dataclass
class Neighbours:
    """The ranks before and after this one, None at the ends, and what is still on its way to them."""

    before: int | None
    after: int | None
    sent: list[tuple[Any, Tensor]] = field(default_factory=list)
    waited: float = 0.0

    def receive(self, values: Tensor, of: int, tag: int) -> None:
        start = perf_counter()
        dist.recv(values, of, tag=tag)
        self.waited += perf_counter() - start

    def send(self, values: Tensor, to: int, tag: int) -> None:
        values = values.detach().contiguous()
        self.sent = [(work, kept) for work, kept in self.sent if not work.is_completed()]
        self.sent.append((dist.isend(values, to, tag=tag), values))


class Receive(torch.autograd.Function):
    """A state of the rank before; backward hands its gradient there. `anchor` has autograd come here."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, like: Tensor, neighbours: Neighbours, tag: int) -> Tensor:
        ctx.neighbours, ctx.tag = neighbours, tag
        state = torch.empty_like(like)
        neighbours.receive(state, neighbours.before, tag)  # type: ignore[arg-type]
        return state

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None, None]:
        ctx.neighbours.send(gradient, ctx.neighbours.before, ctx.tag)
        return None, None, None, None


class Send(torch.autograd.Function):
    """Spikes as they are, and the state behind them to the rank after; in backward its gradient comes from there."""

    @staticmethod
    def forward(ctx: Any, spikes: Tensor, state: Tensor, neighbours: Neighbours, tag: int) -> Tensor:
        ctx.neighbours, ctx.tag, ctx.like = neighbours, tag, torch.empty_like(state)
        neighbours.send(state, neighbours.after, tag)  # type: ignore[arg-type]
        return spikes.view_as(spikes)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        state = torch.empty_like(ctx.like)
        ctx.neighbours.receive(state, ctx.neighbours.after, ctx.tag)
        return gradient, state, None, None


class HandedOn(nn.Module):
    """A neuron that begins with the state of the rank before, and hands its own on."""

    def __init__(self, neuron: nn.Module, neighbours: Neighbours, tag: int) -> None:
        super().__init__()
        self.neuron, self.neighbours, self.tag = neuron, neighbours, tag
        self.scan, self.seen = scan_of(neuron), dict[Any, tuple[Tensor, Any]]()

    def forward(self, currents: Tensor) -> Tensor:
        state = None
        if self.neighbours.before is not None:
            like, form = self._form(currents)
            anchor = torch.zeros((), requires_grad=torch.is_grad_enabled())
            given = Receive.apply(anchor, like, self.neighbours, self.tag)
            state = tree_unflatten(list(given.unbind(0)), form)
        spikes, after = self.scan(currents, state)
        if self.neighbours.after is None:
            return spikes
        handed: Tensor = Send.apply(spikes, torch.stack(tree_flatten(after)[0]), self.neighbours, self.tag)
        return handed

    def _form(self, currents: Tensor) -> tuple[Tensor, Any]:
        """A state behind such currents, as one tensor, and what it is made of: seen once, in that of a step."""
        kind = currents.shape[1:], currents.dtype
        if kind not in self.seen:
            with torch.no_grad():
                leaves, form = tree_flatten(self.scan(currents[:1].detach(), None)[1])
            self.seen[kind] = torch.stack(leaves), form
        return self.seen[kind]


class MeanOfAll(nn.Module):
    """The mean over the time steps of all ranks. What stands behind it all compute alike, each for its share of the loss."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps

    def forward(self, x: Tensor) -> Tensor:
        mean: Tensor = _SumOfAll.apply(x.sum(0, keepdim=True)) / self.steps
        return mean


class _SumOfAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone()
        dist.all_reduce(total)
        return total


def scan_of(neuron: nn.Module) -> Scan:
    """Raises Unsupported for a neuron into which no state goes."""
    if isinstance(neuron, TimeLoop):
        return lambda currents, state: neuron.scan(currents, state)
    if isinstance(neuron, LIF) and not neuron.kind:
        own = LIF(neuron.spec, return_state=True, backend=neuron.backend)
        return lambda currents, state: own(currents, state)[:2]
    raise Unsupported("its neuron starts at rest: no state goes in, so that ranks cannot share its time steps")


def hand_on(network: TorchNetwork, rank: int, count: int, steps: int) -> Neighbours:
    """Have every neuron begin where the rank before has ended, and means over time be those of all `steps`."""
    neighbours = Neighbours(rank - 1 if rank else None, rank + 1 if rank + 1 < count else None)
    parts = []
    for tag, part in enumerate(network.parts):
        if any(network.network.node(name).kind == "mean_time" for name in part.nodes):
            part = replace(part, module=MeanOfAll(steps))
        elif part.neuron is not None:
            if isinstance(part.module, TimeLoop | LIF):
                part = replace(part, module=HandedOn(part.module, neighbours, tag))
            else:
                (place,) = [name for name, child in part.module.named_children() if isinstance(child, TimeLoop | LIF)] or [None]
                if place is None:
                    raise Unsupported("its neuron stands within another module, into which no state goes")
                setattr(part.module, place, HandedOn(getattr(part.module, place), neighbours, tag))
        parts.append(part)
    network.parts = tuple(parts)
    return neighbours
