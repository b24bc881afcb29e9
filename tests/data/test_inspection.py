"""Recordings that no strategy could deliver: one sentence names file, recording and value."""

import shutil

import h5py
import numpy as np
import pytest
from support.recordings import made

from snnbench.common.mistakes import ConfigError
from snnbench.core.datasets import DATA_SETS
from snnbench.data.reading import inspect


def disorder(t, x):
    t[7:9] = 0.5, 0.25
    return t, x


def at(value):
    def change(t, x):
        t[7] = value
        return t, x

    return change


SOUNDS = {
    "recording 4: event 8 is earlier than the one before it: 0.25 follows 0.5": disorder,
    "recording 4: event 7 has the time nan: times must be finite": at(np.nan),
    "recording 4: event 7 has the time inf: times must be finite": at(np.inf),
    "recording 4: has no events": lambda t, x: (t[:0], x[:0]),
    "recording 4: its times are 3000 to 60000 seconds: recordings of shd last about 1 s": (
        lambda t, x: (np.linspace(3e3, 6e4, len(t)), x)
    ),
    "recording 4: its times are 0 to 0.001 seconds: recordings of shd last about 1 s": (
        lambda t, x: (np.linspace(0, 1e-3, len(t)), x)
    ),
    "recording 4: its times are 1.5 to 2 seconds: frames show the first 1 s": (
        lambda t, x: (np.linspace(1.5, 2, len(t)), x)
    ),
}


@pytest.fixture
def folder(tmp_path):
    return made(tmp_path, "shd", 6)


@pytest.mark.parametrize("words", SOUNDS)
def test_wrong_times_of_sounds(folder, words):
    path = DATA_SETS["shd"].file(folder)
    inspect("shd", folder, 6)
    with h5py.File(path, "r+") as file:
        times, units = file["spikes/times"], file["spikes/units"]
        times[4], units[4] = SOUNDS[words](np.sort(times[4]).astype(np.float64), units[4])
    inspect("shd", folder, 4)  # the fifth is not read
    with pytest.raises(ConfigError) as raised:
        inspect("shd", folder, 6)
    begin, _, end = words.partition(" 0.001 ")
    assert str(raised.value).startswith(f"{path}: {begin}") and str(raised.value).endswith(
        end or words
    )


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ((6, 1), "labels has the form (6, 1) of uint16: it must hold whole numbers for every"),
        ((6,), "recording 4: has the label 20: shd has 20 classes, from 0 on"),
    ],
)
def test_wrong_labels(folder, labels, words):
    path = DATA_SETS["shd"].file(folder)
    with h5py.File(path, "r+") as file:
        values = file["labels"][:]
        values[4] = 20
        del file["labels"]
        file["labels"] = values.reshape(labels)
    with pytest.raises(ConfigError) as raised:
        inspect("shd", folder, 6)
    assert str(raised.value).startswith(f"{path}: {words}")


CAMERAS = {
    "its times are 0.1 to 6 milliseconds: recordings of dvsgesture last about 1.5 s": (
        lambda events: events.__setitem__((slice(None), 3), np.linspace(0.1, 6, len(events)))
    ),
    "event 3 has y = nan": lambda events: events.__setitem__((3, 1), np.nan),
    "event 3 has y = 1e+300": lambda events: events.__setitem__((3, 1), 1e300),
    "event 3 has the time nan: times must be finite": (
        lambda events: events.__setitem__((3, 3), np.nan)
    ),
}


@pytest.mark.parametrize("words", CAMERAS)
def test_wrong_recordings_of_cameras(tmp_path, words):
    folder = made(tmp_path, "dvsgesture", 2)
    inspect("dvsgesture", folder, 2)
    (path,) = (folder / "DVSGesture" / "ibmGestureTrain").glob("user00001*/*.npy")
    events = np.load(path)
    CAMERAS[words](events)
    np.save(path, events)
    with pytest.raises(ConfigError) as raised:
        inspect("dvsgesture", folder, 2)
    assert str(raised.value) == f"{path}: {words}"


def test_an_empty_file_of_a_camera(tmp_path):
    folder = made(tmp_path, "nmnist", 3)
    (path,) = (folder / "NMNIST" / "Train").glob("*/00001.bin")
    path.write_bytes(b"")
    with pytest.raises(ConfigError) as raised:
        inspect("nmnist", folder, 3)
    assert str(raised.value) == f"{path}: has no events"
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError) as raised:
        inspect("nmnist", folder, 3)
    assert str(raised.value) == f"{path}: cannot be read: Is a directory"
    shutil.rmtree(path.parents[1])
