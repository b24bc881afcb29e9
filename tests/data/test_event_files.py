"""Files of cameras: read as tonic reads them, in an order of their own, and one sentence for
what is wrong."""

import numpy as np
import pytest
from support.recordings import made
from tonic import datasets
from tonic.io import read_mnist_file

from snnbench.common.mistakes import ConfigError
from snnbench.core.datasets import DATA_SETS
from snnbench.data.reading import READERS
from snnbench.data.synthetic import recording


def reader(name, folder):
    return READERS[name](DATA_SETS[name], DATA_SETS[name].file(folder))


def said(name, folder):
    with pytest.raises(ConfigError) as raised:
        list(reader(name, folder).events(2))
    assert "\n" not in str(raised.value)
    return str(raised.value).removeprefix(f"{folder}/")


@pytest.mark.parametrize(("name", "precision"), [("nmnist", 1e6), ("dvsgesture", 1e3)])
def test_recordings_are_read_as_they_were_written(tmp_path, name, precision):
    recordings = reader(name, made(tmp_path, name, 3))
    assert len(recordings) == 3 and recordings.files(2) == recordings.paths[:2]
    for number, (t, x, y, p) in enumerate(recordings.events(3)):
        right = recording(DATA_SETS[name], "train", number, 1)
        assert np.array_equal(t, np.rint(right.t * precision) * (1e6 / precision))
        assert (
            np.array_equal(x, right.x) and np.array_equal(y, right.y) and np.array_equal(p, right.p)
        )
        assert recordings.labels[number] == right.label


def test_times_that_overflow_are_those_that_tonic_reads(tmp_path):
    """A row of 240 tells that all later events are 2^13 µs later, and is none itself."""
    (file,) = made(tmp_path, "nmnist", 1).rglob("*.bin")
    content = np.frombuffer(file.read_bytes(), np.uint8).reshape(-1, 5).copy()
    content[[700, 1900], 1] = 240
    file.write_bytes(content.tobytes())
    right = read_mnist_file(str(file), datasets.NMNIST.dtype)
    (events,) = reader("nmnist", tmp_path).events(1)
    assert len(right) == len(content) - 2
    assert all(np.array_equal(getattr(events, name), right[name]) for name in "txyp")


def test_their_order_is_not_that_of_a_folder(tmp_path):
    """By class, the first thousands of N-MNIST were zeros."""
    for name in ("9/00001.bin", "0/00002.bin", "3/00000.bin"):
        file = tmp_path / "NMNIST" / "Train" / name
        file.parent.mkdir(parents=True)
        file.write_bytes(bytes(5))
    assert reader("nmnist", tmp_path).labels.tolist() == [3, 9, 0]


WRONG = {
    "NMNIST/Train/7/00000.bin: is damaged: 11 bytes are no whole number of events, five bytes each": bytes(
        11
    ),
    "NMNIST/Train/7/00000.bin has an event at x = 34: the sensor of nmnist has 34": bytes(
        [34, 0, 0, 0, 0]
    ),
    "NMNIST/Train/7/00000.bin has an event at y = 99: the sensor of nmnist has 34": bytes(
        [0, 99, 0, 0, 0]
    ),
}


@pytest.mark.parametrize("words", WRONG)
def test_a_damaged_saccade_is_named(tmp_path, words):
    file = tmp_path / "NMNIST" / "Train" / "7" / "00000.bin"
    file.parent.mkdir(parents=True)
    file.write_bytes(WRONG[words])
    assert said("nmnist", tmp_path) == words


def archived(file):
    with open(file, "wb") as stream:
        np.savez(stream, a=np.zeros((7, 4)))


GESTURES = {
    "is damaged, or no array of NumPy": lambda file: file.write_bytes(file.read_bytes()[:1000]),
    "is damaged, or no array of NumPy: ": lambda file: file.write_text("no array"),
    "is an array of float64, (7, 3): it must hold numbers (events, 4)": lambda file: np.save(
        file, np.zeros((7, 3))
    ),
    "is an array of <U1, (7, 4): it must hold numbers (events, 4)": lambda file: np.save(
        file, np.full((7, 4), "a")
    ),
    "is an archive: it must hold numbers (events, 4)": archived,
    " has an event at p = 2: the sensor of dvsgesture has 2": lambda file: np.save(
        file, np.full((7, 4), 2.0)
    ),
    " has an event at x = -1: the sensor of dvsgesture has 128": lambda file: np.save(
        file, np.full((7, 4), -1.0)
    ),
}


@pytest.mark.parametrize("words", GESTURES)
def test_a_damaged_gesture_is_named(tmp_path, words):
    (file,) = made(tmp_path, "dvsgesture", 1).rglob("*.npy")
    GESTURES[words](file)
    assert said("dvsgesture", tmp_path).startswith(
        f"{file.relative_to(tmp_path)}"
    ) and words in said("dvsgesture", tmp_path)


def test_a_folder_of_something_else(tmp_path):
    assert said("nmnist", tmp_path) == "NMNIST/Train: there is no such folder"
    (tmp_path / "NMNIST" / "Train" / "seven").mkdir(parents=True)
    assert "holds no folders with *.bin files, as those of nmnist do" in said("nmnist", tmp_path)
    (tmp_path / "NMNIST" / "Train" / "seven" / "1.bin").write_bytes(bytes(5))
    assert said("nmnist", tmp_path).endswith(
        "seven/1.bin: 'seven' must be the number of a class, 0 to 9"
    )
