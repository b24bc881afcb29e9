"""Every strategy delivers what tonic makes of the recordings, in the order that is asked for."""

import shutil
from dataclasses import replace

import h5py
import numpy as np
import pytest
from support.recordings import data_case, frames_of_tonic, made
from support.slow import representatives

from snnbench.adapters import registry
from snnbench.core.contract import Unsupported
from snnbench.core.datasets import form_of
from snnbench.data import files
from snnbench.data.epoch import Epoch
from snnbench.data.files import make
from snnbench.data.strategies.base import Strategy
from snnbench.proof.stages import too_large
from snnbench.workloads import WORKLOADS

NAMED = [
    (name, each)
    for name in registry.LOADING
    for each in registry.load(registry.LOADING[name]).constructions
]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    counts = {"ssc": 9, "shd": 9, "nmnist": 9, "dvsgesture": 4}
    return {
        name: made(tmp_path_factory.mktemp(name), name, count) for name, count in counts.items()
    }


def built(case, folder, cache) -> Strategy:
    strategy = registry.load(registry.LOADING[case.framework]).strategy(case, folder, cache)
    cache.mkdir(exist_ok=True)
    strategy.build()
    return strategy


def shifted(counts, by, width):
    """Counts (t, channels), moved by some places in each row of so many."""
    wide = np.pad(counts.reshape(len(counts), -1, width), ((0, 0), (0, 0), (9, 9)))
    return np.roll(wide, by, axis=2)[:, :, 9:-9].reshape(counts.shape)


def check(strategy, case, epoch, right):
    batches = list(strategy.epoch(epoch))
    assert len(batches) == len(epoch.numbers) // case.batch
    data = form_of(case.dataset)
    for number, (frames, labels) in enumerate(batches):
        part = epoch.part(number, case.batch)
        expected = np.zeros((case.batch, case.time_steps, data.channels))
        for row, one, by in zip(
            expected, part.numbers, part.shifts or [0] * case.batch, strict=True
        ):
            counts = right[one][0]
            row[: len(counts)] = shifted(counts, by, data.features[-1])
        assert frames.dtype.is_floating_point and np.array_equal(frames.numpy(), expected)
        assert labels.tolist() == [right[one][1] for one in part.numbers]


@pytest.mark.parametrize(
    ("dataset", "time_steps"),
    representatives(
        [("ssc", 37), ("ssc", 250), ("shd", 250), ("nmnist", 37), ("dvsgesture", 5)], [1, 3]
    ),
)
@pytest.mark.parametrize(
    "augment", representatives([False, True], [1]), ids=["as it is", "augmented"]
)
@pytest.mark.parametrize(("framework", "construction"), NAMED)
def test_batches_are_those_of_tonic(
    recordings, tmp_path, framework, construction, augment, dataset, time_steps
):
    count, batch = (4, 2) if dataset == "dvsgesture" else (9, 3)
    changes = {"samples": count, "batch": batch, "time_steps": time_steps, "augment": augment}
    case, folder = (
        data_case(framework, construction, dataset=f"synthetic-{dataset}", **changes),
        recordings[dataset],
    )
    strategy, right = built(case, folder, tmp_path / "cache"), frames_of_tonic(folder, case)
    for seed in (3, 4):  # an epoch must leave nothing behind that changes the next one
        check(strategy, case, Epoch.drawn(count, augment, seed), right)
    check(strategy, case, Epoch([3, 3, 0, 1], [5, -5, 0, 2] if augment else None), right)


@pytest.mark.parametrize("augment", [False, True])
@pytest.mark.parametrize(
    ("framework", "construction"), [("tonic", "naive"), ("tonic", "memory"), ("frames", "memmap")]
)
def test_processes_of_the_loader_change_nothing(
    recordings, tmp_path, framework, construction, augment
):
    case = data_case(framework, construction, loaders=2, augment=augment)
    strategy = built(case, recordings["ssc"], tmp_path / "cache")
    check(strategy, case, Epoch.drawn(9, augment, 5), frames_of_tonic(recordings["ssc"], case))


def test_what_is_left_at_the_end_is_in_no_batch(recordings, tmp_path):
    for framework, construction in NAMED:
        case = data_case(framework, construction, batch=4)
        strategy = built(case, recordings["ssc"], tmp_path / construction)
        assert [len(labels) for _, labels in strategy.epoch(Epoch.drawn(9, False, 1))] == [4, 4]


def halved(path):
    """The remains of a cache after its writer was killed: half of each file."""
    for file in path.rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize("end", [KeyboardInterrupt, OSError, "killed"])
@pytest.mark.parametrize(("framework", "construction"), [("tonic", "disk"), ("frames", "memmap")])
def test_a_cache_that_was_interrupted_is_built_anew(
    recordings, tmp_path, monkeypatch, framework, construction, end
):
    """What an interrupted build has written is never read: with its first half in place the
    batches would be wrong."""
    case, cache, folder = data_case(framework, construction), tmp_path / "cache", recordings["ssc"]
    whole = Strategy.built_once

    def dies(self, name, write):
        def half(path):
            write(path)
            halved(path)
            if end == "killed":
                shutil.copytree(path, tmp_path / "left")
            raise KeyboardInterrupt if end == "killed" else end

        return whole(self, name, half)

    monkeypatch.setattr(Strategy, "built_once", dies)
    with pytest.raises(KeyboardInterrupt if end == "killed" else end):
        built(case, folder, cache)
    assert list(cache.iterdir()) == []
    if end == "killed":  # then nothing tidies up
        shutil.copytree(tmp_path / "left", cache / "frames.unfinished")
    monkeypatch.undo()
    check(built(case, folder, cache), case, Epoch.drawn(9, False, 2), frames_of_tonic(folder, case))
    assert [path.name for path in cache.iterdir()] == ["frames"]


