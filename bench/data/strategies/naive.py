"""Every access opens the file, reads a recording's events and makes frames of them, as tonic's
documentation begins."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from tonic import collation, datasets, transforms
from torch.utils.data import DataLoader

from ..epoch import Epoch
from ..event_files import EventFiles, Gestures, Saccades
from ..reading import opened
from .shift import Augmented, keys
from .strategy import Batch, Strategy, bytes_below

CAMERAS: dict[str, tuple[type, type[EventFiles]]] = {
    "nmnist": (datasets.NMNIST, Saccades),
    "dvsgesture": (datasets.DVSGesture, Gestures),
}
"""tonic's data sets of cameras, and who knows the order of their files."""


class Naive(Strategy):
    """tonic's data set behind torch's DataLoader, with the pipeline of the known comparison of
    caches. Recordings of cameras keep their pixels."""

    @cached_property
    def recordings(self) -> Any:
        """tonic's data set, whose items are frames (t, polarities, [y,] x), int16, and labels."""
        data, sensor = (
            self.data,
            (self.data.channels, 1, 1) if self.data.is_sound else self.data.sensor,
        )
        window = data.window_us(self.case.time_steps)
        frames = transforms.ToFrame(sensor_size=sensor, time_window=window, include_incomplete=True)
        steps = [transforms.CropTime(max=data.longest_us), frames]
        if not data.is_sound:
            return self._of_a_camera(transforms.Compose(steps))
        fewer = transforms.Downsample(spatial_factor=data.channels / data.sensor[0])
        given = {"split": "train"} if data.name == "ssc" else {"train": True}
        return getattr(datasets, data.name.upper())(
            str(self.folder), transform=transforms.Compose([fewer, *steps]), **given
        )

    def _of_a_camera(self, steps: Any) -> Any:
        """tonic's class, in which nothing but its count of files is skipped: it would fetch the
        whole data set where ours is smaller. Its order of files is that of the folder where it does
        not sort."""
        of, order = CAMERAS[self.data.name]
        uncounted = type(
            of.__name__, (of,), {"_check_exists": lambda self: True}
        )  # it looks for a folder of its own name
        items = uncounted(str(self.folder), train=True, transform=steps)
        pairs = sorted(
            zip(items.data, items.targets, strict=True), key=lambda pair: order.place(Path(pair[0]))
        )
        items.data, items.targets = ([*column] for column in zip(*pairs, strict=True))
        return items

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
