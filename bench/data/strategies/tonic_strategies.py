"""tonic's strategies: reading at every access, as its documentation begins, and its caches."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from tonic import DiskCachedDataset, MemoryCachedDataset, collation, datasets, transforms
from torch import Tensor
from torch.utils.data import DataLoader

from .. import full_disk
from ..epoch import Epoch
from ..event_files import EventFiles, Gestures, Saccades
from ..reading import opened
from .base import Batch, Strategy, bytes_below
from .shift import Augmented, keys, shifted

CAMERAS: dict[str, tuple[type, type[EventFiles]]] = {
    "nmnist": (datasets.NMNIST, Saccades),
    "dvsgesture": (datasets.DVSGesture, Gestures),
}
"""tonic's data sets of cameras, each with the reader that defines the order of its files."""


def unchecked(dataset: type) -> type:
    """Returns a class of tonic that neither counts files nor looks for the archive they came in:
    for either it would download the whole data set. tonic looks for a folder with the class's
    name."""
    return type(dataset.__name__, (dataset,), {"_check_exists": lambda self: True})


class Naive(Strategy):
    """tonic's data set with torch's DataLoader: every access opens the file, reads a recording's
    events and makes frames of them. The pipeline is that of the known comparison of caches.
    Recordings of cameras keep their pixels."""

    @cached_property
    def recordings(self) -> Any:
        """tonic's data set of frames (t, polarities, [y,] x), int16, and labels."""
        data = self.data
        sensor = (data.channels, 1, 1) if data.is_sound else data.sensor
        window = data.window_us(self.case.time_steps)
        frames = transforms.ToFrame(sensor_size=sensor, time_window=window, include_incomplete=True)
        steps = [transforms.CropTime(max=data.longest_us), frames]
        if not data.is_sound:
            return self._of_a_camera(transforms.Compose(steps))
        fewer = transforms.Downsample(spatial_factor=data.channels / data.sensor[0])
        split = {"split": "train"} if data.name == "ssc" else {"train": True}
        dataset = unchecked(getattr(datasets, data.name.upper()))
        return dataset(str(self.folder), transform=transforms.Compose([fewer, *steps]), **split)

    def _of_a_camera(self, steps: Any) -> Any:
        """Returns tonic's data set with its files in the order of the project's readers; tonic does
        not sort all of them."""
        dataset, reader = CAMERAS[self.data.name]
        items = unchecked(dataset)(str(self.folder), train=True, transform=steps)
        pairs = sorted(
            zip(items.data, items.targets, strict=True),
            key=lambda pair: reader.order(Path(pair[0])),
        )
        items.data, items.targets = ([*column] for column in zip(*pairs, strict=True))
        return items

    @property
    def items(self) -> Any:
        return self.recordings

    def epoch(self, epoch: Epoch) -> Iterator[Batch]:
        loader = DataLoader(
            Augmented(self.items) if self.case.augment else self.items,
            self.case.batch,
            sampler=keys(epoch),
            drop_last=True,
            **self.processes,
            collate_fn=collation.PadTensors(batch_first=True),
        )
        for frames, labels in loader:
            frames, labels = (
                each.to(self.device, non_blocking=self.case.pinned) for each in (frames, labels)
            )
            yield self.filled(frames), labels

    def disk_bytes(self) -> int:
        return sum(
            map(
                bytes_below,
                opened(self.case.dataset, self.folder, self.case.samples).files(self.case.samples),
            )
        )


class DiskCache(Naive):
    """tonic's `DiskCachedDataset`: the frames of each recording in a compressed HDF5 file. tonic
    trusts any file in a cache, so it is filled elsewhere and moved when it is complete."""

    @cached_property
    def items(self) -> Any:
        return DiskCachedDataset(
            self.recordings, cache_path=str(self.built_once("frames", self._fill))
        )

    def build(self) -> None:
        self.built_once("frames", self._fill)

    def _fill(self, path: Path) -> None:
        cached = DiskCachedDataset(self.recordings, cache_path=str(path))
        # Incompressible int16, and HDF5's own structures.
        most = self.shape[0] * self.shape[1] * 2 * 17 // 16 + (1 << 16)
        for number in range(self.case.samples):
            full_disk.ensure_room(path, most)
            cached[number]

    def disk_bytes(self) -> int:
        return bytes_below(self.cache / "frames")


class MemoryCache(Naive):
    """tonic's `MemoryCachedDataset`: the frames of each recording in host memory, as int16. Filled
    before the first epoch, so that the DataLoader's processes share it instead of filling one
    each."""

    @cached_property
    def items(self) -> Any:
        return MemoryCachedDataset(self.recordings)

    def build(self) -> None:
        for number in range(self.case.samples):
            self.items[number]

    def disk_bytes(self) -> int:
        return 0

    def host_bytes(self) -> int:
        return sum(frames.nbytes for frames, _ in self.items.samples_dict.values())


class Coo(Naive):
    """The cache of the known comparison: frames as sparse COO tensors on the device, made dense in
    the loop. A list of coalesced tensors, (t, channels) of sounds and (t, polarities, y, x) of
    cameras, and of labels as uint8, made of padded batches, behind a DataLoader."""

    def build(self) -> None:
        self.cached: list[tuple[Tensor, Tensor]] = []
        loader = DataLoader(
            self.recordings,
            self.case.batch,
            sampler=range(self.case.samples),
            collate_fn=collation.PadTensors(batch_first=True),
        )
        for frames, labels in loader:
            for frame, label in zip(frames, labels, strict=True):
                sparse = frame.squeeze(1).to_sparse().coalesce()
                self.cached.append((sparse.to(self.device), label.byte().to(self.device)))

    def epoch(self, epoch: Epoch) -> Iterator[Batch]:
        loader = DataLoader(
            self.cached,
            self.case.batch,
            sampler=epoch.numbers,
            drop_last=True,
            collate_fn=collation.PadTensors(batch_first=True),
        )
        for number, (sparse, labels) in enumerate(loader):
            frames = self.filled(sparse.to_dense())
            if shifts := epoch.part(number, self.case.batch).shifts:
                by = torch.tensor(shifts, device=self.device)
                frames = shifted(frames, by, self.data.features[-1])
            yield frames, labels.long().to(self.device)

    def disk_bytes(self) -> int:
        return 0

    def device_bytes(self) -> int:
        return sum(
            part.nbytes
            for frames, label in self.cached
            for part in (frames.indices(), frames.values(), label)
        )
