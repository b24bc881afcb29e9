"""Epochs of the workload `data`: the order of their recordings, and the batch that is judged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..core.case import Case
from ..data.epoch import Epoch
from .phases import Draw, Phase, draw_of

Deliver = Callable[[Epoch], Iterator[tuple[Any, Any]]]
"""Maps an epoch to its batches of frames and labels."""


@dataclass
class Delivered:
    """One batch of an epoch, None if the epoch ended before it, and the number of batches."""

    frames: Any
    labels: Any
    batches: int


def batches_of(case: Case) -> int:
    """Number of whole batches in an epoch."""
    return case.samples // case.batch


def epoch_of(case: Case, draw: Draw) -> Epoch:
    return Epoch.drawn(case.samples, case.augment, draw.turn)


def watched_by(case: Case, draw: Draw) -> int:
    """Number of the batch that is judged. A strategy cannot predict it."""
    return draw.upstream % batches_of(case)


class Epochs:
    """The phase of a case that delivers data: a call is an epoch. `seed` is that of the draws,
    like `Phases.seed`."""

    def __init__(self, case: Case, deliver: Deliver, seed: int) -> None:
        self.case, self.deliver, self.seed = case, deliver, seed
        self.phase = Phase(self._drawn, self._call, repeatable=True)

    def _drawn(self, index: int) -> tuple[Epoch, int]:
        draw = draw_of(self.seed, index, "step")
        return epoch_of(self.case, draw), watched_by(self.case, draw)

    def _call(self, drawn: tuple[Epoch, int]) -> Delivered:
        epoch, watched = drawn
        kept = Delivered(None, None, 0)
        for frames, labels in self.deliver(epoch):
            if kept.batches == watched:
                kept.frames, kept.labels = frames, labels
            kept.batches += 1
        return kept
