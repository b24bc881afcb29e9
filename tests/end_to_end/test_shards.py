"""Parts of a grid, run apart and merged, are the run that was not split."""

import json
import shutil
from dataclasses import replace

import pytest

from snnbench.common.mistakes import ConfigError
from snnbench.core.case import Case
from snnbench.experiment.order import Shard, parse_shard
from snnbench.records.store import ResultFolder
from snnbench.report.files import read_results, write_report

ADAPTERS = ["numpy_network.py:NumpyNetwork", "raising.py:RefusesLate", "dying.py:Segfaults"]
NAMES = ["numpy", "refuses-late", "segfaults"]
GRID = 'neurons = [41, 97]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]'


def cases(count=5):
    sizes = [(41, 37), (61, 37), (97, 37), (97, 101), (97, 150)][:count]
    return [Case(f"f{name}", neurons=n, time_steps=t) for name in range(3) for n, t in sizes]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_parts_are_the_whole_once_and_keep_its_order(count):
    whole = cases()
    parts = [Shard(index, count).of(whole) for index in range(1, count + 1)]
    assert sorted(case.id for part in parts for case in part) == sorted(case.id for case in whole)
    places = [[whole.index(case) for case in part] for part in parts]
    assert all(part and part == sorted(part) for part in places)


def test_what_is_ranked_together_stays_together():
    """It is measured side by side, and on one node."""
    parts = [Shard(index, 3).of(cases()) for index in (1, 2, 3)]
    homes = [
        {replace(case, framework="", construction="", mode="") for case in part} for part in parts
    ]
    assert not any(homes[a] & homes[b] for a in range(3) for b in range(a))


def test_more_parts_than_there_can_be():
    with pytest.raises(ConfigError, match=r"--shard 6/6: .* at most 5 parts"):
        Shard(6, 6).of(cases())


