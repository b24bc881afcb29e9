"""`snnbench bundle` and `snnbench verify` on the command line: files, sentences, exit codes, JSON."""

import json
import shutil

import pytest
from platformdirs import user_cache_path
from support.forgery import Forged, written
from support.paths import FAULTY, ROOT, committed
from support.synthetic import blocks

from snnbench.core.case import Case, full_name
from snnbench.records.store import ResultFolder

QUICKSTART = committed("quickstart")
SECRET = "zanzibar-lab"


@pytest.fixture(scope="module")
def bundled(snnbench_module):
    ended = snnbench_module("bundle", QUICKSTART, "--by", "neuro", "--note", "a quiet machine")
    assert ended.exit_code == 0, ended.stderr
    return snnbench_module.folder / "quickstart.bundle.jsonl", ended


def test_a_bundle_is_named_like_its_experiment_and_verifies(bundled, snnbench_module):
    path, ended = bundled
    assert "60 records (54 ok, 6 unsupported)" in ended.stdout
    assert "snnbench verify quickstart.bundle.jsonl" in ended.stdout
    assert "licence CC-BY-4.0: others may show it with your name" in ended.stdout
    verified = snnbench_module("verify", path)
    assert verified.exit_code == 0
    assert "60 records, no fault" in verified.stdout
    header = json.loads(path.read_text().splitlines()[0])
    assert (header["by"], header["note"], header["licence"]) == (
        "neuro",
        "a quiet machine",
        "CC-BY-4.0",
    )


def test_a_run_of_a_network_of_ones_own_is_refused(snnbench_module):
    folder = snnbench_module.folder / "own"
    nothing = dict.fromkeys(("layers", "neurons", "bias"))
    for one in blocks("torch", workload="network", network="mine@0123456789abcdef", **nothing):
        ResultFolder(folder).write_record(one)
    ended = snnbench_module("bundle", folder)
    sentence = (
        "has cases of mine, your own networks, which others could not verify; "
        "publish its report with the network's file and the config instead"
    )
    assert ended.exit_code == 2 and ended.stderr.strip().endswith(sentence), ended.stderr


def test_json(bundled, snnbench_module):
    path, _ = bundled
    made = json.loads(
        snnbench_module(
            "bundle", QUICKSTART, "--out", "again.bundle.jsonl", "--by", "neuro", "--json"
        ).stdout
    )
    assert (made["file"], made["records"], made["unreadable"]) == ("again.bundle.jsonl", 60, [])
    told = snnbench_module("verify", path, "--json")
    (one,) = json.loads(told.stdout)["bundles"]
    assert (one["sound"], one["faults"], one["by"], one["name"]) == (
        True,
        [],
        "neuro",
        "quickstart",
    )
    assert one["remarks"] == [
        "it has no plan: its cases are checked against its experiment's grid, which does not name frameworks"
    ]


def test_a_forged_one_is_exit_4_and_each_fault_a_line(bundled, snnbench_module):
    forged = Forged(bundled[0].read_text())
    forged.results[0]["step_s"] *= 0.5
    forged.timed("norse")["proof"]["stages"][0]["findings"] = ["wrong\x1b[2J"]
    path = written(snnbench_module.folder / "notes", forged.text())
    assert snnbench_module("bundle", committed("natives")).exit_code == 0
    ended = snnbench_module("verify", snnbench_module.folder / "notes", "natives.bundle.jsonl")
    assert ended.exit_code == 4
    lines = [line for line in ended.stdout.splitlines() if "✗" in line]
    assert [line.split()[1] for line in lines] == ["form:", "verdict:", "time:"]
    assert "\x1b" not in ended.stdout
    assert "natives.bundle.jsonl: 43 records, no fault" in ended.stdout
    faults = json.loads(snnbench_module("verify", path, "--json").stdout)["bundles"][0]["faults"]
    assert [fault["kind"] for fault in faults] == ["form", "verdict", "time"]


def test_an_unfinished_run_says_what_is_missing_and_how_to_go_on(snnbench, quickstart_folder):
    """Some cases lack their last block, one was interrupted, and one that was planned has no record
    at all."""
    shutil.copytree(quickstart_folder, snnbench.folder / "mine")
    records = {
        path: json.loads(path.read_text())
        for path in sorted((snnbench.folder / "mine" / "records").iterdir())
    }
    names = {
        record["case_id"]: full_name(Case.from_dict(record["case"])) for record in records.values()
    }
    (snnbench.folder / "mine" / "planned.json").write_text(json.dumps(names))
    timed = [
        path
        for path, record in records.items()
        if record["status"] == "ok" and record["block"] == 2
    ]
    for path in timed[:7]:
        path.unlink()
    gone = records[timed[7]]["case_id"]
    for path, record in records.items():
        if record["case_id"] == gone:
            path.unlink()
    timed[8].write_text(
        json.dumps(
            {**records[timed[8]], "status": "interrupted", "reason": "the run was interrupted"}
        )
    )
    ended = snnbench("bundle", "mine", "--out", "mine.bundle.jsonl")
    assert ended.exit_code == 3
    counts = "1 planned cases have no record, 1 records are of cases that were interrupted, 7 cases lack a block"
    assert f"mine: the run has not come to its end: {counts}" in ended.stderr
    assert (
        "to go on: snnbench run --config CONFIG --out mine, with the --adapter that it had, if any; "
        "it measures only what is missing; then bundle again"
    ) in ended.stderr
    assert "next: snnbench verify mine.bundle.jsonl" in ended.stdout
    assert len(json.loads(snnbench("bundle", "mine", "--json").stdout)["unfinished"]) == 3


