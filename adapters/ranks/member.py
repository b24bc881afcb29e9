"""The program of one rank: an adapter's own program of its part of the case, with sums over all
ranks where all must be alike."""

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
class RankMember:
    """A rank's program, and the items of the whole that it computes."""

    program: Any
    items: slice
    post: Post | None = None

    def waited(self) -> float | None:
        """Seconds of waiting for states since the last call; None where none are handed on."""
        if self.post is None:
            return None
        seconds, self.post.waited = self.post.waited, 0.0
        return seconds


def member_of(adapter: Adapter, case: Case, network: Network, rank: int) -> RankMember:
    size = SIZE[case.parallel]
    count = getattr(case, size)
    items = parts(count, case.ranks)[rank]
    size_of_part = items.stop - items.start
    # `parallel` stays: a fused layer may have no place for a state.
    part: Any = {"ranks": ABSENT, size: size_of_part}
    program = adapter.program(replace(case, **part), network)
    if not isinstance(program, TorchProgram):
        raise Unsupported(f"{adapter.name} has a program of its own, which ranks cannot share")
    post = hand_on(program.network, rank, case.ranks, count) if case.parallel == "time" else None
    share(program, size_of_part / count if case.parallel == "data" else 1 / case.ranks)
    return RankMember(program, items, post)


def share(program: TorchProgram, share: float) -> None:
    """Makes `program` a part of the whole: statistics of norms are over all ranks, and gradients of
    parameters are summed. The loss of a rank, of its own items or, after a mean over time, the same
    in all, counts by its `share`."""
    synchronise(program.network, dist.group.WORLD)
    if program.leaves:
        # torch announces a successor of broadcast_buffers.
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            wrapped = DistributedDataParallel(program.network, broadcast_buffers=False)
        wrapped.register_comm_hook(None, summed)
        program.forward_function = wrapped
    if (mean := program.trainer.loss) is not None:
        program.trainer.loss = lambda output, labels: mean(output, labels) * share


def summed(state: None, bucket: dist.GradBucket) -> Future[Tensor]:
    """Sums gradients in place of DistributedDataParallel's average, which would weight parts of any
    size alike."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda future: future.value()[0])
