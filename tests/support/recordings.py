"""Recordings of sounds, what tonic makes of them, and cases that deliver them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from tonic import datasets, transforms

from snnbench.adapters.base.case import Case
from snnbench.data.datasets import CHANNELS, DATA_SETS, LONGEST_US, name_of, window_us
from snnbench.data.files import make
from snnbench.workloads import WORKLOADS


def sounds(folder: Path, name: str, samples: int, seed: int = 1) -> Path:
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
    framed = transforms.ToFrame(sensor_size=(CHANNELS, 1, 1), time_window=window_us(case.time_steps), include_incomplete=True)
    crop = transforms.CropTime(max=LONGEST_US)
    steps = transforms.Compose([transforms.Downsample(spatial_factor=CHANNELS / 700), crop, framed])
    name = name_of(case.dataset)
    given = {"split": "train"} if name == "ssc" else {"train": True}
    recordings = getattr(datasets, name.upper())(str(folder), transform=steps, **given)
    return [(frames[:, 0], int(label)) for frames, label in (recordings[number] for number in range(case.samples))]
