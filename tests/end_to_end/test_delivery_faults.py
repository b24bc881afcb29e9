"""Interrupted, full and damaged caches and recordings, by the real command line."""

import json
import signal

import h5py
import numpy as np
import psutil
import pytest
from support.command_line import MAKE_DATA
from support.deliveries import STRATEGIES, configured
from support.limits import small_files
from support.paths import FAULTY
from support.slow import representatives
from support.waiting import until

from snnbench.common.files import PREFIX

CACHES = FAULTY / "caches.py"
SIGNALS = representatives([signal.SIGINT, signal.SIGKILL], [1])


def leftovers(folder):
    return [
        path
        for path in folder.rglob("*")
        if path.name.startswith((PREFIX, ".snnbench-")) or "unfinished" in path.name
    ]


@pytest.mark.slow
@pytest.mark.parametrize("sent", SIGNALS)
@pytest.mark.parametrize(
    ("name", "of"), representatives([("held-disk", "HeldDisk"), ("held-memmap", "HeldMemmap")], [0])
)
def test_an_interrupted_cache_is_built_anew(snnbench, name, of, sent):
    config, out = configured(snnbench, [name], [f"{CACHES}:{of}"]), snnbench.folder / "out"
    (snnbench.notes / "hold").touch()
    process = snnbench.start("run", "--config", config, "--out", out)
    until((snnbench.notes / "held").exists, process, "a half of the cache")
    (half,) = out.rglob("frames.unfinished")
    assert any(half.iterdir()) and not half.with_name("frames").exists()
    process.send_signal(sent)
    ended = snnbench.end(process)
    (snnbench.notes / "hold").unlink()
    if sent == signal.SIGINT:
        assert ended.exit_code == 130 and not leftovers(out)
        assert [record["status"] for record in ended.records] == ["interrupted"]
    else:
        assert (
            ended.exit_code == -9 and leftovers(out) and not list((out / "records").glob("*.json"))
        )
    again = snnbench.run(config)
    assert again.exit_code == 0, again.stderr
    assert [row["status"] for row in again.rows] == ["ok"] and again.records[0]["proof"]["passed"]
    assert not leftovers(out)


@pytest.mark.slow
@pytest.mark.parametrize("sent", SIGNALS)
def test_interrupted_recordings_are_made_anew(snnbench, sent):
    config = configured(snnbench, ["frames:packed"], samples=[1500], dataset=["synthetic-nmnist"])
    process = snnbench.start("run", "--config", config, "--out", "out")
    cache = snnbench.folder / "cache" / "recordings"
    until(lambda: any(cache.rglob("*.bin")), process, "the first recording")
    process.send_signal(sent)
    assert snnbench.end(process).exit_code == (130 if sent == signal.SIGINT else -9)
    assert not list(cache.glob("*/NMNIST"))
    ended = snnbench.run(config)
    assert ended.exit_code == 0 and ended.rows[0]["status"] == "ok", ended.stderr
    assert len(list(cache.glob("*/NMNIST/Train/*/*.bin"))) == 1500 and not leftovers(cache)


@pytest.mark.slow
def test_a_full_disk_while_a_cache_is_built_is_the_end_of_that_case_alone(snnbench):
    names = {"full-disk": "FullDisk", "full-memmap": "FullMemmap"}
    config = configured(
        snnbench,
        [*names, "frames:uint8"],
        [f"{CACHES}:{of}" for of in names.values()],
        time_steps=[250],
    )
    ended = snnbench.run(config)
    assert ended.exit_code == 3
    where = "keeps is written where the run's scratch is (SNNBENCH_SCRATCH names another place)"
    assert {row["framework"]: (row["status"], row["reason"]) for row in ended.rows} == {
        **{name: ("build_error", f"File too large: what {name} {where}") for name in names},
        "frames": ("ok", ""),
    }
    assert not leftovers(ended.folder)


