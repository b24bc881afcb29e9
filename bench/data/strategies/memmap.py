"""Dense counts of all recordings in one file, a byte each, which is mapped into memory: a batch is
one read."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ..epoch import Epoch
from .counted import Counted
from .shift import keys, shifted
from .strategy import Batch, bytes_below


class Mapped(Dataset[Tensor]):
    """Counts (N, T, channels) in a file, a batch at a time; with augmentation keys are pairs of a
    number and a shift, by which counts move in each row of `width` channels."""

    def __init__(self, frames: np.ndarray, labels: Tensor, width: int) -> None:
        self.frames, self.labels, self.width = frames, labels, width

    def __len__(self) -> int:
        return len(self.frames)

    def __getitems__(self, keys: list[Any]) -> tuple[Tensor, Tensor]:
        numbers, shifts = zip(*keys, strict=True) if isinstance(keys[0], tuple) else (keys, None)
        frames, labels = torch.from_numpy(self.frames[list(numbers)]), self.labels[list(numbers)]
        return shifted(frames, torch.tensor(shifts), self.width) if shifts else frames, labels


class Memmap(Counted):
    """For data sets that no memory holds: the system keeps in memory what it can."""

    def build(self) -> None:
        path = self.built_once("frames", self._write)
        frames = np.memmap(
            path / "frames.u8", np.uint8, "r", shape=(self.case.samples, *self.shape)
        )
        self.items = Mapped(
            frames, torch.from_numpy(np.load(path / "labels.npy")), self.data.features[-1]
        )

    def _write(self, folder: Path) -> None:
        folder.mkdir()
        shape = (self.case.samples, *self.shape)
        with open(folder / "frames.u8", "w+b") as file:
            # All of it now: a full disk is an error here, and kills the process where a mapped page
            # finds no room.
            os.posix_fallocate(file.fileno(), 0, int(np.prod(shape)))
            frames = np.memmap(file, np.uint8, "r+", shape=shape)
            self.dense(self.counts(), frames)
            frames.flush()
        np.save(folder / "labels.npy", self.labels.cpu().numpy())

    def epoch(self, epoch: Epoch) -> Iterator[Batch]:
        loader = DataLoader(
            self.items,
            self.case.batch,
            sampler=keys(epoch),
            drop_last=True,
            num_workers=self.case.loaders,
            pin_memory=self.case.pinned,
            collate_fn=lambda batch: batch,
        )
        for frames, labels in loader:
            frames, labels = (
                each.to(self.device, non_blocking=self.case.pinned) for each in (frames, labels)
            )
            yield frames.float(), labels

    def disk_bytes(self) -> int:
        return bytes_below(self.cache / "frames")