@pytest.mark.parametrize("text", ["", "3", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b"])
def test_a_part_that_is_none(text):
    with pytest.raises(ConfigError, match="must look like 2/3"):
        parse_shard(text)


@pytest.fixture(scope="module")
def runs(snnbench_module):
    """The whole, and two parts of it, each run for itself. One framework refuses, one dies."""
    config = snnbench_module.config(NAMES, ADAPTERS, GRID)
    whole = snnbench_module.run(config, out="whole")
    parts = [
        snnbench_module.run(config, "--shard", f"{index}/2", out=f"part-{index}")
        for index in (1, 2)
    ]
    return snnbench_module, whole, parts


def endings(records):
    return {(r["case_id"], r["block"]): (r["status"], r["reason"]) for r in records}


@pytest.mark.slow
def test_parts_merged_are_the_whole(runs):
    snnbench, whole, parts = runs
    assert all(part.records for part in parts)
    assert {record["status"] for record in whole.records} == {"ok", "unsupported", "crash"}
    merged = snnbench("merge", *(part.folder for part in parts), "--out", "merged", out="merged")
    assert merged.exit_code == whole.exit_code == 3, merged.stderr
    assert endings(merged.records) == endings(whole.records)
    assert [row["case_id"] for row in merged.rows] != []
    same = (
        "case_id",
        "status",
        "reason",
        "proved",
        "grad_error",
        "blocks",
        "environment",
        "machine",
    )
    assert {tuple(row[key] for key in same) for row in merged.rows} == {
        tuple(row[key] for key in same) for row in whole.rows
    }
    assert (merged.folder / "experiment.json").read_bytes() == (
        whole.folder / "experiment.json"
    ).read_bytes()
    compared = snnbench("compare", "whole", "merged", "--relative", "--factor", "100")
    assert compared.exit_code == 0, compared.stdout


@pytest.mark.slow
def test_run_and_merge_are_one_json_document(runs):
    snnbench, whole, parts = runs
    resumed = snnbench.run(snnbench.folder / "odd.toml", "--json", out="whole")
    merged = snnbench("merge", *(part.folder for part in parts), "--out", "merged-json", "--json")
    for ended, folder in [(resumed, "whole"), (merged, "merged-json")]:
        document = json.loads(ended.stdout)
        assert (ended.exit_code, document["folder"], document["unreadable"]) == (3, folder, [])
        assert sorted(row["case_id"] for row in document["rows"]) == sorted(
            row["case_id"] for row in whole.rows
        )
        assert {row["status"] for row in document["rows"]} == {"ok", "unsupported", "crash"}
        assert (snnbench.folder / document["report"]).exists() and (
            snnbench.folder / document["table"]
        ).exists()
    assert json.loads(resumed.stdout)["interrupted"] is False
    assert json.loads(merged.stdout)["missing"] == []


@pytest.mark.slow
def test_a_merge_is_made_anew_when_more_is_there(runs):
    snnbench, whole, parts = runs
    first = snnbench("merge", parts[0].folder, "--out", "grows", out="grows").records
    again = snnbench("merge", *(part.folder for part in parts), "--out", "grows", out="grows")
    assert len(first) < len(again.records) and endings(again.records) == endings(whole.records), (
        again.stderr
    )
    assert not list(again.folder.glob("snnbench-scratch-*"))
    fewer = snnbench("merge", parts[0].folder, "--out", "grows", out="grows")
    assert fewer.exit_code == 2 and endings(fewer.records) == endings(whole.records), (
        "nothing is lost"
    )


@pytest.mark.slow
def test_a_part_that_is_not_there_is_missed(runs):
    snnbench, whole, parts = runs
    merged = snnbench("merge", parts[0].folder, "--out", "two", out="two")
    lost = {record["case_id"] for record in parts[1].records}
    sentence = f"{len(lost)} planned cases have no record yet: "
    assert sentence in merged.stderr and sentence in snnbench("report", "two").stderr
    assert (
        f"Missing: {len(lost)} planned cases without a record"
        in (merged.folder / "report.html").read_text()
    )
    assert "no record yet" not in snnbench("report", whole.folder).stderr
    back = snnbench("merge", "two", parts[1].folder, "--out", "three")
    assert "no record yet" not in back.stderr and lost
    (snnbench.folder / "two" / "planned.json").write_text("{ half of it")
    spoilt = snnbench("merge", "two", parts[1].folder, "--out", "four", out="four")
    assert "two/planned.json cannot be read" in spoilt.stderr
    assert "two/planned.json cannot be read" in (spoilt.folder / "report.html").read_text()


@pytest.mark.slow
def test_a_run_of_some_cases_keeps_the_plan_of_all(runs):
    snnbench, whole, _ = runs
    some = snnbench.folder / "some"
    shutil.copytree(whole.folder, some)
    whole_plan = (some / "planned.json").read_bytes()
    config = snnbench.folder / "odd.toml"
    snnbench.run(config, "--only", f"framework={NAMES[0]}", out="some")
    assert (some / "planned.json").read_bytes() == whole_plan
    (some / "planned.json").write_text("{ half of it")
    snnbench.run(config, "--only", f"framework={NAMES[0]}", out="some")
    assert 0 < len(json.loads((some / "planned.json").read_text())) < len(json.loads(whole_plan))


@pytest.mark.slow
def test_the_report_is_the_whole_ones(runs, tmp_path):
    """The same records, dealt out to two folders as shards do and merged: the same bytes."""
    snnbench, whole, parts = runs
    write_report(ResultFolder(whole.folder), "odd", read_results([whole.folder]))
    for part in parts:
        mine = {record["case_id"] for record in part.records}
        folder = tmp_path / part.folder.name
        shutil.copytree(whole.folder, folder)
        for path in (folder / "records").glob("*.json"):
            if json.loads(path.read_text())["case_id"] not in mine:
                path.unlink()
    folders = [tmp_path / part.folder.name for part in parts]
    merged = snnbench("merge", *folders, "--out", tmp_path / "whole")
    assert merged.exit_code == 3, merged.stderr
    for name in ("results.csv", "report.html"):
        assert (tmp_path / "whole" / name).read_bytes() == (whole.folder / name).read_bytes(), name


@pytest.mark.slow
def test_a_part_resumes_and_has_a_folder_of_its_own(runs):
    snnbench, _, parts = runs
    again = snnbench(
        "run", "--config", snnbench.folder / "odd.toml", "--shard", "1/2", "--out", parts[0].folder
    )
    assert "kept, " in again.stderr
    planned = json.loads(
        snnbench(
            "plan", "--config", snnbench.folder / "odd.toml", "--shard", "1/2", "--json"
        ).stdout
    )
    assert planned["out"] == "results/local/odd-1-of-2"
    assert {case["case_id"] for case in planned["cases"]} == {
        record["case_id"] for record in parts[0].records
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["part-1", "nothing", "--out", "new"], "nothing: there is no such folder"),
        (
            ["part-1", "--out", "part-2"],
            "part-2: has records already, of something else; choose another --out",
        ),
        (
            ["part-1", "--out", "odd.toml/new"],
            "odd.toml/new: cannot be a result folder: Not a directory",
        ),
    ],
)
def test_a_mistake_in_merging_is_one_sentence(runs, arguments, sentence):
    ended = runs[0]("merge", *arguments)
    assert (ended.exit_code, ended.message) == (2, f"snnbench: {sentence}")
