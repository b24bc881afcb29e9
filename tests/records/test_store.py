"""Records are written whole or not at all, and can be read for good."""

import copy
import errno
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import GOLDEN

from snnbench import files
from snnbench.executors.launch import Outcome, _read_events
from snnbench.files import write_atomically
from snnbench.records.fold import fold, unfinished_part
from snnbench.records.record import Record
from snnbench.records.store import read_records, remove_leftovers, write_record
from snnbench.run.outcome import verdict
from snnbench.status import STATUSES

RECORD = GOLDEN / "record-1.json"


def golden() -> dict:
    return json.loads(RECORD.read_text())


# -- writing ----------------------------------------------------------------------------------------------------


def test_a_file_appears_whole_with_its_folder(tmp_path):
    write_atomically(tmp_path / "new" / "file", "text\n")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]
    assert (tmp_path / "new" / "file").read_text() == "text\n"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    write_atomically(path, "old")

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, step, full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


def test_text_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(files.os, name, lambda *a, name=name, real=real: (calls.append(name), real(*a))[1])
    write_atomically(tmp_path / "file", "text")
    assert calls == ["fsync", "replace", "fsync"], "the file, its name, and the folder that holds the name"


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
    (sentence,) = read_records(tmp_path)[1]  # the temporary is no record
    assert sentence.startswith(f"{path} is not a record of schema 1: Invalid JSON")
    remove_leftovers(tmp_path)
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]


def test_leftovers_are_removed_and_results_kept(tmp_path):
    for name in ("scratch/run/job.json", "problems/a.partial.npz", "problems/a.npz", "records/.a.json.7.tmp", "records/a.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    left = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(left) == ["problems/a.npz", "records/a.json"]


# -- reading ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoilt, said",
    [
        ({"schema": 99}, "schema: Input should be 1"),
        ({"case": {**golden()["case"], "neurons": "xx"}}, "case: Value error, neurons = 'xx' is not of type int"),
        ({"case": {**golden()["case"], "neurone": 97}}, "neurone"),
        ({"case": {}}, "case: Value error, not a case: 'neuron'"),
        ({"round": "first"}, "round: Input should be a valid integer"),
    ],
)
def test_what_no_run_writes_is_no_record_and_the_sentence_says_why(tmp_path, spoilt, said):
    path = tmp_path / "records" / "spoilt.json"
    write_atomically(path, json.dumps({**golden(), **spoilt}))
    records, (sentence,) = read_records(tmp_path)
    assert records == [] and sentence.startswith(f"{path} is not a record of schema 1: ") and said in sentence


def test_the_golden_record_can_still_be_read():
    """Written by an earlier version: whoever changes the schema must still read it, or raise the version."""
    record = Record.model_validate(golden())
    assert (record.status, record.round, record.schema_version) == ("ok", 0, 1)
    assert record.typed_case.framework == "numpy"
    assert record.typed_case.neuron.label() == "soft"
    assert record.parts["step"].samples.stop_reason in ("converged", "noise_plateau", "budget")
    assert set(record.memory) == {"forward", "backward", "step", "inference"}
    assert record.proof["passed"] is True


def test_a_record_comes_back_as_it_was_written(tmp_path):
    record = Record.model_validate(golden())
    path = write_record(tmp_path, record)
    assert path.name == f"{record.case_id}-{record.round}-{record.done_key}.json"
    assert read_records(tmp_path) == ([record], [])
    assert json.loads(path.read_text()) == golden()


def test_what_json_has_no_word_for_is_unknown(tmp_path):
    record = Record.model_validate({**golden(), "ceilings": {"flops_per_s": float("inf"), "bytes_per_s": float("nan")}})
    path = write_record(tmp_path, record)
    assert json.loads(path.read_text())["ceilings"] == {"flops_per_s": None, "bytes_per_s": None}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace('"status"', '"state"'),
        lambda text: "[]",
        lambda text: text.replace('"round": 0', '"round": "first"'),
    ],
)
def test_a_damaged_record_is_reported_and_the_others_read(tmp_path, damage):
    write_record(tmp_path, Record.model_validate(golden()))
    (tmp_path / "records" / "damaged.json").write_text(damage(RECORD.read_text()))
    records, unreadable = read_records(tmp_path)
    assert len(records) == 1
    assert len(unreadable) == 1
    assert "damaged.json is not a record" in unreadable[0]


# -- folding events ---------------------------------------------------------------------------------------------


