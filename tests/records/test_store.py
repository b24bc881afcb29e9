"""Records are written whole or not at all, and can be read for good."""

import json
import subprocess
import sys

import pytest
from support.paths import GOLDEN

from snnbench.files import write_atomically
from snnbench.mistakes import ConfigError
from snnbench.records.record import Record
from snnbench.records.store import ResultFolder

RECORD = GOLDEN / "record-2.json"


def golden() -> dict:
    return json.loads(RECORD.read_text())


KILLED = """
import os, signal, sys
from pathlib import Path
from snnbench import files
setattr(files.os, sys.argv[2], lambda *a: os.kill(os.getpid(), signal.SIGKILL))
files.write_atomically(Path(sys.argv[1]), "new" * 100_000)
"""


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_process_killed_while_writing_leaves_the_old_file(tmp_path, step):
    path = tmp_path / "records" / "file.json"
    write_atomically(path, "old")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), step], timeout=60)
    assert ended.returncode == -9
    assert path.read_text() == "old"
    (sentence,) = ResultFolder(tmp_path).read_records()[1]  # the temporary is no record
    assert sentence.startswith(f"{path} is not a record of schema 2: Invalid JSON")
    ResultFolder(tmp_path).remove_leftovers()
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]


def test_leftovers_are_removed_and_results_kept(tmp_path):
    for name in ("scratch/run/job.json", "problems/a.partial.npz", "problems/a.npz", "records/.a.json.7.tmp", "records/a.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    ResultFolder(tmp_path).remove_leftovers()
    left = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(left) == ["problems/a.npz", "records/a.json"]


@pytest.mark.parametrize(
    "spoilt, said",
    [
        ({"schema": 99}, "schema: Input should be 2"),
        ({"case": {**golden()["case"], "neurons": "xx"}}, "case: Value error, neurons = 'xx' is not of type int"),
        ({"case": {**golden()["case"], "neurone": 97}}, "neurone"),
        ({"case": {}}, "case: Value error, not a case: 'neuron'"),
        ({"block": "first"}, "block: Input should be a valid integer"),
    ],
)
def test_what_no_run_writes_is_no_record_and_the_sentence_says_why(tmp_path, spoilt, said):
    path = tmp_path / "records" / "spoilt.json"
    write_atomically(path, json.dumps({**golden(), **spoilt}))
    records, (sentence,) = ResultFolder(tmp_path).read_records()
    assert records == [] and sentence.startswith(f"{path} is not a record of schema 2: ") and said in sentence


def test_the_golden_record_can_still_be_read():
    """Written by an earlier version: whoever changes the schema must still read it, or raise the version."""
    record = Record.model_validate(golden())
    assert (record.status, record.block, record.schema_version) == ("ok", 0, 2)
    assert record.typed_case.framework == "numpy"
    assert record.typed_case.neuron.label() == "soft"
    assert record.timing("step").slots[0].samples and record.timing("step").device_clock == "process"
    assert set(record.memory) == {"forward", "backward", "step", "inference"}
    assert record.proof["passed"] is True


def test_a_record_comes_back_as_it_was_written(tmp_path):
    record = Record.model_validate(golden())
    path = ResultFolder(tmp_path).write_record(record)
    assert path.name == f"{record.case_id}-{record.block}-{record.done_key}.json"
    assert ResultFolder(tmp_path).read_records() == ([record], [])
    assert json.loads(path.read_text()) == golden()


def test_what_json_has_no_word_for_is_unknown(tmp_path):
    record = Record.model_validate({**golden(), "ceilings": {"flops_per_s": float("inf"), "bytes_per_s": float("nan")}})
    path = ResultFolder(tmp_path).write_record(record)
    assert json.loads(path.read_text())["ceilings"] == {"flops_per_s": None, "bytes_per_s": None}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace('"status"', '"state"'),
        lambda text: "[]",
        lambda text: text.replace('"block": 0', '"block": "first"'),
    ],
)
def test_a_damaged_record_is_reported_and_the_others_read(tmp_path, damage):
    ResultFolder(tmp_path).write_record(Record.model_validate(golden()))
    (tmp_path / "records" / "damaged.json").write_text(damage(RECORD.read_text()))
    records, unreadable = ResultFolder(tmp_path).read_records()
    assert len(records) == 1
    assert len(unreadable) == 1
    assert "damaged.json is not a record" in unreadable[0]


def test_records_are_read_once_and_what_is_written_counts_as_read(tmp_path):
    folder, record = ResultFolder(tmp_path), Record.model_validate(golden())
    assert folder.read_records() == ([], [])
    folder.write_record(record)
    folder.record_path("other", 0, "k").write_text("{")
    assert folder.read_records() == ([record], []), "nobody else writes there"
    assert folder.record(record.case_id, record.block, record.done_key) == record
    assert folder.record(record.case_id, 1, record.done_key) is None
    again = ResultFolder(tmp_path)
    assert again.read_records()[0] == [record] and len(again.read_records()[1]) == 1


def test_a_record_that_cannot_be_read_is_set_aside(tmp_path):
    path = ResultFolder(tmp_path).record_path("id", 0, "key")
    write_atomically(path, "{")
    folder = ResultFolder(tmp_path)
    assert folder.set_aside("id", 1, "key") is None
    assert folder.set_aside("id", 0, "key") == f"{path} cannot be read: kept as id-0-key.damaged, and measured again"
    assert folder.set_aside("id", 0, "key") is None
    assert folder.read_records() == ([], []) and [each.name for each in folder.records.iterdir()] == ["id-0-key.damaged"]


def test_one_run_writes_at_a_time(tmp_path):
    second = ResultFolder(tmp_path)
    with ResultFolder(tmp_path).locked(), pytest.raises(ConfigError, match="another run is writing there"), second.locked():
        raise AssertionError("the lock is held")
    with ResultFolder(tmp_path).locked():
        pass


def test_a_part_of_a_plan_adds_to_what_the_folder_knows(tmp_path):
    folder = ResultFolder(tmp_path)
    assert folder.read_planned() == ({}, [])
    folder.write_planned({"a": "case a", "b": "case b"})
    folder.write_planned({"b": "case B"}, of_more=True)
    assert folder.read_planned() == ({"a": "case a", "b": "case B"}, [])
    folder.write_planned({"b": "case b"})
    assert folder.read_planned() == ({"b": "case b"}, [])
    folder.planned.write_text("[]")
    names, (sentence,) = folder.read_planned()
    assert not names and "must hold the names" in sentence
    folder.write_planned({"c": "case c"}, of_more=True)
    assert folder.read_planned() == ({"c": "case c"}, [])
