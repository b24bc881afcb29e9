"""Epochs of the workload `data`: the order of their recordings, and the batch that is judged."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import SystemRandom
from typing import Any

from ..core.case import Case
from ..data.epoch import Epoch
from .phases import CLOCK, Draw, Phase, draw_of

Deliver = Callable[[Epoch], Iterator[tuple[Any, Any]]]
"""Maps an epoch to its batches of frames and labels."""


@dataclass
class Delivered:
    """An epoch: copies of the frames and labels of the batch `number`, None if there was none, and
    the number of batches."""

    frames: Any
    labels: Any
    number: int
    batches: int


def batches_of(case: Case) -> int:
    """Number of whole batches in an epoch."""
    return case.samples // case.batch


def epoch_of(case: Case, draw: Draw) -> Epoch:
    return Epoch.drawn(case.samples, case.augment, draw.turn)


def plain(batch: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns a batch. Raises TypeError for tensors of a class of their own, which may make their
    values when they are read."""
    tensor = sys.modules["torch"].Tensor
    for each in batch:
        if type(each) is not tensor:
            raise TypeError(
                f"a batch must be plain tensors of torch, not a {type(each).__name__}, "
                "which may make its values later"
            )
    return batch


class Epochs:
    """The phase of a case that delivers data: a call is an epoch. `seed` is that of the draws,
    like `Phases.seed`.

    One batch is copied for the judge. It is drawn while they come, each with the same chance, so
    that no strategy can look up which: a later one may always take its place. `aside` is the
    seconds and the CPU seconds that this took in the last epoch.
    """

    def __init__(
        self,
        case: Case,
        deliver: Deliver,
        seed: int,
        clock: Any = CLOCK,
        draw: Callable[[int], int] = SystemRandom().randrange,
    ) -> None:
        self.case, self.deliver, self.seed = case, deliver, seed
        self.clock, self.draw, self.aside = clock, draw, (0.0, 0.0)
        self.phase = Phase(self._drawn, self._call, repeatable=True, aside=lambda: self.aside)

    def _drawn(self, index: int) -> Epoch:
        return epoch_of(self.case, draw_of(self.seed, index, "step"))

    def _call(self, epoch: Epoch) -> Delivered:
        kept, self.aside = Delivered(None, None, 0, 0), (0.0, 0.0)
        for batch in self.deliver(epoch):
            plain(batch)
            if self.draw(kept.batches + 1) == 0:
                self._copy(batch, kept)
            kept.batches += 1
        return kept

    def _copy(self, batch: tuple[Any, Any], kept: Delivered) -> None:
        cpu, start = self.clock.process_time(), self.clock.perf_counter()
        kept.frames, kept.labels = (each.detach().clone() for each in batch)
        kept.number = kept.batches
        wall = self.clock.perf_counter() - start
        self.aside = self.aside[0] + wall, self.aside[1] + self.clock.process_time() - cpu