def test_shards_of_a_run_are_no_unfinished_ones(snnbench, quickstart_folder):
    """A comparison is in one shard as a whole; the others are planned too."""
    shutil.copytree(quickstart_folder, snnbench.folder / "shard")
    records = {
        path: json.loads(path.read_text())
        for path in sorted((snnbench.folder / "shard" / "records").iterdir())
    }
    names = {
        record["case_id"]: full_name(Case.from_dict(record["case"])) for record in records.values()
    }
    (snnbench.folder / "shard" / "planned.json").write_text(json.dumps(names))
    for path, record in records.items():
        if record["case"]["neuron"]["reset"] == "soft":
            path.unlink()
    ended = snnbench("bundle", "shard")
    assert (ended.exit_code, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify", "nothing.bundle.jsonl"], "there is no such file"),
        (["verify", "."], "holds no *.bundle.jsonl"),
        (
            ["verify", "text.bundle.jsonl"],
            "is no bundle: its first line is not that of a bundle of format 1: it is no JSON",
        ),
        (["verify", "deep.bundle.jsonl"], "it is nested more than 201 levels deep"),
        (["bundle", "nothing"], "there is no such folder"),
        (["bundle", "."], "no records there"),
        (["bundle", QUICKSTART, "--out", "x.json"], "must end with .bundle.jsonl"),
        (["bundle", QUICKSTART, "--by", "a/b"], "must be a name on GitHub"),
        (["bundle", QUICKSTART, "--note", "x" * 201], "has 201 characters"),
    ],
)
def test_a_mistake_is_one_sentence(snnbench, arguments, words):
    no_bundles = {"text.bundle.jsonl": "hello\n", "deep.bundle.jsonl": "[" * 973 + "]" * 973 + "\n"}
    if arguments[1] in no_bundles:
        (snnbench.folder / arguments[1]).write_text(no_bundles[arguments[1]])
    ended = snnbench(*arguments)
    assert ended.exit_code == 2
    assert words in ended.message


def test_files_that_are_no_bundle_are_named_and_the_others_are_verified(snnbench):
    good = ROOT / "results" / "data.bundle.jsonl"
    shutil.copy(good, snnbench.folder / "good.bundle.jsonl")
    (snnbench.folder / "a-note.bundle.jsonl").write_text("hello\n")
    ended = snnbench("verify", ".")
    assert ended.exit_code == 2 and "a-note.bundle.jsonl is no bundle: " in ended.message
    assert "good.bundle.jsonl: " in ended.stdout and "no fault" in ended.stdout
    document = json.loads(snnbench("verify", ".", "--json").stdout)
    assert [bundle["file"] for bundle in document["bundles"]] == ["good.bundle.jsonl"]
    assert len(document["no_bundles"]) == 1
    text = good.read_text().replace('"status":"ok"', '"status":"timeout"', 1)
    (snnbench.folder / "wrong.bundle.jsonl").write_text(text)
    assert snnbench("verify", ".").exit_code == 4, "a fault counts more"


@pytest.mark.slow
@pytest.mark.frameworks
def test_a_bundle_made_in_a_secret_home_holds_no_such_word(snnbench):
    """Adapters that tell where they are, who runs them and what they know, in every text that is
    recorded."""
    home, adapters = snnbench.folder / "home" / SECRET, snnbench.folder / "client-xyz"
    for folder in (home, adapters):
        folder.mkdir(parents=True)
    for name in ("telling.py", "numpy_network.py"):
        shutil.copy(FAULTY / name, adapters / name)
    snnbench.environment |= {
        "HOME": str(home),
        "USER": SECRET,
        "SNNBENCH_CACHE": str(user_cache_path("snnbench")),
    }
    telling = {
        "tells": "Tells",
        "tells-why": "TellsWhy",
        "tells-late": "TellsLate",
        "tells-at-once": "TellsAtOnce",
    }
    config = snnbench.config(
        [*telling], [f"{adapters}/telling.py:{name}" for name in telling.values()], name=SECRET
    )
    ended = snnbench.run(config, out=home / "results")
    assert len(ended.records) == 4, ended.stderr
    made = snnbench("bundle", home / "results", "--out", "mine.bundle.jsonl")
    assert made.exit_code == 0, made.stderr
    text = (snnbench.folder / "mine.bundle.jsonl").read_text()
    for word in (SECRET, "zanzibar", "client-xyz", str(home), str(ROOT), "Traceback", "secret"):
        assert word not in text, (word, text[max(text.find(word) - 200, 0) :][:300])
    verified = snnbench("verify", "mine.bundle.jsonl")
    assert verified.exit_code == 0, verified.stdout
    assert "third-party adapters, known by their hash only" in verified.stdout
