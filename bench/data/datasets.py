"""The data sets whose files can be made and read: what they hold, and where tonic looks for them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DataSet:
    """`splits` are files (or folders) by split below the folder `folder`, `sensor` is (x, y, polarities), `events` the median
    number of events in a recording, `spread` the standard deviation of its logarithm, `seconds` the shortest and the longest
    recording."""

    name: str
    folder: str
    splits: dict[str, str]
    classes: int
    sensor: tuple[int, int, int]
    events: int
    spread: float
    seconds: tuple[float, float]

    def file(self, folder: Path, split: str = "train") -> Path:
        """The file of a split below `folder`, which is what tonic calls save_to."""
        return folder / self.folder / self.splits[split]


SYNTHETIC = "synthetic-"
"""The name of a data set begins with this where its recordings are our own."""
CHANNELS = 100
"""Of the frames of sounds: 700 channels of the cochlea, seven by seven."""
LONGEST_US = 1_000_000
"""Of a recording the frames show its first second, as the pipeline of the data sets' users does: 0 ≤ t ≤ 1,000,000 µs."""


def window_us(steps: int) -> int:
    """Microseconds of a frame, of which a recording has at most `steps`."""
    return -(-LONGEST_US // steps)


def name_of(dataset: str) -> str:
    """The data set whose form the files of `dataset` have: `ssc` of `synthetic-ssc`."""
    return dataset.removeprefix(SYNTHETIC)


SOUNDS = (700, 1, 1)
DATA_SETS = {
    each.name: each
    for each in (
        # Cramer et al. 2022. Events of SSC: 2.65 GB at 4 bytes for each of 105,829 recordings; of SHD likewise longer ones.
        DataSet("ssc", "SSC", {s: f"ssc_{s}.h5" for s in ("train", "valid", "test")}, 35, SOUNDS, 6200, 0.35, (0.8, 1.2)),
        DataSet("shd", "SHD", {s: f"shd_{s}.h5" for s in ("train", "test")}, 20, SOUNDS, 7600, 0.35, (0.4, 1.2)),
        # Orchard et al. 2015: three saccades of a tenth of a second each.
        DataSet("nmnist", "NMNIST", {"train": "Train", "test": "Test"}, 10, (34, 34, 2), 4100, 0.25, (0.3, 0.32)),
        # Amir et al. 2017, in the form that tonic downloads: one file for each gesture, times in milliseconds.
        DataSet(
            "dvsgesture",
            "DVSGesture",
            {"train": "ibmGestureTrain", "test": "ibmGestureTest"},
            11,
            (128, 128, 2),
            300_000,
            0.4,
            (5.0, 7.0),
        ),
    )
}
FRAMED = [f"{kind}{name}" for kind in (SYNTHETIC, "") for name, each in DATA_SETS.items() if each.sensor == SOUNDS]
"""The data sets that cases can be of."""
