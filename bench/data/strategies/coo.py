"""Frames as sparse COO tensors on the device, the cache of the known comparison: dense again in the
loop."""

from collections.abc import Iterator

import torch
from tonic import collation
from torch import Tensor
from torch.utils.data import DataLoader

from ..epoch import Epoch
from .naive import Naive
from .shift import shifted
from .strategy import Batch


class Coo(Naive):
    """A list of coalesced tensors, (t, channels) of sounds and (t, polarities, y, x) of cameras,
    and of labels as uint8, made of padded batches, behind a DataLoader."""

    def build(self) -> None:
        self.kept: list[tuple[Tensor, Tensor]] = []
        loader = DataLoader(
            self.recordings,
            self.case.batch,
            sampler=range(self.case.samples),
            collate_fn=collation.PadTensors(batch_first=True),
        )
        for frames, labels in loader:
            for one, label in zip(frames, labels, strict=True):
                self.kept.append(
                    (
                        one.squeeze(1).to_sparse().coalesce().to(self.device),
                        label.byte().to(self.device),
                    )
                )

    def epoch(self, epoch: Epoch) -> Iterator[Batch]:
        loader = DataLoader(
            self.kept,
            self.case.batch,
            sampler=epoch.numbers,
            drop_last=True,
            collate_fn=collation.PadTensors(batch_first=True),
        )
        for number, (kept, labels) in enumerate(loader):
            frames, shifts = (
                self.filled(kept.to_dense()),
                epoch.part(number, self.case.batch).shifts,
            )
            if shifts:
                frames = shifted(
                    frames, torch.tensor(shifts, device=self.device), self.data.features[-1]
                )
            yield frames, labels.long().to(self.device)

    def disk_bytes(self) -> int:
        return 0

    def device_bytes(self) -> int:
        kept = (
            part
            for frames, label in self.kept
            for part in (frames.indices(), frames.values(), label)
        )
        return sum(part.nbytes for part in kept)
