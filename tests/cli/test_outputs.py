"""An output never replaces an input, another experiment, or a file that is not of that kind."""

import json
import shutil

import pytest
from support.paths import committed
from support.synthetic import record
from support.trees import tree

from snnbench.records.store import ResultFolder, SetPlan

CHECKED = [{"case": {"neuron": {"reset": "soft"}, "precision": "fp32"}, "status": "ok"}]
INPUT = "is one of the inputs, which must stay as they are; choose another --out"
OTHER = "holds the experiment 'other', not 'mine'; choose another --out"


@pytest.fixture
def present(snnbench):
    """Folders `mine` and `other` of two experiments, bundles of others, a site, and JSON files."""
    folder = snnbench.folder
    for name in ("mine", "other"):
        results = ResultFolder(folder / name)
        results.make()
        results.write_plan(SetPlan({"name": name}))
        results.write_record(record("torch", neurons=97))
    (folder / "site").mkdir()
    (folder / "site" / ".snnbench-site").write_text("")
    for path in ("memory.bundle.jsonl", "site/memory.bundle.jsonl"):
        shutil.copy(committed("memory"), folder / path)
    (folder / "link").symlink_to("mine")
    (folder / "link.bundle.jsonl").symlink_to("memory.bundle.jsonl")
    (folder / "notes.bundle.jsonl").write_text("my notes")
    (folder / "checked.json").write_text(json.dumps(CHECKED))
    (folder / "package.json").write_text('{"name": "mine", "message": "hello"}')
    (folder / "experiment.toml").write_text("seed = 3")
    return snnbench


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("merge mine other --out other", INPUT),
        ("merge mine other --out link", INPUT),
        ("merge mine other --out mine/records", "lies among records of a run"),
        ("report mine other --out other", INPUT),
        ("report mine --out link/records/new", "lies among records of a run"),
        ("report mine --out other", OTHER),
        ("report memory.bundle.jsonl --out other", "holds the experiment 'other', not 'memory'"),
        ("bundle memory.bundle.jsonl", INPUT),
        ("bundle link.bundle.jsonl --out memory.bundle.jsonl", INPUT),
        ("bundle mine --out memory.bundle.jsonl", "the experiment 'memory', not 'mine'"),
        ("bundle mine --out notes.bundle.jsonl", "is no bundle of snnbench, and is not replaced"),
        (
            "site site/memory.bundle.jsonl --out site",
            "holds the input site/memory.bundle.jsonl, and all that is in it is replaced",
        ),
        ("badge checked.json --out checked.json", INPUT),
        ("badge checked.json --out package.json", "is no badge of snnbench, and is not replaced"),
        ("init experiment.toml", "exists already; name another file"),
    ],
)
def test_what_is_there_stays_and_one_sentence_says_why(present, line, words):
    before = tree(present.folder)
    ended = present(*line.split())
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert words in ended.message
    assert tree(present.folder) == before


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("merge mine --out new", "new/results.csv"),
        ("report mine --out mine", "mine/results.csv"),
        ("report mine other --out new", "new/results.csv"),
        ("bundle mine --out mine.bundle.jsonl", "mine.bundle.jsonl"),
        ("badge checked.json --out new.json", "new.json"),
    ],
)
def test_an_output_of_the_same_experiment_is_written_again(present, line, written):
    for _ in range(2):
        assert present(*line.split()).exit_code in (0, 3)
        assert (present.folder / written).is_file()
