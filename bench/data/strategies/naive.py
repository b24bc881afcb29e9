"""Every access opens the file, reads a recording's events and makes frames of them, as tonic's documentation begins."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from tonic import collation, datasets, transforms
from torch.utils.data import DataLoader

from ..datasets import CHANNELS, DATA_SETS, LONGEST_US, name_of, window_us
from ..epoch import Epoch
from .shift import Augmented, keys
from .strategy import Batch, Strategy, bytes_below


class Naive(Strategy):
    """tonic's data set behind torch's DataLoader, with the pipeline of the known comparison of caches."""

    @cached_property
    def recordings(self) -> Any:
        """tonic's data set, whose items are frames (t, 1, channels), int16, and labels."""
        data = DATA_SETS[name_of(self.case.dataset)]
        frames = transforms.ToFrame(
            sensor_size=(CHANNELS, 1, 1), time_window=window_us(self.case.time_steps), include_incomplete=True
        )
        steps = [transforms.Downsample(spatial_factor=CHANNELS / data.sensor[0]), transforms.CropTime(max=LONGEST_US), frames]
        given = {"split": "train"} if data.name == "ssc" else {"train": True}
        return getattr(datasets, data.name.upper())(str(self.folder), transform=transforms.Compose(steps), **given)

    @property
    def items(self) -> Any:
        """What the DataLoader takes recordings from."""
        return self.recordings

    def epoch(self, epoch: Epoch) -> Iterator[Batch]:
        loader = DataLoader(
            Augmented(self.items) if self.case.augment else self.items,
            self.case.batch,
            sampler=keys(epoch),
            drop_last=True,
            num_workers=self.case.loaders,
            pin_memory=self.case.pinned,
            collate_fn=collation.PadTensors(batch_first=True),
        )
        for frames, labels in loader:
            frames, labels = (each.to(self.device, non_blocking=self.case.pinned) for each in (frames, labels))
            yield self.filled(frames), labels

    def disk_bytes(self) -> int:
        return bytes_below(DATA_SETS[name_of(self.case.dataset)].file(self.folder))
