"""Files of recordings that are damaged, foreign or at odds with themselves: one sentence that
names file and data set."""

import h5py
import numpy as np
import pytest
from support.recordings import made

from snnbench.common.mistakes import ConfigError
from snnbench.core.datasets import DATA_SETS
from snnbench.data.reading import READERS, opened
from snnbench.data.synthetic import recording


@pytest.fixture
def path(tmp_path):
    return DATA_SETS["shd"].file(made(tmp_path, "shd", 5))


def read(path, name="shd"):
    recordings = READERS[name](DATA_SETS[name], path)
    return list(recordings.events(len(recordings))), recordings.labels


def said(path, name="shd") -> str:
    with pytest.raises(ConfigError) as raised:
        read(path, name)
    assert "\n" not in str(raised.value)
    return str(raised.value).removeprefix(f"{path}: ")


def test_recordings_are_read_as_they_were_written(path):
    events, labels = read(path)
    for number, (t, x, y, p) in enumerate(events):
        right = recording(DATA_SETS["shd"], "train", number, 1)
        assert np.array_equal(
            t, right.t.astype(np.float16).astype(np.float64) * 1e6
        ) and np.array_equal(x, right.x)
        assert labels[number] == right.label and y is p is None


def test_one_is_read_like_all(path):
    recordings = READERS["shd"](DATA_SETS["shd"], path)
    for number, events in enumerate(recordings.events(5)):
        assert all(
            np.array_equal(*both)
            for both in zip(recordings.one(number)[:2], events[:2], strict=True)
        )


def test_a_file_that_is_not_there(tmp_path):
    assert said(tmp_path / "none.h5") == "there is no such file"


def test_fewer_recordings_than_are_asked_for(path):
    with pytest.raises(
        ConfigError, match=r"shd_train\.h5: has 5 recordings, and grid\.samples asks for 2,000$"
    ):
        opened("shd", path.parents[1], 2000)


@pytest.mark.parametrize("content", [b"", b"not HDF5 at all" * 100])
def test_a_foreign_file(path, content):
    path.write_bytes(content)
    assert said(path).startswith("is damaged, or no HDF5 file")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file(path, share):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    assert "damaged" in said(path)


def test_a_damaged_heap_names_the_data_set(path):
    """The lists' contents lie in global heaps (signature GCOL)."""
    content = bytearray(path.read_bytes())
    place = -1
    while (place := content.find(b"GCOL", place + 1)) >= 0:
        content[place : place + 4] = b"XXXX"
    path.write_bytes(content)
    assert said(path).startswith("spikes/times is damaged at recordings 0 to 4")


CHANGES = {
    "spikes/times is missing: it must hold lists of floats (seconds) for every recording": lambda file: (
        file.pop("spikes/times")
    ),
    "labels is missing: it must hold whole numbers for every recording": lambda file: file.pop(
        "labels"
    ),
    "spikes/units has the form (5,) of float64: it must hold lists of whole numbers (channels) for every recording": lambda file: (
        file.pop("spikes/units"),
        file.create_dataset("spikes/units", data=np.zeros(5)),
    ),
    "labels has the form (5, 2) of int64: it must hold whole numbers for every recording": lambda file: (
        file.pop("labels"),
        file.create_dataset("labels", data=np.zeros((5, 2), int)),
    ),
    "its data sets are of different numbers of recordings: spikes/times 5, spikes/units 5, labels 4": lambda file: (
        file.pop("labels"),
        file.create_dataset("labels", data=np.zeros(4, int)),
    ),
    "spikes/times of recording 2 has 3 events, spikes/units 1": lambda file: (
        file["spikes/times"].__setitem__(2, np.zeros(3, np.float16)),
        file["spikes/units"].__setitem__(2, np.zeros(1, np.uint16)),
    ),
    "spikes/units of recording 3 has an event at x = 700: the sensor of shd has 700": lambda file: (
        file["spikes/times"].__setitem__(3, np.zeros(2, np.float16)),
        file["spikes/units"].__setitem__(3, np.array([0, 700], np.uint16)),
    ),
}


@pytest.mark.parametrize("words", CHANGES)
def test_what_is_at_odds_is_named(path, words):
    with h5py.File(path, "r+") as file:
        CHANGES[words](file)
    assert said(path) == words