@pytest.mark.parametrize("name", ["ssc", "nmnist"])
def test_a_full_disk_while_recordings_are_made_is_one_sentence(snnbench, name):
    with small_files(4000):
        ended = snnbench.make_data(name, "--samples", "8", "--out", "made")
    folder = {"ssc": "SSC", "nmnist": "NMNIST"}[name]
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert (
        ended.stderr.strip()
        == f"snnbench: File too large: made/{folder}; allow larger files (ulimit -f)"
    )
    assert list((snnbench.folder / "made").iterdir()) == []
    assert snnbench.make_data(name, "--samples", "8", "--out", "made").exit_code == 0


def of_heaps(file):
    """The lists' contents lie in global heaps (signature GCOL)."""
    file.write_bytes(file.read_bytes().replace(b"GCOL", b"XXXX"))


def without(name):
    def change(file):
        with h5py.File(file, "r+") as opened:
            opened.pop(name)

    return change


def foreign(file):
    with h5py.File(file, "w") as opened:
        opened["images"] = np.zeros((28, 7))


def nan_in_the_fifth(file):
    with h5py.File(file, "r+") as opened:
        times = opened["spikes/times"][4]
        times[7] = np.nan
        opened["spikes/times"][4] = times


DAMAGE = {
    "is damaged, or no HDF5 file": lambda file: file.write_bytes(file.read_bytes()[:20_000]),
    "is damaged, or no HDF5 file: ": lambda file: file.write_text("no HDF5 at all"),
    "spikes/times is damaged at recordings 0 to 27": of_heaps,
    "recording 4: event 7 has the time nan: times must be finite": nan_in_the_fifth,
    "spikes/units is missing: it must hold lists of whole numbers (channels) for every recording": without(
        "spikes/units"
    ),
    "spikes/times is missing: it must hold lists of floats (seconds) for every recording": foreign,
}


@pytest.fixture
def real(snnbench):
    """A folder of recordings as a user has them."""
    assert snnbench.make_data("shd", "--samples", "28", "--out", "real").exit_code == 0
    return snnbench.folder / "real" / "SHD" / "shd_train.h5"


@pytest.mark.parametrize("words", representatives(DAMAGE, [0]))
def test_a_damaged_file_is_named_in_every_record(snnbench, real, words):
    DAMAGE[words](real)
    some = STRATEGIES if "units" in words else ["tonic:naive", "frames:packed"]
    ended = snnbench.run(configured(snnbench, some, dataset=["shd"]), "--set", "data.folder=real")
    assert ended.exit_code == 3
    (reason,) = {row["reason"] for row in ended.rows}
    assert f"real/SHD/shd_train.h5: {words}" in reason and "\n" not in reason
    assert {row["status"] for row in ended.rows} == {"build_error"}


def written_as_shd(path, recordings, labels):
    """A file in the layout of zenkelab.org's SHD, of (seconds, channels) of every recording."""
    path.parent.mkdir(parents=True)
    path.with_name(f"{path.name}.zip").touch()
    of_speakers = {"gender": "S6", "age": np.uint16, "body_height": np.uint16}
    with h5py.File(path, "w") as file:
        for name, kind, column in (("times", np.float16, 0), ("units", np.uint16, 1)):
            shape, lists = (len(recordings),), h5py.vlen_dtype(kind)
            data = file.create_dataset(f"spikes/{name}", shape, lists)
            for number, recording in enumerate(recordings):
                data[number] = recording[column].astype(kind)
        file["labels"] = labels.astype(np.uint16)
        file["extra/speaker"] = (labels % 12).astype(np.uint16)
        file["extra/keys"] = np.array([f"class {label}" for label in range(20)], "S8")
        for name, kind in of_speakers.items():
            file[f"extra/meta_info/{name}"] = np.zeros(12, kind)


NOT_DELIVERED = {
    "recording 3: has no events": lambda t, x: (t[:0], x[:0]),
    "recording 3: event 1 is earlier than the one before it: ": lambda t, x: (t[::-1], x[::-1]),
}


