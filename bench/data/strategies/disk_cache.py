"""tonic's `DiskCachedDataset`: frames of each recording in a compressed HDF5 file of their own."""

from functools import cached_property
from pathlib import Path
from typing import Any

from tonic import DiskCachedDataset

from .. import full_disk
from .naive import Naive
from .strategy import bytes_below


class DiskCache(Naive):
    """tonic trusts whatever lies in a cache, so it is filled in another place and moved when it is
    whole."""

    @cached_property
    def items(self) -> Any:
        return DiskCachedDataset(
            self.recordings, cache_path=str(self.built_once("frames", self._fill))
        )

    def build(self) -> None:
        self.built_once("frames", self._fill)

    def _fill(self, path: Path) -> None:
        cached = DiskCachedDataset(self.recordings, cache_path=str(path))
        most = self.shape[0] * self.shape[1] * 2 * 17 // 16 + (
            1 << 16
        )  # int16 that nothing compresses, and HDF5's own
        for number in range(self.case.samples):
            full_disk.ensure_room(path, most)
            cached[number]

    def disk_bytes(self) -> int:
        return bytes_below(self.cache / "frames")