SAMPLES = {
    "wall": [1e-3] * 3,
    "enqueue": [1e-4] * 3,
    "device": [1e-3] * 3,
    "at": [0.0, 1e-3, 2e-3],
    "device_clock": "process",
    "warm_up_calls": 3,
    "warm_up_converged": True,
    "stop_reason": "budget",
}
MEMORY = {"forward": {"peak_bytes": 3, "extra_bytes": 1, "reserved_bytes": None}}
EVENTS = [
    {"part": "import"},
    {"part": "import", "status": "ok", "seconds": 0.25},
    {"part": "build"},
    {"part": "build", "status": "ok", "seconds": 0.5},
    {"part": "first_call"},
    {"part": "first_call", "status": "ok", "seconds": 0.5, "facts": {"output_dtype": "float32", "warnings": ["also trains tau"]}},
    {"part": "memory"},
    {"part": "memory", "status": "ok", "seconds": 0.5},
    {"part": "memory", "memory": MEMORY, "meaning": "host resident", "host_peak_bytes": 5},
    {"part": "proof"},
    {"part": "proof", "status": "ok", "seconds": 1.0},
    {"part": "proof", "proof": {"passed": True, "stages": []}},
    {"part": "forward"},
    {"part": "forward", "status": "ok", "seconds": 1.0},
    {"part": "recheck"},
    {"part": "recheck", "status": "ok", "seconds": 0.25},
    {"part": "forward", "samples": SAMPLES, "warnings": ["W-SYNC"], "facts": {"recompiles": 1}},
    {"part": "backward"},
    {"part": "backward", "status": "oom_host", "reason": "MemoryError", "seconds": 1.0},
    {"part": "recheck"},
    {"part": "recheck", "status": "ok", "seconds": 0.25},
    {"part": "ceilings", "status": "ok", "seconds": 0.25},
    {"part": "ceilings", "flops_per_s": 1e9, "bytes_per_s": 1e9},
    {"part": "forward", "floor_s": 1e-5},
    {"part": "end", "cpu_seconds": 3.0},
]


def recorded(events, **outcome):
    """The record that a runner would write for a worker that told these events."""
    folded = verdict(Outcome(events=copy.deepcopy(events), **outcome), "cpu")
    return Record.model_validate({**golden(), "proof": None, **folded})


def test_events_become_parts():
    record = recorded(EVENTS, exit_code=0)
    assert (record.status, record.reason) == ("oom_host", "MemoryError")
    assert record.parts["forward"].samples.wall == SAMPLES["wall"]
    assert (record.parts["forward"].status, record.parts["forward"].floor_s) == ("ok", 1e-5)
    assert record.parts["recheck"].seconds == 0.5, "it came twice"
    assert record.warnings == ["also trains tau", "W-SYNC"]
    assert record.facts == {"output_dtype": "float32", "recompiles": 1}, "what becomes known later is added"
    assert (record.memory, record.host_peak_bytes) == (MEMORY, 5)


ENDS = [{"exit_code": 0}, {"exit_code": 3}, {"signal": 11}, {"timed_out": True}]


@given(st.integers(0, len(EVENTS) - 1), st.sampled_from(ENDS))
def test_events_cut_anywhere_are_a_record_that_names_where(count, how):
    record = recorded(EVENTS[:count], **how)
    assert record.status == ("timeout" if "timed_out" in how else "crash")
    part = EVENTS[count - 1]["part"] if count else "start"
    assert f"in part {part!r}" in record.reason
    assert record.parts[part].status == record.status
    assert unfinished_part(EVENTS[:count]) == part


@given(st.integers(0, 4000))
def test_a_file_of_events_cut_at_any_byte_gives_its_whole_lines(tmp_path_factory, count):
    text = "".join(json.dumps(event) + "\n" for event in EVENTS)
    path = tmp_path_factory.getbasetemp() / f"events-{os.getpid()}"
    path.write_text(text[:count])
    assert _read_events(path) == EVENTS[: text[:count].count("\n")]


@given(st.lists(st.sampled_from(STATUSES), min_size=1))
def test_a_case_shows_its_worst_status_and_that_one_s_reason(statuses):
    events = [{"part": str(i), "status": s, "reason": f"{s}!"} for i, s in enumerate(statuses)]
    folded = fold([*events, {"part": "end"}])
    assert folded["status"] == max(statuses, key=STATUSES.index)
    assert folded["reason"] == f"{folded['status']}!"


def test_a_message_cannot_give_orders_to_a_terminal():
    event = {"part": "build", "status": "build_error", "reason": "\x1b[31mred\x1b[0m \x07and\tplain\nwords"}
    assert fold([event])["reason"] == "red and\tplain\nwords"
