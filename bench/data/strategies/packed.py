"""A bit for each count on the device, and a list of what counts hold beyond one: see
`snnbench.kernels.events`."""

from collections.abc import Iterator

import torch
from torch import Tensor

from snnbench.kernels.events import PackedFrames

from ..epoch import Epoch
from .counted import Counted
from .strategy import Batch


class Packed(Counted):
    """Exact counts in a quarter of the memory of uint8."""

    def build(self) -> None:
        frames = (torch.from_numpy(one).view(-1, *self.data.features) for one in self.counts())
        self.frames = PackedFrames(frames, self.shape[0]).to(self.device)

    def epoch(self, epoch: Epoch) -> Iterator[Batch]:
        return self.resident(epoch, self._batch)

    def _batch(self, chosen: Tensor, by: Tensor | None) -> Batch:
        return self.frames.batch(chosen, by).view(-1, *self.shape), self.labels[chosen]

    def device_bytes(self) -> int:
        return self.frames.bytes + self.labels.nbytes
