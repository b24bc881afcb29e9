"""Synthetic recordings: their statistics are those of real ones, and a seed gives the same
files."""

import json
import struct

import h5py
import numpy as np
import pytest

from snnbench.common.mistakes import ConfigError
from snnbench.core.datasets import DATA_SETS
from snnbench.data.files import make
from snnbench.data.synthetic import recording


def all_made(name, samples, out, seed=0):
    counts = dict.fromkeys(DATA_SETS[name].splits, samples)
    return list(make(DATA_SETS[name], counts, seed, out))


@pytest.mark.parametrize("name", DATA_SETS)
def test_events_are_in_order_on_the_sensor_and_as_many_as_in_real_recordings(name):
    data = DATA_SETS[name]
    some = [
        recording(data, "train", number, 0) for number in range(20 if name == "dvsgesture" else 100)
    ]
    for each in some:
        assert (np.diff(each.t) >= 0).all() and each.t[0] >= 0 and each.t[-1] <= data.seconds[1]
        for values, size in zip((each.x, each.y, each.p), data.sensor, strict=True):
            assert values.min() >= 0 and values.max() <= max(size - 1, 1)
        assert 0 <= each.label < data.classes
    assert np.median([len(each.t) for each in some]) == pytest.approx(data.events, rel=0.25)
    assert len({each.label for each in some}) > data.classes / 2


def test_bins_of_speech_hold_as_many_events_as_the_real_ones():
    """Real ones: about 3,776 bins of 4 ms and 7 units that are not empty, 31 % of synthetic ones
    hold more than one event."""
    filled, several = [], []
    for number in range(50):
        each = recording(DATA_SETS["ssc"], "train", number, 0)
        bins, counts = np.unique((each.t * 250).astype(int) * 100 + each.x // 7, return_counts=True)
        filled.append(len(bins))
        several.append((counts > 1).mean())
    assert 3000 < np.mean(filled) < 5000
    assert 0.2 < np.mean(several) < 0.45


def test_a_class_has_a_pattern_of_its_own():
    def means(numbers):
        found = {}
        for number in numbers:
            each = recording(DATA_SETS["ssc"], "train", number, 0)
            found.setdefault(each.label, []).append(
                np.bincount(each.x // 7, minlength=100) / len(each.x)
            )
        return {label: np.mean(histograms, axis=0) for label, histograms in found.items()}

    known, new = means(range(150)), means(range(150, 190))
    labels = sorted(known)
    nearest = [
        labels[np.argmin([np.abs(known[label] - histogram).sum() for label in labels])]
        for histogram in new.values()
    ]
    assert np.mean([found == label for found, label in zip(nearest, new, strict=True)]) > 0.9


def test_the_same_seed_gives_the_same_files_and_another_others(tmp_path):
    for name, seed in (("one", 3), ("same", 3), ("other", 4)):
        all_made("nmnist", 4, tmp_path / name, seed)
    one, same, other = (
        sorted((tmp_path / name / "NMNIST").rglob("*.bin")) for name in ("one", "same", "other")
    )
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in same]
    assert [file.read_bytes() for file in one] != [file.read_bytes() for file in other]


def test_sounds_are_written_as_their_authors_did(tmp_path):
    all_made("shd", 5, tmp_path)
    right = recording(DATA_SETS["shd"], "train", 3, 0)
    with h5py.File(tmp_path / "SHD" / "shd_train.h5") as file:
        assert (
            file["spikes/times"][3].dtype == np.float16
            and file["spikes/units"][3].dtype == np.uint16
        )
        assert np.array_equal(file["spikes/times"][3], right.t.astype(np.float16))
        assert np.array_equal(file["spikes/units"][3], right.x)
        assert (
            file["labels"][3] == right.label
            and len(file["extra/keys"]) == 20
            and file["extra/speaker"].shape == (5,)
        )


def test_saccades_have_five_bytes_an_event(tmp_path):
    all_made("nmnist", 2, tmp_path)
    right = recording(DATA_SETS["nmnist"], "train", 1, 0)
    bytes_ = (tmp_path / "NMNIST" / "Train" / str(right.label) / "00001.bin").read_bytes()
    x, y, high, middle, low = struct.unpack("5B", bytes_[5 * 77 : 5 * 78])
    assert (x, y, high >> 7) == (right.x[77], right.y[77], right.p[77])
    assert (high & 127) << 16 | middle << 8 | low == round(right.t[77] * 1e6)


def test_gestures_are_arrays_called_by_their_class(tmp_path):
    all_made("dvsgesture", 1, tmp_path)
    (file,) = (tmp_path / "DVSGesture" / "ibmGestureTrain").rglob("*.npy")
    right = recording(DATA_SETS["dvsgesture"], "train", 0, 0)
    assert file.stem == str(right.label) and np.load(file).shape == (len(right.t), 4)


def test_what_is_there_is_kept_and_nothing_else_overwritten(tmp_path):
    all_made("shd", 2, tmp_path)
    assert all_made("shd", 2, tmp_path) == []
    with pytest.raises(ConfigError, match="was not made with these options"):
        all_made("shd", 3, tmp_path)
    (tmp_path / "SSC").mkdir()
    (tmp_path / "SSC" / "ssc_train.h5").write_text("real")
    with pytest.raises(ConfigError, match="give another folder as --out"):
        all_made("ssc", 2, tmp_path)


def test_an_interrupted_command_leaves_nothing(tmp_path):
    steps = make(DATA_SETS["ssc"], {"train": 5, "valid": 1, "test": 1}, 0, tmp_path)
    next(steps)
    steps.close()
    assert list(tmp_path.iterdir()) == []


def test_the_script_prints_the_folder(snnbench, tmp_path):
    done = snnbench.make_data("ssc", "--samples", 8, "--out", tmp_path)
    assert (done.exit_code, done.stdout.strip()) == (0, str(tmp_path / "SSC"))
    assert json.loads((tmp_path / "SSC" / "snnbench.json").read_text())["samples"] == {
        "train": 8,
        "valid": 1,
        "test": 1,
    }
    wrong = snnbench.make_data("scc")
    assert (
        wrong.exit_code == 2
        and "there is no data set 'scc'" in wrong.message
        and "did you mean 'ssc'" in wrong.message
    )
    (tmp_path / "file").touch()
    no_folder = snnbench.make_data("shd", "--samples", 2, "--out", tmp_path / "file")
    assert no_folder.exit_code == 2 and str(tmp_path / "file") in no_folder.message
    assert snnbench.make_data("shd", "--samples", 0).exit_code == 2
