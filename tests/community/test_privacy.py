"""A result folder does not name its machine or user, wherever a worker or a user wrote them."""

import json

import pytest
from support.hostile import places, with_value
from support.synthetic import record

from snnbench.records.record import Record
from snnbench.records.store import ResultFolder, SetPlan

HOME, USER = "/home/jürgen.s", "jürgen.s"
PLANTED = f'"{HOME}/lib" of {USER}: file://{HOME}/x, /tmp/pytest-of-{USER}/ and {HOME!a}'


FIXED = (
    "case",
    "case_id",
    "done_key",
    "live_set",
    "status",
    "parts",
    "set",
    "started_at",
    "environment",
    "machine",
)
"""Fields with names, hashes and listed words, which the schema checks."""


@pytest.fixture(autouse=True)
def private_machine(monkeypatch):
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.setenv("USER", USER)


def names_somebody(text: str) -> bool:
    return any(
        word in text
        for name in (HOME, USER)
        for word in (name, json.dumps(name)[1:-1], ascii(name)[1:-1])
    )


def test_no_field_of_a_record_keeps_home_or_user(tmp_path):
    """A planted text in every place of a record that the schema accepts: home and user are
    replaced."""
    known = {
        **record("torch", "ok", "because").model_dump(by_alias=True),
        "traceback": "text",
        "warnings": ["one"],
    }
    taken = []
    for place, value in places(known):
        spoilt = with_value(known, place, PLANTED)
        try:
            one = Record.model_validate(spoilt)
        except ValueError:
            assert not isinstance(value, str) or place[0] in FIXED, f"{place} can hold texts"
            continue
        path = ResultFolder(tmp_path).write_record(one)
        assert not names_somebody(path.read_text()), place
        taken.append(place)
    assert {place[0] for place in taken} >= {
        "reason",
        "traceback",
        "stderr_tail",
        "warnings",
        "facts",
        "proof",
        "adapter",
    }
    assert (
        ("environment", "python") in taken
        and ("machine", "cpu") in taken
        and ("adapter", "reference") in taken
    )


def test_nor_does_any_other_file(tmp_path):
    folder = ResultFolder(tmp_path)
    folder.write_plan(
        SetPlan(
            {"adapters": [f"{HOME}/mine.py:Mine", PLANTED]},
            {"id": PLANTED},
            [{"name": "default", "packages": {"torch": PLANTED}, "python": PLANTED, "hash": "abc"}],
        )
    )
    assert len(list(tmp_path.iterdir())) == 3
    assert not [path for path in tmp_path.iterdir() if names_somebody(path.read_text())]
    assert json.loads(folder.experiment.read_text())["adapters"][0].startswith("~/mine.py:Mine")


def test_what_a_case_is_stays_as_it_is(tmp_path, monkeypatch):
    """A user may be called like a part of a record."""
    for name in (
        "torch",
        "root",
        "spikes",
        "ok",
        "cpu",
        "superspike",
        "step",
        "bytes",
        "host",
        "default",
    ):
        monkeypatch.setenv("USER", name)
        folder = ResultFolder(tmp_path / name)
        one = record("torch")
        folder.write_record(one)
        (back,), unreadable = folder.read_records()
        assert unreadable == [] and (back.case, back.case_id, back.status) == (
            one.case,
            one.case_id,
            one.status,
        )
