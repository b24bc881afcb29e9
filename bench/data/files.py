"""Synthetic recordings as files that tonic reads unchanged, and the folders in which recordings
lie. tonic checks that a downloaded archive exists, and does not open it: an empty file takes its
place."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ..common.files import cache_folder, naming, own_folder, write_atomically
from ..common.mistakes import ConfigError
from ..core.case import Case
from ..core.datasets import SYNTHETIC, DataSet, form_of
from . import full_disk
from .synthetic import Recording, recording

MARKER = "snnbench.json"
"""The file that describes the contents of a folder made here."""
BLOCK = 1 << 24
"""Bytes by which a file in memory grows."""
GENERATOR = 1
"""Version of the generator: counted up when a seed gives other recordings."""


def marker_of(data: DataSet, samples: Mapping[str, int], seed: int) -> dict[str, Any]:
    return {"dataset": data.name, "samples": dict(samples), "seed": seed, "generator": GENERATOR}


def make(
    data: DataSet, samples: Mapping[str, int], seed: int, out: Path
) -> Iterator[tuple[str, int, int]]:
    """Writes the splits of `data`, with the number of `samples` of each, below `out`, all or
    nothing. Yields (split, recordings done, recordings in all). Keeps an existing folder that holds
    the same. Raises ConfigError for any other existing folder, and OSError."""
    folder, wanted = out / data.folder, marker_of(data, samples, seed)
    if folder.exists():
        if _marker(folder) != wanted:
            raise ConfigError(
                f"{folder} is there and was not made with these options; give another folder as "
                "--out"
            )
        return
    with own_folder(out) as scratch, naming(folder), full_disk.named():
        for split, count in samples.items():
            recordings = (recording(data, split, number, seed) for number in range(count))
            yield from WRITERS[data.name](data, scratch / data.splits[split], count, recordings)
        write_atomically(scratch / MARKER, json.dumps(wanted, indent=1) + "\n")
        os.replace(scratch, folder)
        scratch.mkdir()  # `own_folder` removes it


def _marker(folder: Path) -> Any:
    try:
        return json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


Written = Iterator[tuple[str, int, int]]


def _write_sounds(
    data: DataSet, path: Path, count: int, recordings: Iterable[Recording]
) -> Written:
    """Writes HDF5 as zenkelab.org does: seconds in float16. The file is made in memory, because
    HDF5 crashes the process some time after it finds the disk full."""
    try:
        import h5py
    except ImportError:
        raise ConfigError(f"files of {data.name} need h5py: pip install 'snnbench[data]'") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    labels = np.zeros(count, np.uint16)
    with h5py.File(path, "w", driver="core", backing_store=False, block_size=BLOCK) as file:
        times = file.create_dataset("spikes/times", (count,), h5py.vlen_dtype(np.float16))
        units = file.create_dataset("spikes/units", (count,), h5py.vlen_dtype(np.uint16))
        for number, each in enumerate(recordings):
            times[number], units[number] = each.t.astype(np.float16), each.x.astype(np.uint16)
            labels[number] = each.label
            yield path.name, number + 1, count
        file["labels"] = labels
        file["extra/keys"] = [f"class {label}".encode() for label in range(data.classes)]
        file["extra/speaker"] = np.zeros(count, np.uint16)
        file.flush()
        path.write_bytes(file.id.get_file_image())
    path.with_name(f"{path.name}.zip").touch()


def _write_saccades(
    data: DataSet, path: Path, count: int, recordings: Iterable[Recording]
) -> Written:
    """Writes five bytes for each event: x, y, and the polarity with 23 bits of microseconds. tonic
    requires 10,000 files of a split."""
    for number, each in enumerate(recordings):
        t = np.rint(each.t * 1e6).astype(np.int64)
        columns = each.x, each.y, each.p << 7 | t >> 16, t >> 8 & 255, t & 255
        file = path / str(each.label) / f"{number:05d}.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(np.stack(columns, 1).astype(np.uint8).tobytes())
        yield path.name, number + 1, count
    path.with_name(f"{path.name.lower()}.zip").touch()


def _write_gestures(
    data: DataSet, path: Path, count: int, recordings: Iterable[Recording]
) -> Written:
    """Writes one array (events, 4) of x, y, polarity and milliseconds for each recording, in a file
    named by the class. tonic requires 100 files of a split."""
    for number, each in enumerate(recordings):
        file = path / f"user{number:05d}_synthetic" / f"{each.label}.npy"
        file.parent.mkdir(parents=True, exist_ok=True)
        array = np.stack([each.x, each.y, each.p, np.rint(each.t * 1e3)], 1).astype(np.float64)
        # Given the file itself, NumPy hides the reason of a short write.
        with open(file, "wb") as stream:
            np.lib.format.write_array(cast(Any, SimpleNamespace(write=stream.write)), array)
        yield path.name, number + 1, count
    path.with_name(f"{path.name}.tar.gz").touch()


WRITERS: dict[str, Callable[[DataSet, Path, int, Iterable[Recording]], Written]] = {
    "ssc": _write_sounds,
    "shd": _write_sounds,
    "nmnist": _write_saccades,
    "dvsgesture": _write_gestures,
}


class Shelf:
    """The folders of recordings of a run's cases: real ones in the user's folder `real`, synthetic
    ones in the cache, made once. `report` gets lines about progress.

        shelf = Shelf(None)
        folder = shelf.of(case)
    """

    def __init__(
        self, real: Path | None, report: Callable[[str], None] = lambda line: None
    ) -> None:
        self.real, self.report, self.folders = real, report, [real] if real else []
        """`folders` are the folders that workers read."""

    def of(self, case: Case) -> Path:
        """Returns the folder with the recordings of a case, tonic's `save_to`. Makes synthetic ones
        if they are missing, all or nothing. Raises ConfigError and OSError."""
        if not case.dataset.startswith(SYNTHETIC):
            assert self.real is not None, "load_config wants a folder for real recordings"
            return self.real
        data = form_of(case.dataset)
        folder = (
            cache_folder()
            / "recordings"
            / f"{data.name}-{case.samples}-seed-{case.seed}-generator-{GENERATOR}"
        )
        for _, done, count in make(data, {"train": case.samples}, case.seed, folder):
            if done % 100 == 0 or done == count:
                self.report(f"{folder.name}: {done} of {count} recordings made")
        if folder not in self.folders:
            self.folders.append(folder)
        return folder
