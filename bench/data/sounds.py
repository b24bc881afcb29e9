"""Reads recordings of sounds from HDF5 files in zenkelab.org's format, synthetic and real ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..common.mistakes import ConfigError
from ..core.datasets import DataSet
from .recordings import Events, Recordings

TIMES, UNITS, LABELS = "spikes/times", "spikes/units", "labels"
FORMS = {
    TIMES: "lists of floats (seconds)",
    UNITS: "lists of whole numbers (channels)",
    LABELS: "whole numbers",
}
"""The data sets of a file, each with its content for every recording."""
CHUNK = 256


class Sounds(Recordings):
    """One file, open as long as this object exists."""

    unit, unit_us = "seconds", 1e6

    def __init__(self, data: DataSet, path: Path) -> None:
        super().__init__(data, path)
        try:
            import h5py
        except ImportError:
            raise ConfigError(
                f"{path}: reading it needs h5py: pip install 'snnbench[data]'"
            ) from None
        if not path.is_file():
            raise ConfigError(f"{path}: there is no such file")
        try:
            self.file = h5py.File(path, "r")
        except OSError as error:
            raise ConfigError(f"{path}: is damaged, or no HDF5 file: {error}") from None
        self._times, self._units = self._list(TIMES, "f"), self._list(UNITS, "iu")
        self.labels = self._labels()
        if not len(self._times) == len(self._units) == len(self.labels):
            counts = ", ".join(f"{name} {len(self.file[name])}" for name in FORMS)
            raise ConfigError(
                f"{path}: its data sets are of different numbers of recordings: {counts}"
            )

    def one(self, number: int) -> Events:
        (events,) = self._between(number, number + 1)
        return events

    def events(self, count: int) -> Iterator[Events]:
        for first in range(0, count, CHUNK):
            yield from self._between(first, min(first + CHUNK, count))

    def place(self, number: int) -> str:
        return f"{self.path}: recording {number}"

    def files(self, count: int) -> list[Path]:
        return [self.path]

    def _between(self, first: int, last: int) -> Iterator[Events]:
        times = self._read(TIMES, self._times, first, last)
        units = self._read(UNITS, self._units, first, last)
        for number, (t, x) in enumerate(zip(times, units, strict=True), start=first):
            if len(t) != len(x):
                raise ConfigError(
                    f"{self.path}: {TIMES} of recording {number} has {len(t)} events, {UNITS} "
                    f"{len(x)}"
                )
            events = Events(t.astype(np.float64) * 1e6, x.astype(np.int64))
            yield self._checked(events, f"{self.path}: {UNITS} of recording {number}")

    def _read(self, name: str, data: Any, first: int, last: int) -> Any:
        try:
            return data[first:last]
        except OSError as error:
            raise ConfigError(
                f"{self.path}: {name} is damaged at recordings {first} to {last - 1}: {error}"
            ) from None

    def _list(self, name: str, kinds: str) -> Any:
        import h5py

        data = self._dataset(name)
        base = h5py.check_vlen_dtype(data.dtype) if isinstance(data, h5py.Dataset) else None
        if base is None or np.dtype(base).kind not in kinds or data.ndim != 1:
            raise self._foreign(name)
        return data

    def _labels(self) -> np.ndarray:
        data = self._dataset(LABELS)
        if getattr(data, "ndim", None) != 1 or data.dtype.kind not in "iu":
            raise self._foreign(LABELS)
        return np.asarray(self._read(LABELS, data, 0, len(data)), np.int64)

    def _dataset(self, name: str) -> Any:
        try:
            return self.file.get(name)
        except (OSError, KeyError, RuntimeError) as error:  # the header is damaged
            raise ConfigError(f"{self.path}: {name} is damaged: {error}") from None

    def _foreign(self, name: str) -> ConfigError:
        fault = "is missing" if name not in self.file else _form(self.file[name])
        return ConfigError(
            f"{self.path}: {name} {fault}: it must hold {FORMS[name]} for every recording"
        )


def _form(data: Any) -> str:
    if not hasattr(data, "shape"):
        return "is a group"
    return f"has the form {tuple(data.shape)} of {data.dtype}"
