"""Time steps shared by ranks: each has all layers and its own steps. The state of every neuron goes
to the next rank as soon as it is computed, and its gradient comes back; while the next rank
computes a layer, this one computes the layer after it.

Autograd runs the youngest node first, so that backward is the same wavefront mirrored: a layer's
`Send` waits for the gradient of its state, and its `Receive` returns one before autograd reaches
the layer before it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from snnbench.core.contract import Unsupported
from snnbench.kernels.lif.module import LIF
from snnbench.kernels.recurrent import RecurrentLIF

from ..base.time_loop import TimeLoop
from ..base.torch_network import TorchNetwork

Scan = Callable[[Tensor, Any], tuple[Tensor, Any]]
"""A function from currents and a state, None at rest, to spikes and the final state."""


@dataclass
class Post:
    """Messages on their way to other ranks, and the seconds spent waiting for theirs."""

    sent: list[tuple[Any, Tensor]] = field(default_factory=list)
    waited: float = 0.0


@dataclass(frozen=True)
class Neighbour:
    """The rank before or after this one, for the states of the layer with number `tag`."""

    post: Post
    rank: int
    tag: int

    def receive(self, like: Tensor) -> Tensor:
        values, start = torch.empty_like(like), perf_counter()
        dist.recv(values, self.rank, tag=self.tag)
        self.post.waited += perf_counter() - start
        return values

    def send(self, values: Tensor) -> None:
        values = values.detach().contiguous()
        self.post.sent = [
            (work, tensor) for work, tensor in self.post.sent if not work.is_completed()
        ]
        self.post.sent.append((dist.isend(values, self.rank, tag=self.tag), values))


class Receive(torch.autograd.Function):
    """The state of the rank before; backward sends its gradient there. Autograd gets here through
    `anchor`."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, like: Tensor, before: Neighbour) -> Tensor:
        ctx.before = before
        return before.receive(like)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None]:
        ctx.before.send(gradient)
        return None, None, None


class Send(torch.autograd.Function):
    """Passes spikes through and sends the final state to the rank after, which sends its gradient
    back."""

    @staticmethod
    def forward(ctx: Any, spikes: Tensor, state: Tensor, after: Neighbour) -> Tensor:
        ctx.after, ctx.like = after, torch.empty_like(state)
        after.send(state)
        return spikes.view_as(spikes)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        return gradient, ctx.after.receive(ctx.like), None


class HandedOn(nn.Module):
    """A neuron that starts from the state of the rank before, at rest without one, and sends its
    final state to the rank after."""

    def __init__(
        self, neuron: nn.Module, before: Neighbour | None, after: Neighbour | None
    ) -> None:
        super().__init__()
        self.neuron, self.before, self.after = neuron, before, after
        self.scan, self.forms = scan_of(neuron), dict[Any, tuple[Tensor, Any]]()

    def forward(self, currents: Tensor) -> Tensor:
        state = None
        if self.before is not None:
            like, form = self._form(currents)
            anchor = torch.zeros((), requires_grad=torch.is_grad_enabled())
            received = Receive.apply(anchor, like, self.before)
            state = tree_unflatten(list(received.unbind(0)), form)
        spikes, after = self.scan(currents, state)
        if self.after is None:
            return spikes
        handed: Tensor = Send.apply(spikes, torch.stack(tree_flatten(after)[0]), self.after)
        return handed

    def _form(self, currents: Tensor) -> tuple[Tensor, Any]:
        """Returns a state for such currents as one tensor, and its tree, taken once from a call of
        one step."""
        kind = currents.shape[1:], currents.dtype
        if kind not in self.forms:
            with torch.no_grad():
                leaves, form = tree_flatten(self.scan(currents[:1].detach(), None)[1])
            self.forms[kind] = torch.stack(leaves), form
        return self.forms[kind]


class MeanOfAll(nn.Module):
    """The mean over the time steps of all ranks. All ranks compute the nodes after it alike, each
    for its share of the loss."""

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
    """Returns the scan of a neuron. Raises Unsupported if it takes no state."""
    if isinstance(neuron, TimeLoop):
        return lambda currents, state: neuron.scan(currents, state)
    if isinstance(neuron, LIF) and not neuron.kind:
        stateful = LIF(neuron.spec, return_state=True, backend=neuron.backend)
        return lambda currents, state: stateful(currents, state)[:2]
    if isinstance(neuron, RecurrentLIF):
        return lambda currents, state: neuron.run(currents, state)[:2]
    raise Unsupported(
        "its neuron starts at rest: no state goes in, so that ranks cannot share its time steps"
    )


def hand_on(network: TorchNetwork, rank: int, count: int, steps: int) -> Post:
    """Makes every neuron start where the rank before ended, and means over time cover all
    `steps`."""
    post = Post()

    def handed_on(neuron: nn.Module, tag: int) -> HandedOn:
        ranks = rank - 1, rank + 1
        return HandedOn(
            neuron,
            *(Neighbour(post, other, tag) if 0 <= other < count else None for other in ranks),
        )

    parts = []
    for tag, part in enumerate(network.parts):
        if any(network.network.node(name).kind == "mean_time" for name in part.nodes):
            part = replace(part, module=MeanOfAll(steps))
        elif part.neuron is not None:
            if isinstance(part.module, TimeLoop | LIF | RecurrentLIF):
                part = replace(part, module=handed_on(part.module, tag))
            else:
                (place,) = [
                    name
                    for name, child in part.module.named_children()
                    if isinstance(child, TimeLoop | LIF)
                ] or [None]
                if place is None:
                    raise Unsupported(
                        "its neuron stands within another module, into which no state goes"
                    )
                setattr(part.module, place, handed_on(getattr(part.module, place), tag))
        parts.append(part)
    network.parts = tuple(parts)
    return post
