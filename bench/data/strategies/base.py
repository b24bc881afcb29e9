"""The base class of strategies.

To add a strategy: a subclass in `frames_strategies.py` or, of tonic, in `tonic_strategies.py`, its
name in `frames.py` or `tonic.py` (twice; with the trait `loader` if it uses torch's DataLoader),
and a line in `docs/data.md`. Tests and reports find it by that name.
"""

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...core.case import Case
from ...core.datasets import form_of
from ..epoch import Epoch

Batch = tuple[Tensor, Tensor]
"""Frames (B, T, channels), float32 counts of events, and labels (B,), int64, both on the case's
device."""


class Strategy(ABC):
    """Delivers the first `case.samples` recordings of the training split below `folder` as batches.
    `cache` is a folder for this case, shared by the blocks of a run: a later block may find what an
    earlier one has built."""

    def __init__(self, case: Case, folder: Path, cache: Path) -> None:
        self.case, self.folder, self.cache = case, folder, cache
        self.data = form_of(case.dataset)
        self.shape = (case.time_steps, self.data.channels)
        self.device = torch.device(case.device)

    def build(self) -> None:
        """Builds whatever stays from epoch to epoch."""
        return

    @abstractmethod
    def epoch(self, epoch: Epoch) -> Iterator[Batch]:
        """Yields batches of `case.batch` recordings; an incomplete last batch is dropped."""

    def disk_bytes(self) -> int:
        """Bytes of the files that an epoch reads."""
        return 0

    def host_bytes(self) -> int:
        """Bytes kept in host memory from epoch to epoch, without frames in transit."""
        return 0

    def device_bytes(self) -> int:
        """Bytes kept in the device's memory, which on a CPU is the host's."""
        return 0

    def filled(self, frames: Tensor) -> Tensor:
        """Returns frames (B, t, …) as (B, T, channels), padded with zeros from t to T."""
        flat = frames.reshape(len(frames), frames.shape[1], self.shape[1])
        return torch.nn.functional.pad(flat, (0, 0, 0, self.shape[0] - frames.shape[1]))

    def resident(
        self, epoch: Epoch, batch: Callable[[Tensor, Tensor | None], Batch]
    ) -> Iterator[Batch]:
        """Yields the batches of a strategy that keeps everything on the device. `batch` makes one
        from the numbers (B,) of its recordings and their shifts (B,), None without augmentation."""
        size = self.case.batch
        numbers = torch.tensor(epoch.numbers, device=self.device).split(size)
        shifts = (
            torch.tensor(epoch.shifts, dtype=torch.int32, device=self.device).split(size)
            if epoch.shifts
            else [None] * len(numbers)
        )
        for chosen, by in zip(numbers, shifts, strict=True):
            if len(chosen) == size:
                yield batch(chosen, by)

    @property
    def processes(self) -> dict[str, Any]:
        """Arguments of a DataLoader with the case's processes. They are forked, as by default
        before Python 3.14, so that they share what is in memory."""
        forked = {"multiprocessing_context": "fork"} if self.case.loaders else {}
        return {"num_workers": self.case.loaders, "pin_memory": self.case.pinned, **forked}

    def built_once(self, name: str, write: Callable[[Path], Any]) -> Path:
        """Returns the folder `name` in the cache, made by `write` unless it exists. It appears
        whole or not at all: neither an error nor a kill leaves a partial folder of that name."""
        path, unfinished = self.cache / name, self.cache / f"{name}.unfinished"
        if not path.exists():
            shutil.rmtree(unfinished, ignore_errors=True)
            try:
                write(unfinished)
                os.replace(unfinished, path)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
        return path


def bytes_below(path: Path) -> int:
    """Returns the bytes of a file, or of all files below a folder."""
    return sum(
        each.stat().st_size
        for each in ([path] if path.is_file() else path.rglob("*"))
        if each.is_file()
    )
