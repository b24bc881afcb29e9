"""Records of many machines in one folder: grouped by machine, never in one ranking, nothing
lost."""

import json

import pytest
from support.synthetic import blocks, record

from snnbench.common.mistakes import ConfigError
from snnbench.records.merge import merge_folders
from snnbench.records.rows import comparison_group
from snnbench.records.store import ResultFolder, SetPlan
from snnbench.report.files import read_results

KEYS = {"m1": "1" * 12, "m2": "2" * 12}
ENVIRONMENT = {
    "name": "default",
    "python": "CPython 3.11.7",
    "devices": ["cpu"],
    "packages": {"numpy": "2.0"},
}


@pytest.fixture
def folders(tmp_path):
    """Two machines with the same cases; the second is twice as fast."""
    for machine, speed in (("m1", 1.0), ("m2", 0.5)):
        for name, step in (("torch", 0.004), ("jax", 0.002)):
            for size in (97, 193):
                for each in blocks(name, step=step * speed, neurons=size, machine=machine):
                    ResultFolder(tmp_path / machine).write_record(
                        each.model_copy(update={"done_key": KEYS[machine]})
                    )
        (tmp_path / machine / "experiment.json").write_text(json.dumps({"name": "grid"}))
        ResultFolder(tmp_path / machine).write_plan(
            SetPlan(environments=[{**ENVIRONMENT, "hash": machine}])
        )
    return [ResultFolder(tmp_path / "m1"), ResultFolder(tmp_path / "m2")]


def test_machines_are_not_ranked_together(folders, tmp_path):
    merged = merge_folders(folders, ResultFolder(tmp_path / "all"))
    assert (merged.name, merged.remarks, merged.unreadable) == ("grid", [], [])
    rows = read_results([tmp_path / "all"]).rows
    machines = [row.first.machine["hash"] for row in rows]
    assert machines == ["m1"] * 4 + ["m2"] * 4, "grouped by machine"
    assert [(row.case.framework, row.standing.place) for row in rows] == [
        ("jax", 1),
        ("torch", 2),
    ] * 4
    assert all(
        len({r.first.machine["hash"] for r in rows if comparison_group(r) == comparison_group(row)})
        == 1
        for row in rows
    )
    assert {path.name for path in (tmp_path / "all").glob("*.json")} == {
        "experiment.json",
        "environment-m1.json",
        "environment-m2.json",
    }


def test_of_the_same_record_the_newest_counts_and_both_orders_agree(tmp_path):
    old, new = record("jax", neurons=97), record("jax", neurons=97, step=0.001)
    new = new.model_copy(update={"started_at": "2026-11-21T00:00:00+00:00"})
    ResultFolder(tmp_path / "one").write_record(old)
    ResultFolder(tmp_path / "two").write_record(new)
    for order in (["one", "two"], ["two", "one"]):
        out = ResultFolder(tmp_path / "-".join(order))
        merged = merge_folders([ResultFolder(tmp_path / name) for name in order], out)
        assert out.read_records()[0] == ResultFolder(out.path).read_records()[0] == [new]
        (remark,) = merged.remarks
        assert f"{new.case_id}, block 0, is there twice: the newest counts" in remark


@pytest.mark.parametrize("out", ["m1", "m2", "link", "./m1"])
def test_none_of_the_folders_is_written_to(out, folders, tmp_path):
    (tmp_path / "link").symlink_to("m2")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match="is one of the inputs, which must stay"):
        merge_folders(folders, ResultFolder(tmp_path / out))
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_several_versions_are_one_remark(tmp_path):
    for name, version, ours in (("one", "2.13.0", "0.1.0"), ("two", "2.14.0", "0.2.0")):
        for number, framework in enumerate(("torch", "jax")):
            each = record(framework, neurons=97)
            adapter = {**each.adapter, "version": version if framework == "torch" else "0.10"}
            update = {"adapter": adapter, "snnbench": ours, "done_key": f"{ours[2]}{number}" * 6}
            ResultFolder(tmp_path / name).write_record(each.model_copy(update=update))
    merged = merge_folders(
        [ResultFolder(tmp_path / name) for name in ("one", "two")], ResultFolder(tmp_path / "all")
    )
    versions = "snnbench 0.1.0, 0.2.0; torch 2.13.0, 2.14.0"
    assert merged.remarks == [
        f"several versions are merged: {versions} (the report names a framework's apart)"
    ]


def test_different_experiments_have_no_common_config(folders, tmp_path):
    folders[1].experiment.write_text(json.dumps({"name": "other"}))
    merged = merge_folders(folders, ResultFolder(tmp_path / "all"))
    assert merged.name == "m1 + m2"
    assert (
        "of different experiments" in merged.remarks[0]
        and not (tmp_path / "all" / "experiment.json").exists()
    )


def test_a_damaged_record_is_named(folders, tmp_path):
    damaged = next(folders[0].records.iterdir())
    damaged.write_text("{")
    merged = merge_folders(folders, ResultFolder(tmp_path / "all"))
    assert any(str(damaged) in sentence for sentence in merged.unreadable)
    assert len(ResultFolder(tmp_path / "all").read_records()[0]) == 23
