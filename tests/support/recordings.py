"""Synthetic recordings, what tonic makes of them, and cases that deliver them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.recfunctions import unstructured_to_structured
from tonic import datasets, transforms
from tonic.io import read_mnist_file

from snnbench.core.case import Case
from snnbench.core.datasets import DATA_SETS, DataSet, form_of
from snnbench.data.files import make
from snnbench.workloads import WORKLOADS


def made(folder: Path, name: str, samples: int, seed: int = 1) -> Path:
    """A folder with synthetic recordings of a data set, as tonic calls it save_to."""
    for _ in make(DATA_SETS[name], {"train": samples}, seed, folder):
        pass
    return folder


def data_case(framework: str, construction: str, **changes) -> Case:
    """A case that delivers nine synthetic recordings of SSC, three at a time."""
    usual = {"dataset": "synthetic-ssc", "samples": 9, "time_steps": 37, "batch": 3}
    usual |= {"loaders": 0, "pinned": False, "augment": False, "behind": "none"}
    case = replace(Case(framework, construction, workload="data"), **usual | changes)
    return WORKLOADS["data"].canonical(case)


def frames_of_tonic(folder: Path, case: Case) -> list[tuple[np.ndarray, int]]:
    """Counts (t, channels) and labels of all recordings of a case, as tonic alone makes them."""
    data = form_of(case.dataset)
    recordings = _sounds(data, folder) if data.is_sound else _of_a_camera(data, folder)
    pipeline = pipeline_of(data, case.time_steps)
    return [
        (frames.reshape(len(frames), -1), int(label))
        for frames, label in (
            (pipeline(events), label)
            for events, label in (next(recordings) for _ in range(case.samples))
        )
    ]


def pipeline_of(data: DataSet, steps: int) -> transforms.Compose:
    """tonic's transforms from events to frames (t, polarities, [y,] x)."""
    sensor, coarser = data.sensor, []
    if data.is_sound:
        sensor, coarser = (100, 1, 1), [transforms.Downsample(spatial_factor=100 / 700)]
    framed = transforms.ToFrame(
        sensor_size=sensor, time_window=data.window_us(steps), include_incomplete=True
    )
    return transforms.Compose([*coarser, transforms.CropTime(max=data.longest_us), framed])


def _sounds(data: DataSet, folder: Path) -> Iterator[tuple[Any, Any]]:
    given = {"split": "train"} if data.name == "ssc" else {"train": True}
    recordings = getattr(datasets, data.name.upper())(str(folder), **given)
    return (recordings[number] for number in range(len(recordings)))


def _of_a_camera(data: DataSet, folder: Path) -> Iterator[tuple[Any, Any]]:
    """By tonic's reader of such files: its class wants more of them than a test has."""
    split = data.file(folder)
    for number in range(len(list(split.glob("*/*.*")))):
        if data.name == "nmnist":
            (file,) = split.glob(f"*/{number:05d}.bin")
            yield read_mnist_file(str(file), datasets.NMNIST.dtype), file.parent.name
        else:
            (file,) = split.glob(f"user{number:05d}_*/*.npy")
            events = np.load(file)
            events[:, 3] *= 1000
            yield unstructured_to_structured(events, datasets.DVSGesture.dtype), file.stem
