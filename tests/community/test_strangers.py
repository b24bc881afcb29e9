"""Damaged files of a result folder: refused with a sentence, or harmless; no traceback."""

import json
import math
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hostile import changed_json
from support.synthetic import blocks
from support.trees import unbundled

from snnbench.common.mistakes import ConfigError
from snnbench.core.case import USUAL_PHASES, Case
from snnbench.records.compare import compare_sets
from snnbench.records.merge import merge_folders
from snnbench.records.store import ResultFolder, SetPlan
from snnbench.report.files import read_results, write_report
from snnbench.report.table import csv_text
from snnbench.report.tables.markdown import markdown_text

KINDS = ("record", "environment", "planned", "experiment")


def real_set(folder: Path) -> dict[str, Path]:
    """Two cases of the quickstart set, and the file to damage by its kind."""
    unbundled("quickstart", folder)
    real = sorted((folder / "records").glob("*.json"))
    ids = sorted({path.name[:16] for path in real if '"step"' in path.read_text()})[:2]
    for path in real:
        if path.name[:16] not in ids:
            path.unlink()
    (environment,) = folder.glob("environment-*.json")
    ResultFolder(folder).write_plan(SetPlan(planned=dict.fromkeys(ids, "a case")))
    files = {
        "environment": folder / environment.name,
        "planned": folder / "planned.json",
        "experiment": folder / "experiment.json",
    }
    return files | {"record": sorted((folder / "records").glob("*.json"))[0]}


def read_everywhere(folder: Path, other: Path) -> list[str]:
    """Returns the messages on a folder that report, merge, compare and a resumed run read."""
    results = read_results([folder])
    for row in results.rows:
        for phase in USUAL_PHASES if row.standing else ():
            if phase in row.estimates:
                assert (
                    math.isfinite(row.estimates[phase].seconds) and row.estimates[phase].seconds > 0
                )
        assert row.first.case_id == Case.from_dict(row.first.case).id
    text = csv_text(results.table) + markdown_text(results.table)
    assert "\x1b" not in text and "\u202e" not in text
    compare_sets(read_results([other]).rows, results.rows)
    whole = ResultFolder(folder.parent / "merged")
    merged = merge_folders([ResultFolder(folder)], whole)
    if results.rows:
        write_report(whole, merged.name, results)
    for path in (folder / "records").glob("*.json"):
        case_id, block, key = path.stem.split("-")
        ResultFolder(folder).record(case_id, int(block), key)
    return results.unreadable


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**9))
@settings(max_examples=5, derandomize=True)
def test_a_spoilt_file_is_refused_or_harmless(tmp_path_factory, kind, seed):
    random, home = Random(seed), tmp_path_factory.mktemp("spoilt")
    path, base = real_set(home / "set")[kind], home / "base"
    for one in blocks("jax", 1):
        ResultFolder(base).write_record(one)
    path.write_bytes(changed_json(random, json.loads(path.read_bytes())))
    try:
        said = read_everywhere(home / "set", base)
    except ConfigError:
        return
    assert len(said) <= 1 and all(
        sentence.startswith(str(path)) and len(sentence) < 700 for sentence in said
    )
    assert sorted(entry.name for entry in home.iterdir()) == ["base", "merged", "set"], (
        "nothing is written elsewhere"
    )


@pytest.mark.parametrize(
    "spoilt, why",
    [
        (
            {"case_id": "/../../victim/settings"},
            "case_id = '/../../victim/settings': must be 16 hexadecimal digits",
        ),
        ({"case_id": "0" * 16}, "the case's own is"),
        (
            {"done_key": "/../../victim"},
            "done_key = '/../../victim': must be 12 hexadecimal digits",
        ),
        ({"done_key": "0" * 12}, "it holds what belongs into"),
        ({"block": -1}, "block = -1: must be at least 0"),
        ({"set": "../up"}, "set = '../up'"),
        ({"status": "great"}, "status = 'great': must be one of ok"),
        ({"machine": {}}, "machine.cpu is missing"),
        ({"facts": {"compile_s": "soon"}}, "facts: compile_s = 'soon': must be a number"),
        ({"proof": {"passed": "no", "stages": []}}, "proof.passed = 'no': must be true or false"),
        ({"duration_s": float("nan")}, "duration_s = nan: must be a finite number"),
    ],
)
def test_a_record_that_lies_is_refused_by_name(tmp_path, spoilt, why):
    path = real_set(tmp_path / "set")["record"]
    path.write_text(json.dumps({**json.loads(path.read_text()), **spoilt}))
    before = len(list((tmp_path / "set" / "records").iterdir()))
    records, (sentence,) = ResultFolder(tmp_path / "set").read_records()
    assert (
        len(records) == before - 1
        and sentence.startswith(f"{path} is not a record of schema 2: ")
        and why in sentence
    )


@pytest.mark.parametrize("wall", [0, -1.0, "0.001", float("nan"), float("inf"), 1e-300, None, True])
def test_a_time_that_is_none_is_refused(tmp_path, wall):
    path = real_set(tmp_path / "set")["record"]
    values = json.loads(path.read_text())
    values["parts"]["step"]["timing"]["slots"][0]["wall"] = wall
    path.write_text(json.dumps(values))
    (sentence,) = ResultFolder(tmp_path / "set").read_records()[1]
    assert "parts.step.timing.slots.0.wall = " in sentence
