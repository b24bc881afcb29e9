"""This project's strategies: all recordings of an epoch as counts, read in large pieces and binned
without a structured array."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from snnbench.kernels.events import PackedFrames

from ...core.contract import Unsupported
from ..epoch import Epoch
from ..reading import opened
from ..recordings import Events
from .base import Batch, Strategy, bytes_below
from .shift import keys, shifted

MOST = 255


class Counted(Strategy):
    """A strategy that keeps counts. `labels` (N,), int64, are on the device."""

    labels: Tensor

    def counts(self) -> Iterator[np.ndarray]:
        """Yields the frames (t, channels) of the recordings, int64. Sets `labels`."""
        recordings = opened(self.case.dataset, self.folder, self.case.samples)
        self.labels = torch.from_numpy(recordings.labels[: self.case.samples]).to(self.device)
        for events in recordings.events(self.case.samples):
            yield self.frames_of(events.t.astype(np.int64), self.places(events))

    def places(self, events: Events) -> np.ndarray:
        """Returns the index in a flat frame at which each event is counted: int64 (events,)."""
        if events.y is None or events.p is None:
            return (events.x * (self.shape[1] / self.data.sensor[0])).astype(np.int64)
        _, height, width = self.data.features
        return (events.p * height + events.y) * width + events.x

    def frames_of(self, t: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Returns counts (t, channels), int64, of events at `t` microseconds, ascending, and at
        `places` of a frame, both int64; equal to the oracle's."""
        window, channels = self.data.window_us(self.shape[0]), self.shape[1]
        first, last = np.searchsorted(t, (0, self.data.longest_us + 1))
        t, places = t[first:last], places[first:last]
        if not len(t):
            return np.zeros((1, channels), np.int64)
        bins = (t - t[0]) // window
        count = max(1, -(-int(t[-1] - t[0]) // window))
        end = np.searchsorted(bins, count)
        return np.bincount(
            bins[:end] * channels + places[:end], minlength=count * channels
        ).reshape(count, channels)

    def dense(self, frames: Iterator[np.ndarray], out: np.ndarray) -> None:
        """Fills `out` (N, T, channels), zeros of type uint8, with frames. Raises Unsupported if a
        count does not fit."""
        for row, frame in zip(out, frames, strict=True):
            if frame.max(initial=0) > MOST:
                raise Unsupported(
                    f"a frame counts {frame.max()} events in one place, and uint8 holds {MOST}"
                )
            row[: len(frame)] = frame


class Uint8(Counted):
    """Dense counts (N, T, channels) of all recordings on the device, a byte each: a batch is one
    indexing."""

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


class Packed(Counted):
    """A bit for each count on the device, and a list of the counts beyond one: see
    `snnbench.kernels.events`. Exact, in a quarter of the memory of uint8."""

    def build(self) -> None:
        frames = (torch.from_numpy(one).view(-1, *self.data.features) for one in self.counts())
        self.frames = PackedFrames(frames, self.shape[0]).to(self.device)

    def epoch(self, epoch: Epoch) -> Iterator[Batch]:
        return self.resident(epoch, self._batch)

    def _batch(self, chosen: Tensor, by: Tensor | None) -> Batch:
        return self.frames.batch(chosen, by).view(-1, *self.shape), self.labels[chosen]

    def device_bytes(self) -> int:
        return self.frames.bytes + self.labels.nbytes


class Mapped(Dataset[Tensor]):
    """Counts (N, T, channels) in a file, a batch at a time. With augmentation keys are pairs of a
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
    """Dense counts of all recordings in one file, a byte each, mapped into memory: a batch is one
    read. For data sets larger than memory: the system caches what fits."""

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
            # Allocates the whole file: a full disk is an error here, and kills the process later.
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
            **self.processes,
            collate_fn=lambda batch: batch,
        )
        for frames, labels in loader:
            frames, labels = (
                each.to(self.device, non_blocking=self.case.pinned) for each in (frames, labels)
            )
            yield frames.float(), labels

    def disk_bytes(self) -> int:
        return bytes_below(self.cache / "frames")
