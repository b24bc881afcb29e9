"""Writes synthetic recordings as files that tonic reads unchanged: it looks for the archive that
they came from, not into it."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ..common.files import naming, own_folder, write_atomically
from ..common.mistakes import ConfigError
from ..core.datasets import DataSet
from . import full_disk
from .synthetic import Recording, recording

MARKER = "snnbench.json"
"""The file that says what a folder of ours holds."""
BLOCK = 1 << 24
"""Bytes by which a file in memory grows."""
GENERATOR = 1
"""Counted up when a seed gives other recordings than before."""


def made(data: DataSet, samples: Mapping[str, int], seed: int) -> dict[str, Any]:
    """What the marker says of such a folder."""
    return {"dataset": data.name, "samples": dict(samples), "seed": seed, "generator": GENERATOR}


def make(
    data: DataSet, samples: Mapping[str, int], seed: int, out: Path
) -> Iterator[tuple[str, int, int]]:
    """Write the splits of `data` with so many recordings each below `out`, all or nothing; (split,
    recording, of how many) for each that is done. A folder that is there and holds the same is left
    as it is. Raises ConfigError for any other that is there, and OSError."""
    folder, wanted = out / data.folder, made(data, samples, seed)
    if folder.exists():
        if _marker(folder) != wanted:
            raise ConfigError(
                f"{folder} is there and was not made with these options; give another folder as --out"
            )
        return
    with own_folder(out) as scratch, naming(folder), full_disk.told():
        for split, count in samples.items():
            recordings = (recording(data, split, number, seed) for number in range(count))
            yield from WRITERS[data.name](data, scratch / data.splits[split], count, recordings)
        write_atomically(scratch / MARKER, json.dumps(wanted, indent=1) + "\n")
        os.replace(scratch, folder)
        scratch.mkdir()  # which its owner removes


def _marker(folder: Path) -> Any:
    try:
        return json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


Written = Iterator[tuple[str, int, int]]


def _write_sounds(
    data: DataSet, path: Path, count: int, recordings: Iterable[Recording]
) -> Written:
    """HDF5 as zenkelab.org has it: seconds in float16. It is made in memory: where HDF5 itself
    finds the disk full, it crashes the process some time later."""
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
    """Five bytes for each event: x, y, and 23 bits of microseconds behind the polarity. tonic wants
    10,000 files of a split."""
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
    """One array (events, 4) of x, y, polarity and milliseconds for each recording, its file called
    by the class. tonic wants 100 files of a split."""
    for number, each in enumerate(recordings):
        file = path / f"user{number:05d}_synthetic" / f"{each.label}.npy"
        file.parent.mkdir(parents=True, exist_ok=True)
        array = np.stack([each.x, each.y, each.p, np.rint(each.t * 1e3)], 1).astype(np.float64)
        with open(
            file, "wb"
        ) as stream:  # of a file itself NumPy would not say why a write is short
            np.lib.format.write_array(cast(Any, SimpleNamespace(write=stream.write)), array)
        yield path.name, number + 1, count
    path.with_name(f"{path.name}.tar.gz").touch()


WRITERS: dict[str, Callable[[DataSet, Path, int, Iterable[Recording]], Written]] = {
    "ssc": _write_sounds,
    "shd": _write_sounds,
    "nmnist": _write_saccades,
    "dvsgesture": _write_gestures,
}
