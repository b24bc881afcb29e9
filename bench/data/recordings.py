"""Recordings of events, independent of their file format."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..common.mistakes import ConfigError
from ..core.datasets import DataSet


class Events(NamedTuple):
    """A recording's events in order of time: unrounded microseconds as float64, and coordinates as
    int64, each (events,). A row of channels has no `y` and no polarities `p`."""

    t: np.ndarray
    x: np.ndarray
    y: np.ndarray | None = None
    p: np.ndarray | None = None


class Recordings(ABC):
    """The recordings of one split at `path`. Raises ConfigError for unreadable or incomplete files;
    the message names the file, and the data set or the recording in it."""

    def __init__(self, data: DataSet, path: Path) -> None:
        self.data, self.path = data, path

    labels: np.ndarray
    """Classes (recordings,), int64."""
    unit: str
    unit_us: float
    """The unit of times in its files, and its microseconds."""

    def __len__(self) -> int:
        return len(self.labels)

    @abstractmethod
    def one(self, number: int) -> Events:
        """Returns the events of a recording."""

    def events(self, count: int) -> Iterator[Events]:
        """Yields the events of the first `count` recordings."""
        return map(self.one, range(count))

    @abstractmethod
    def place(self, number: int) -> str:
        """Returns words for a recording: its file, and its number there."""

    @abstractmethod
    def files(self, count: int) -> list[Path]:
        """Returns the files that hold the first `count` recordings."""

    def _checked(self, events: Events, where: str) -> Events:
        """Returns the events. Raises ConfigError if one lies outside the sensor; `where` names the
        recording."""
        for name, values, size in zip("xyp", events[1:], self.data.sensor, strict=True):
            if values is not None and len(values) and not 0 <= values.min() <= values.max() < size:
                wrong = values.min() if values.min() < 0 else values.max()
                raise ConfigError(
                    f"{where} has an event at {name} = {wrong}: the sensor of {self.data.name} has "
                    f"{size}"
                )
        return events
