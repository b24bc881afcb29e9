"""The program of one rank: an adapter's own, of its part of the case, in which what all must have
alike is reduced over all."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch.distributed as dist
from torch import Tensor
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from snnbench.core.case import ABSENT, Case
from snnbench.core.contract import Adapter, Unsupported
from snnbench.core.network import Network
from snnbench.core.sharded import SIZE, parts

from ..base.torch_program import TorchProgram
from .norms import synchronise
from .time import Post, hand_on


@dataclass
class Member:
    """A rank's program, and which items of the whole are its own."""

    program: Any
    own: slice
    post: Post | None = None

    def waited(self) -> float | None:
        """Seconds of waiting for states since this was asked last; None where none are handed
        on."""
        if self.post is None:
            return None
        seconds, self.post.waited = self.post.waited, 0.0
        return seconds


def member_of(adapter: Adapter, case: Case, network: Network, rank: int) -> Member:
    """The part of a rank of `case`, which has `ranks`."""
    size = SIZE[case.parallel]
    count = getattr(case, size)
    own = parts(count, case.ranks)[rank]
    steps = own.stop - own.start
    alone: Any = {
        "ranks": ABSENT,
        size: steps,
    }  # `parallel` stays: a fused layer may have no place for a state
    program = adapter.program(replace(case, **alone), network)
    if not isinstance(program, TorchProgram):
        raise Unsupported(f"{adapter.name} has a program of its own, which ranks cannot share")
    post = hand_on(program.network, rank, case.ranks, count) if case.parallel == "time" else None
    share(program, steps / count if case.parallel == "data" else 1 / case.ranks)
    return Member(program, own, post)


def share(program: TorchProgram, share: float) -> None:
    """Make `program` a part of the whole: statistics of norms are of all ranks, and gradients of
    parameters are summed. The loss of a rank, of its own items or, behind a mean over time, the
    same in all, counts by its `share`."""
    synchronise(program.network, dist.group.WORLD)
    if program.leaves:
        with warnings.catch_warnings(
            action="ignore", category=FutureWarning
        ):  # of what replaces broadcast_buffers, not yet
            wrapped = DistributedDataParallel(program.network, broadcast_buffers=False)
        wrapped.register_comm_hook(None, summed)
        program.called = wrapped
    if (mean := program.trainer.loss) is not None:
        program.trainer.loss = lambda output, labels: mean(output, labels) * share


def summed(state: None, bucket: dist.GradBucket) -> Future[Tensor]:
    """In place of DistributedDataParallel's average, in which parts of any size would count
    alike."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda future: future.value()[0])
