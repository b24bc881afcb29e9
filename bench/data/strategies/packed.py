"""A bit for each count on the device, and a list of what counts hold beyond one: see `snnbench.kernels.events`."""

from collections.abc import Iterator

import torch

from snnbench.kernels.events import PackedFrames

from ..epoch import Epoch
from .counted import Counted
from .strategy import Batch


class Packed(Counted):
    """Exact counts in a quarter of the memory of uint8."""

    def build(self) -> None:
        self.frames = PackedFrames(map(torch.from_numpy, self.counts()), self.shape[0]).to(self.device)

    def epoch(self, epoch: Epoch) -> Iterator[Batch]:
        return self.resident(epoch, lambda chosen, by: (self.frames.batch(chosen, by), self.labels[chosen]))

    def device_bytes(self) -> int:
        return self.frames.bytes + self.labels.nbytes
