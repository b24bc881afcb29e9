"""A bundle is read as the result folder that it was made of."""

import json

import pytest
from support.paths import SETS, committed
from support.trees import unbundled

from snnbench.common.mistakes import ConfigError
from snnbench.community.bundle import bundle_of, text_of
from snnbench.records.bundle import BundleFile, stored_set
from snnbench.records.store import ResultFolder
from snnbench.report.files import read_results
from snnbench.report.table import csv_text


@pytest.mark.parametrize("name", ["quickstart", "memory", "history-snntorch"])
def test_bundle_and_folder_say_the_same(name, tmp_path):
    bundle, folder = BundleFile(committed(name)), ResultFolder(unbundled(name, tmp_path / name))
    assert bundle.name == folder.name == name
    assert bundle.read_records() == folder.read_records()
    assert bundle.read_experiment() == folder.read_experiment()
    assert bundle.read_planned() == folder.read_planned()
    assert bundle.read_environments() == folder.read_environments()
    tables = {csv_text(read_results([each.path]).table) for each in (bundle, folder)}
    assert len(tables) == 1
    made, refused = bundle_of(folder, "snnbench")
    assert refused == []
    lines, wanted = (text.splitlines() for text in (text_of(made), bundle.path.read_text()))
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


def test_a_path_is_a_bundle_by_its_name(tmp_path):
    (tmp_path / "folder.bundle.jsonl").mkdir()
    assert isinstance(stored_set(committed("memory")), BundleFile)
    assert isinstance(stored_set(tmp_path), ResultFolder)
    assert isinstance(stored_set(tmp_path / "folder.bundle.jsonl"), ResultFolder)
    with pytest.raises(ConfigError, match="there is no such file"):
        stored_set(tmp_path / "none.bundle.jsonl").must_exist()