def test_a_second_block_finds_the_cache_of_the_first(recordings, tmp_path, monkeypatch):
    for framework, construction in [("tonic", "disk"), ("frames", "memmap")]:
        case, cache = data_case(framework, construction), tmp_path / construction
        built(case, recordings["ssc"], cache)
        before = {path: path.stat().st_mtime_ns for path in cache.rglob("*")}
        second = built(case, recordings["ssc"], cache)
        assert {
            path: path.stat().st_mtime_ns for path in cache.rglob("*")
        } == before and second.disk_bytes() > 0


def test_bytes_that_are_kept_are_those_of_the_arrays(recordings, tmp_path):
    held = {}
    for framework, construction in NAMED:
        strategy = built(
            data_case(framework, construction), recordings["ssc"], tmp_path / construction
        )
        held[construction] = strategy.disk_bytes(), strategy.host_bytes(), strategy.device_bytes()
    dense = 9 * 37 * 100
    assert held["uint8"] == (0, 0, dense + 9 * 8)
    assert held["memmap"][0] == dense + 9 * 8 + 128 and held["memmap"][1:] == (0, 0)
    assert held["memory"][1] <= 2 * dense and held["memory"][0] == held["memory"][2] == 0
    assert held["coo"][2] > held["uint8"][2] > held["packed"][2] > dense / 8
    assert (
        held["disk"][0] > 0
        and held["naive"][0] == (recordings["ssc"] / "SSC" / "ssc_train.h5").stat().st_size
    )


def test_a_count_that_a_byte_does_not_hold_is_refused(tmp_path):
    made(tmp_path, "ssc", 3)
    with h5py.File(tmp_path / "SSC" / "ssc_train.h5", "r+") as file:
        file["spikes/times"][1] = np.full(300, 0.25, np.float16)
        file["spikes/units"][1] = np.full(300, 7, np.uint16)
    for construction in ("uint8", "memmap"):
        with pytest.raises(
            Unsupported, match="a frame counts 300 events in one place, and uint8 holds 255"
        ):
            built(data_case("frames", construction, samples=3), tmp_path, tmp_path / construction)
    case = data_case("frames", "packed", samples=3)
    # tonic puts the events of a recording that lasts no time into one frame.
    check(
        built(case, tmp_path, tmp_path / "packed"),
        case,
        Epoch([1, 0, 2]),
        frames_of_tonic(tmp_path, case),
    )


@pytest.mark.parametrize(
    ("construction", "changes", "words"),
    [
        (
            "packed",
            {"loaders": 2},
            "packed keeps the frames on the device: it has no use for loaders and pinned memory",
        ),
        ("memmap", {"pinned": True}, "pinned memory is for copies to a GPU"),
        ("memmap", {"samples": 2}, "an epoch of 2 samples has no batch of 3"),
        ("sparse", {}, "frames has no construction 'sparse' (it has packed, uint8, memmap)"),
    ],
)
def test_what_means_nothing_is_refused(construction, changes, words):
    case = data_case("frames", construction, **changes)
    assert (
        registry.load(registry.LOADING["frames"]).refuses(case, WORKLOADS["data"].network(case))
        == words
    )


def test_ours_are_as_leanly_kept_as_promised(tmp_path):
    """At SSC's own size: a quarter of uint8's bytes, a twelfth of COO's."""
    folder = made(tmp_path / "ssc", "ssc", 32)
    kept = {}
    for framework, construction in (("frames", "packed"), ("frames", "uint8"), ("tonic", "coo")):
        case = data_case(framework, construction, samples=32, time_steps=250, batch=16)
        kept[construction] = built(case, folder, tmp_path / construction).device_bytes()
    assert kept["packed"] <= 0.3 * kept["uint8"] and kept["packed"] <= 0.1 * kept["coo"]


def test_making_recordings_is_all_or_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SNNBENCH_CACHE", str(tmp_path))
    told = []
    one = files.Shelf(None, told.append)

    def interrupted(data, counts, seed, out):
        for number, step in enumerate(make(data, counts, seed, out)):
            if number == 5:
                raise KeyboardInterrupt
            yield step

    monkeypatch.setattr(files, "make", interrupted)
    case = data_case("frames", "packed")
    with pytest.raises(KeyboardInterrupt):
        one.of(case)
    assert not list(tmp_path.rglob("*.h5"))
    monkeypatch.setattr(files, "make", make)
    folder = one.of(case)
    assert (
        (folder / "SSC" / "ssc_train.h5").is_file()
        and one.folders == [folder]
        and told[-1].endswith("9 of 9 recordings made")
    )
    assert files.Shelf(None).of(case) == folder


def test_bytes_that_are_read_of_a_folder_are_those_of_its_first_files(recordings, tmp_path):
    case, files = (
        data_case("tonic", "naive", dataset="synthetic-nmnist", samples=4),
        recordings["nmnist"] / "NMNIST" / "Train",
    )
    sizes = {path.name: path.stat().st_size for path in files.rglob("*.bin")}
    assert built(case, recordings["nmnist"], tmp_path / "cache").disk_bytes() == sum(
        sizes[f"{n:05d}.bin"] for n in range(4)
    )


def test_what_does_not_fit_is_refused_before_it_runs():
    case = data_case(
        "frames", "packed", dataset="synthetic-dvsgesture", samples=128, batch=64, time_steps=300
    )
    assert (
        "take fewer time steps" in too_large(case)
        and too_large(replace(case, time_steps=25, batch=16)) is None
    )