@pytest.mark.slow
def test_a_file_of_shd_s_own_layout_is_delivered_and_trained_on(snnbench):
    random = np.random.default_rng(46)
    counts = random.integers(200, 2000, 28)
    recordings = [
        (np.sort(random.uniform(0, 1.1, count)), random.integers(700, size=count))
        for count in counts
    ]
    labels = random.integers(20, size=28)
    path = snnbench.folder / "real" / "SHD" / "shd_train.h5"
    written_as_shd(path, recordings, labels)
    some = ["tonic:naive", "frames:uint8"]
    config = configured(snnbench, some, dataset=["shd"], behind=["fused"])
    ended = snnbench.run(config, "--set", "data.folder=real")
    assert ended.exit_code == 0, ended.stdout + ended.stderr
    assert {(row["dataset"], row["status"]) for row in ended.rows} == {("shd", "ok")}
    for words, change in NOT_DELIVERED.items():
        wrong = snnbench.folder / f"wrong-{len(words)}"
        changed = [change(*each) if i == 3 else each for i, each in enumerate(recordings)]
        written_as_shd(wrong / "SHD" / "shd_train.h5", changed, labels)
        ended = snnbench.run(config, "--set", f"data.folder={wrong.name}")
        assert ended.exit_code == 3
        (reason,) = {row["reason"] for row in ended.rows}
        assert f"SHD/shd_train.h5: {words}" in reason and "\n" not in reason
        assert {row["status"] for row in ended.rows} == {"build_error"}


@pytest.mark.slow
def test_fewer_recordings_than_are_asked_for_is_a_sentence(snnbench, real):
    config = configured(snnbench, STRATEGIES, dataset=["shd"], samples=[29])
    ended = snnbench.run(config, "--set", "data.folder=real")
    assert ended.exit_code == 3 and len(ended.rows) == 7
    for row in ended.rows:
        assert row["reason"].endswith(
            "shd_train.h5: has 28 recordings, and grid.samples asks for 29"
        ), row["reason"]


@pytest.mark.slow
def test_recordings_that_are_replaced_are_measured_again(snnbench, real):
    """And a single file without its archive is read by tonic too."""
    real.with_name("shd_train.h5.zip").unlink()
    some = ["tonic:naive", "frames:uint8"]
    config = configured(snnbench, some, dataset=["shd"], samples=[28])
    first = snnbench.run(config, "--set", "data.folder=real")
    assert first.exit_code == 0, first.stderr
    assert (
        snnbench.make_data("shd", "--samples", "28", "--out", "other", "--seed", "5").exit_code == 0
    )
    again = snnbench.run(config, "--set", "data.folder=other")
    assert "measured again: other recordings (2 cases)" in again.stderr
    contents = {record["recordings"] for record in again.records}
    assert len(again.records) == 4 and len(contents) == 2
    assert len({row["recordings"] for row in again.rows}) == 1, "the newest counts"
    options = ("--set", "data.folder=real", "--out", again.folder, "--json")
    back = snnbench("plan", "--config", config, *options)
    assert {case["state"] for case in json.loads(back.stdout)["cases"]} == {"done"}


@pytest.mark.slow
def test_no_worker_outlives_an_interrupted_build(snnbench):
    (snnbench.notes / "hold").touch()
    config = configured(snnbench, ["held-disk"], [f"{CACHES}:HeldDisk"])
    process = snnbench.start("run", "--config", config, "--out", "out")
    until((snnbench.notes / "held").exists, process, "a half of the cache")
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    assert children and psutil.wait_procs(children, timeout=10)[1] == []


@pytest.mark.parametrize("sent", SIGNALS)
def test_interrupted_files_are_not_there(snnbench, sent):
    made = snnbench.folder / "made"
    process = snnbench.start("ssc", "--samples", 4000, "--out", made, command=MAKE_DATA)
    until(
        lambda: any(made.rglob("ssc_train.h5")) or any(made.rglob("CACHEDIR.TAG")),
        process,
        "its folder",
    )
    process.send_signal(sent)
    ended = snnbench.end(process)
    assert ended.exit_code == (130 if sent == signal.SIGINT else -9) and not (made / "SSC").exists()
    if sent == signal.SIGINT:
        assert (
            ended.stderr.strip().startswith("snnbench: interrupted") and list(made.iterdir()) == []
        )
    assert snnbench.make_data("ssc", "--samples", "8", "--out", made).exit_code == 0
    assert [path.name for path in made.iterdir()] == ["SSC"]
