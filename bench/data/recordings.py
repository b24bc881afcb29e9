"""What is read of recordings, whatever the form of their files."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..common.mistakes import ConfigError
from ..core.datasets import DataSet


class Events(NamedTuple):
    """A recording's events in the order of time: microseconds as float64, not rounded, and
    coordinates as int64, each (events,). A row of channels has no `y` and no polarities `p`."""

    t: np.ndarray
    x: np.ndarray
    y: np.ndarray | None = None
    p: np.ndarray | None = None


class Recordings(ABC):
    """The recordings of one split at `path`. Raises ConfigError for what cannot be read, or lacks
    what it must hold; the message names the file, and the data set or the recording in it."""

    def __init__(self, data: DataSet, path: Path) -> None:
        self.data, self.path = data, path

    labels: np.ndarray
    """Classes (recordings,), int64."""

    def __len__(self) -> int:
        return len(self.labels)

    @abstractmethod
    def one(self, number: int) -> Events:
        """The events of a recording."""

    def events(self, count: int) -> Iterator[Events]:
        """Those of the first `count` recordings, one after the other."""
        return map(self.one, range(count))

    @abstractmethod
    def files(self, count: int) -> list[Path]:
        """The files in which the first `count` recordings lie."""

    def _checked(self, events: Events, where: str) -> Events:
        """Events that lie on the sensor. `where` names the recording."""
        for name, values, size in zip("xyp", events[1:], self.data.sensor, strict=True):
            if values is not None and len(values) and not 0 <= values.min() <= values.max() < size:
                wrong = values.min() if values.min() < 0 else values.max()
                raise ConfigError(
                    f"{where} has an event at {name} = {wrong}: the sensor of {self.data.name} has {size}"
                )
        return events
