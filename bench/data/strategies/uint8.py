"""Dense counts of all recordings on the device, a byte each: a batch is one indexing."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from ..epoch import Epoch
from .counted import Counted
from .shift import shifted
from .strategy import Batch


class Uint8(Counted):
    """Counts (N, T, channels) as uint8."""

    def build(self) -> None:
        frames = np.zeros((self.case.samples, *self.shape), np.uint8)
        self.dense(self.counts(), frames)
        self.frames = torch.from_numpy(frames).to(self.device)

    def epoch(self, epoch: Epoch) -> Iterator[Batch]:
        return self.resident(epoch, self._batch)

    def _batch(self, chosen: Tensor, by: Tensor | None) -> Batch:
        frames = self.frames.index_select(0, chosen)
        return (
            frames if by is None else shifted(frames, by, self.data.features[-1])
        ).float(), self.labels[chosen]

    def device_bytes(self) -> int:
        return self.frames.nbytes + self.labels.nbytes
