"""Data sets: what their files hold, where tonic looks for them, and how they become frames."""

from dataclasses import dataclass
from math import prod
from pathlib import Path


@dataclass(frozen=True)
class DataSet:
    """`splits` are files (or folders) by split below the folder `folder`, `sensor` is (x, y,
    polarities), `recordings` the number of the published training split, `events` the median
    number of events in a recording, `spread` the standard deviation of its logarithm, `seconds` the
    shortest and the longest recording. Frames show events with 0 ≤ t ≤ `longest_us`, as counts of
    the shape `features`."""

    name: str
    folder: str
    splits: dict[str, str]
    classes: int
    sensor: tuple[int, int, int]
    recordings: int
    events: int
    spread: float
    seconds: tuple[float, float]
    longest_us: int
    features: tuple[int, ...]

    def file(self, folder: Path, split: str = "train") -> Path:
        """Returns the file (or folder) of a split below `folder`, tonic's save_to."""
        return folder / self.folder / self.splits[split]

    def window_us(self, steps: int) -> int:
        """Returns the microseconds of a frame if a recording has at most `steps` frames."""
        return -(-self.longest_us // steps)

    @property
    def channels(self) -> int:
        """Counts of a frame."""
        return prod(self.features)

    @property
    def is_sound(self) -> bool:
        """True if its sensor is a row of channels, false if it is a camera with two polarities."""
        return self.sensor[1] == 1


SYNTHETIC = "synthetic-"
"""Prefix of data sets with recordings of ours."""
SOUNDS, SOUND_FRAMES = (700, 1, 1), (100,)
"""Seven channels of the cochlea become one."""

DATA_SETS = {
    each.name: each
    for each in (
        # Cramer et al. 2022. Events of SSC: 2.65 GB at 4 bytes for 105,829 recordings; those of SHD
        # are longer. Their users look at the first second.
        DataSet(
            "ssc",
            folder="SSC",
            splits={split: f"ssc_{split}.h5" for split in ("train", "valid", "test")},
            classes=35,
            sensor=SOUNDS,
            recordings=75_466,
            events=6200,
            spread=0.35,
            seconds=(0.8, 1.2),
            longest_us=1_000_000,
            features=SOUND_FRAMES,
        ),
        DataSet(
            "shd",
            folder="SHD",
            splits={split: f"shd_{split}.h5" for split in ("train", "test")},
            classes=20,
            sensor=SOUNDS,
            recordings=8_156,
            events=7600,
            spread=0.35,
            seconds=(0.4, 1.2),
            longest_us=1_000_000,
            features=SOUND_FRAMES,
        ),
        # Orchard et al. 2015: three saccades of a tenth of a second each.
        DataSet(
            "nmnist",
            folder="NMNIST",
            splits={"train": "Train", "test": "Test"},
            classes=10,
            sensor=(34, 34, 2),
            recordings=60_000,
            events=4100,
            spread=0.25,
            seconds=(0.3, 0.32),
            longest_us=300_000,
            features=(2, 34, 34),
        ),
        # Amir et al. 2017, as tonic downloads it: one file a gesture, times in milliseconds.
        # Shrestha and Orchard 2018 look at the first second and a half.
        DataSet(
            "dvsgesture",
            folder="DVSGesture",
            splits={"train": "ibmGestureTrain", "test": "ibmGestureTest"},
            classes=11,
            sensor=(128, 128, 2),
            recordings=1_077,
            events=300_000,
            spread=0.4,
            seconds=(5.0, 7.0),
            longest_us=1_500_000,
            features=(2, 128, 128),
        ),
    )
}
FRAMED = [f"{kind}{name}" for kind in (SYNTHETIC, "") for name in DATA_SETS]
"""Data sets that a case may name."""


def form_of(dataset: str) -> DataSet:
    """Returns the data set with the file format of `dataset`: `ssc` for `synthetic-ssc`."""
    return DATA_SETS[dataset.removeprefix(SYNTHETIC)]
