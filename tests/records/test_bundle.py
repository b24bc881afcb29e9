"""A bundle is read as the result folder that it was made of."""

import json

import pytest
from support.paths import SETS, committed
from support.trees import unbundled

from snnbench.common.mistakes import ConfigError
from snnbench.community.bundle import bundle_of, text_of
from snnbench.community.verify.verify import verify
from snnbench.records import bundle
from snnbench.records.bundle import BundleFile, stored_set
from snnbench.records.store import ResultFolder
from snnbench.report.files import read_results
from snnbench.report.table import csv_text
from snnbench.schema import understood


@pytest.mark.parametrize("name", ["quickstart", "memory", "history-snntorch"])
def test_bundle_and_folder_say_the_same(name, tmp_path):
    stored, folder = BundleFile(committed(name)), ResultFolder(unbundled(name, tmp_path / name))
    assert stored.name == folder.name == name
    assert stored.read_records() == folder.read_records()
    assert stored.read_experiment() == folder.read_experiment()
    assert stored.read_planned() == folder.read_planned()
    assert stored.read_environments() == folder.read_environments()
    tables = {csv_text(read_results([each.path]).table) for each in (stored, folder)}
    assert len(tables) == 1
    made, refused = bundle_of(folder, "snnbench")
    assert refused == []
    lines, wanted = (text.splitlines() for text in (text_of(made), stored.path.read_text()))
    assert lines[1:] == wanted[1:], "of the first line the version of snnbench may be another"


@pytest.mark.parametrize("name", SETS)
def test_every_committed_bundle_can_be_read(name):
    records, refused = BundleFile(committed(name)).read_records()
    header = json.loads(committed(name).read_text().partition("\n")[0])
    assert (len(records), refused) == (header["records"], [])


@pytest.mark.parametrize(
    ("spoil", "lost", "sentence"),
    [
        (lambda lines: [], 15, " cannot be read: it is no JSON: it ends"),
        (lambda lines: ["{}", *lines[1:]], 15, " cannot be read: it is no bundle of format 1"),
        (lambda lines: ["[]", *lines[1:]], 15, " cannot be read: it is no bundle of format 1"),
        (lambda lines: [*lines[:3], "{", *lines[4:]], 1, ", line 4, cannot be read: it is no JSON"),
        (
            lambda lines: [*lines, "[" * 973 + "]" * 973],
            0,
            "it is nested more than 201 levels deep",
        ),
        (lambda lines: lines[:-2], 2, ": line 1 says 15 records, and 13 follow"),
        (lambda lines: [*lines, lines[-1]], -1, ": line 1 says 15 records, and 16 follow"),
        (lambda lines: [*lines, '{"figure": 1}'], 0, "cannot be read: it holds no plan, nothing"),
        (lambda lines: [*lines, '{"record": {}}'], 0, "adapter = None: the line of shared values"),
        (
            lambda lines: [line.replace('"planned":{', '"planned":{"x":"y"') for line in lines],
            0,
            ", line 2, cannot be read: planned.x.[key] = 'x': must be 16 hexadecimal digits",
        ),
        (lambda lines: [*lines[:-1], lines[-1].replace('"ok"', '"great"')], 1, "must be one of ok"),
    ],
)
def test_a_line_that_is_refused_is_named_and_the_others_are_read(spoil, lost, sentence, tmp_path):
    path = tmp_path / "spoilt.bundle.jsonl"
    path.write_text("\n".join(spoil(committed("memory").read_text().splitlines())))
    records, (refused,) = BundleFile(path).read_records()
    assert refused.startswith(str(path)) and sentence in refused
    assert len(records) == 15 - lost


def test_a_file_of_refused_lines_gets_a_bounded_number_of_sentences(tmp_path):
    path = tmp_path / "spoilt.bundle.jsonl"
    path.write_text("\n".join([*committed("memory").read_text().splitlines(), *["{}"] * 97]))
    records, refused = BundleFile(path).read_records()
    assert len(records) == 15 and len(refused) == bundle.MOST_NAMED + 1
    assert refused[-1] == f"{path}: {97 - bundle.MOST_NAMED} more lines cannot be read"


def test_work_and_memory_are_bounded_by_a_limit_on_repeated_values(tmp_path, monkeypatch):
    """97 records of 2 kB share a value of 115 kB: of 11 MB less than a tenth is looked at."""
    lines = committed("memory").read_text().splitlines()
    large = json.loads(lines[2])
    for value in large["shared"]["adapter"].values():
        value["closure"] = {f"package-{number}": "1.0" for number in range(5000)}
    record = next(line for line in lines if line.startswith('{"record"'))
    path = tmp_path / "large.bundle.jsonl"
    path.write_text("\n".join([*lines[:2], json.dumps(large), *[record] * 97]) + "\n")
    monkeypatch.setattr(bundle, "MOST_SHARED_BYTES", 1_000_000)
    looked_at = []
    monkeypatch.setattr(
        bundle, "understood", lambda kind, value: looked_at.append(value) or understood(kind, value)
    )
    records, refused = BundleFile(path).read_records()
    assert len(records) == len(looked_at) - 1 == 8
    assert refused == [
        f"{path}, line 12, cannot be read: its records repeat more than 1 MB of shared values; "
        "bundle shards of the run"
    ]
    (verdict,) = verify([path])
    assert len(verdict.bundle.records) == 8
    assert [str(fault) for fault in verdict.faults if fault.kind == "size"] == [
        "size: line 12: its records repeat more than 1 MB of shared values; "
        "bundle shards of the run"
    ]


def test_a_bundle_that_could_not_be_read_is_not_written(monkeypatch):
    monkeypatch.setattr("snnbench.community.bundle.MOST_SHARED_BYTES", 1000)
    with pytest.raises(ConfigError, match="a bundle: its records repeat more than"):
        bundle_of(BundleFile(committed("memory")))


def test_a_path_is_a_bundle_by_its_name(tmp_path):
    (tmp_path / "folder.bundle.jsonl").mkdir()
    assert isinstance(stored_set(committed("memory")), BundleFile)
    assert isinstance(stored_set(tmp_path), ResultFolder)
    assert isinstance(stored_set(tmp_path / "folder.bundle.jsonl"), ResultFolder)
    with pytest.raises(ConfigError, match="there is no such file"):
        stored_set(tmp_path / "none.bundle.jsonl").must_exist()
