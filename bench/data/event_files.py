"""Reads recordings of cameras, one file each, as in tonic's archives: synthetic and real ones."""

from abc import abstractmethod
from pathlib import Path

import numpy as np

from ..common.mistakes import ConfigError
from ..core.datasets import DataSet
from .recordings import Events, Recordings

OVERFLOW_Y, OVERFLOW_US = 240, 1 << 13
"""An event in this row of N-MNIST's files delays all later ones by so many microseconds."""
LARGEST_PLACE = 1 << 31
"""No x, y or polarity is as large, and every smaller number can be cast to an integer."""


class EventFiles(Recordings):
    """The files of one folder, in the order of `order`: a folder's own order depends on the
    system."""

    suffix: str

    def __init__(self, data: DataSet, path: Path) -> None:
        super().__init__(data, path)
        if not path.is_dir():
            raise ConfigError(f"{path}: there is no such folder")
        self.paths = sorted(path.glob(f"*/*{self.suffix}"), key=self.order)
        if not self.paths:
            raise ConfigError(
                f"{path}: holds no folders with *{self.suffix} files, as those of {data.name} do"
            )
        self.labels = np.array([self._label(file) for file in self.paths], np.int64)

    @staticmethod
    @abstractmethod
    def order(path: Path) -> tuple[str, str]:
        """Returns the sort key of a file: parts of its path."""

    def place(self, number: int) -> str:
        return str(self.paths[number])

    def files(self, count: int) -> list[Path]:
        return self.paths[:count]

    def _label(self, path: Path) -> int:
        name = self._class_name(path)
        if not name.isdecimal() or int(name) >= self.data.classes:
            raise ConfigError(
                f"{path}: {name!r} must be the number of a class, 0 to {self.data.classes - 1}"
            )
        return int(name)

    @abstractmethod
    def _class_name(self, path: Path) -> str:
        """Returns the part of the path that is the class."""


class Saccades(EventFiles):
    """N-MNIST: `CLASS/NUMBER.bin`, five bytes for each event. They are in the order of MNIST's
    numbers; by class the first thousands would be zeros."""

    suffix, unit, unit_us = ".bin", "microseconds", 1.0

    @staticmethod
    def order(path: Path) -> tuple[str, str]:
        return path.name, path.parent.name

    def _class_name(self, path: Path) -> str:
        return path.parent.name

    def one(self, number: int) -> Events:
        path = self.paths[number]
        try:
            content = np.fromfile(path, np.uint8).astype(np.int64)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
        if len(content) % 5:
            raise ConfigError(
                f"{path}: is damaged: {len(content):,} bytes are no whole number of events, five "
                "bytes each"
            )
        x, y, high, middle, low = content.reshape(-1, 5).T
        t = (high & 127) << 16 | middle << 8 | low
        overflow = y == OVERFLOW_Y
        t += OVERFLOW_US * np.cumsum(overflow)
        events = Events(*(each[~overflow] for each in (t.astype(np.float64), x, y, high >> 7)))
        return self._checked(events, str(path))


class Gestures(EventFiles):
    """DVS Gesture: `USER_LIGHT/CLASS.npy`, an array (events, 4) of x, y, polarity and
    milliseconds."""

    suffix, unit, unit_us = ".npy", "milliseconds", 1e3

    @staticmethod
    def order(path: Path) -> tuple[str, str]:
        return path.parent.name, path.name

    def _class_name(self, path: Path) -> str:
        return path.stem

    def one(self, number: int) -> Events:
        path = self.paths[number]
        try:
            content = np.load(path)
        except (OSError, ValueError, EOFError) as error:
            raise ConfigError(f"{path}: is damaged, or no array of NumPy: {error}") from None
        if (
            getattr(content, "ndim", 0) != 2
            or content.shape[1] != 4
            or content.dtype.kind not in "fiu"
        ):
            form = (
                f"an array of {content.dtype}, {content.shape}"
                if isinstance(content, np.ndarray)
                else "an archive"
            )
            raise ConfigError(
                f"{path}: is {form}: it must hold numbers (events, 4), x, y, polarity and "
                "milliseconds"
            )
        no_places = ~(np.abs(content[:, :3]) < LARGEST_PLACE)  # NaN, too
        if no_places.any():
            event, column = (int(place) for place in np.argwhere(no_places)[0])
            raise ConfigError(
                f"{path}: event {event} has {'xyp'[column]} = {content[event, column]}"
            )
        x, y, p, t = content.T
        events = Events(
            (t * 1000).astype(np.float64), *(each.astype(np.int64) for each in (x, y, p))
        )
        return self._checked(events, str(path))
