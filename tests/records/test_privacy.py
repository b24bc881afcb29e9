"""Whose machine a result folder was written on does not stand in it, wherever a worker or a user may have put it."""

import json

import pytest
from support.synthetic import record

from snnbench.records.record import Record
from snnbench.records.store import VERBATIM, ResultFolder

HOME, USER = "/home/jürgen.s", "jürgen.s"
PLANTED = f'"{HOME}/lib" of {USER}: file://{HOME}/x, /tmp/pytest-of-{USER}/ and {HOME!a}'


@pytest.fixture(autouse=True)
def somebody(monkeypatch):
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.setenv("USER", USER)


def planted(value, key=""):
    """`value` with the text behind each text and below a key of each table."""
    if isinstance(value, str):
        return f"{value} {PLANTED}"
    if isinstance(value, dict):
        return {**{name: planted(item, name) for name, item in value.items()}, PLANTED: PLANTED}
    if isinstance(value, list):
        return [planted(item) for item in value]
    return value


def names_somebody(text: str) -> bool:
    return any(word in text for name in (HOME, USER) for word in (name, json.dumps(name)[1:-1], ascii(name)[1:-1]))


def test_no_field_of_a_record_keeps_home_or_user(tmp_path):
    tables = {"facts", "proof", "adapter", "environment", "machine", "monitor"}
    texts = {"reason", "traceback", "stderr_tail", "memory_meaning", "snnbench", "set", "live_set"}
    known = record("torch", "ok", "because").model_dump(by_alias=True)
    full = {**known, "warnings": ["one"], **{name: known[name] or "text" for name in texts}}
    full |= {name: planted(value) for name, value in full.items() if name in tables | texts - VERBATIM or name == "warnings"}
    full["parts"]["import"]["reason"] = full["parts"]["step"]["timing"]["device_clock"] = PLANTED
    full["parts"]["step"]["timing"]["slots"][0]["disturbed"] = PLANTED
    full["parts"][PLANTED], full["memory"][PLANTED], full["ceilings"][PLANTED] = {}, {}, 1.0
    path = ResultFolder(tmp_path).write_record(Record.model_validate(full))
    text = path.read_text()
    assert names_somebody(json.dumps(full)) and not names_somebody(text)
    assert '\\"~/lib\\" of USER: file://~/x, /tmp/pytest-of-USER/ and' in text
    known_fields = tables | texts | VERBATIM | {"warnings", "parts", "memory", "ceilings"}
    left = {name for name, value in known.items() if name not in known_fields and isinstance(value, str | dict | list)}
    assert left == set(), "a new field that can hold texts belongs into this test"


def test_nor_does_any_other_file(tmp_path):
    folder = ResultFolder(tmp_path)
    folder.write_environment({**planted({"name": "default", "packages": {"torch": "2"}}), "hash": "abc"})
    folder.write_planned({"id": PLANTED})
    folder.write_experiment(planted({"adapters": [f"{HOME}/mine.py:Mine"]}))
    assert len(list(tmp_path.iterdir())) == 3
    assert not [path for path in tmp_path.iterdir() if names_somebody(path.read_text())]
    assert json.loads(folder.experiment.read_text())["adapters"][0].startswith("~/mine.py:Mine")


def test_what_a_case_is_stays_as_it_is(tmp_path, monkeypatch):
    """A user who is called like something that records are made of."""
    for name in ("torch", "root", "spikes", "ok", "cpu", "superspike"):
        monkeypatch.setenv("USER", name)
        folder = ResultFolder(tmp_path / name)
        one = record("torch")
        folder.write_record(one)
        (back,), unreadable = folder.read_records()
        assert unreadable == [] and (back.case, back.case_id, back.status) == (one.case, one.case_id, one.status)
