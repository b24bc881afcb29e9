"""Which reader a data set's files have."""

from collections.abc import Callable
from pathlib import Path

from ..common.mistakes import ConfigError
from ..core.datasets import DataSet, form_of
from .event_files import Gestures, Saccades
from .recordings import Recordings
from .sounds import Sounds

READERS: dict[str, Callable[[DataSet, Path], Recordings]] = {
    "ssc": Sounds,
    "shd": Sounds,
    "nmnist": Saccades,
    "dvsgesture": Gestures,
}


def opened(dataset: str, folder: Path, samples: int) -> Recordings:
    """The recordings of the training split of `dataset` below `folder`, at least so many. Raises
    ConfigError."""
    data = form_of(dataset)
    recordings = READERS[data.name](data, data.file(folder))
    if len(recordings) < samples:
        raise ConfigError(
            f"{recordings.path}: has {len(recordings):,} recordings, and grid.samples asks for {samples:,}"
        )
    return recordings
