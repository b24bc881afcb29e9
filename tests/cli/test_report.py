"""`snnbench report` as a command: formats, plots, a baseline, several folders, and mistakes."""

import csv
import io
import json
import re
import tomllib
from functools import partial
from pathlib import Path

import pytest
from support.paths import ROOT, committed
from support.synthetic import blocks

from snnbench.experiment.config import load_config
from snnbench.records.bundle import BundleFile
from snnbench.records.store import ResultFolder
from snnbench.report.files import read_results
from snnbench.report.page.page import html_text
from snnbench.report.page.reproduce import result_set
from snnbench.report.plots import DRAWING

QUICKSTART = committed("quickstart")


@pytest.fixture
def report(snnbench):
    """Runs the verb in this process."""
    return partial(snnbench, "report")


@pytest.fixture
def folder(tmp_path) -> Path:
    for name, step in (("torch", 0.004), ("jax", 0.002)):
        for record in blocks(name, step=step, neurons=97):
            ResultFolder(tmp_path / "one").write_record(record)
    return tmp_path / "one"


def test_json_and_csv_say_the_same_and_write_nothing(report, folder):
    before = sorted(folder.rglob("*"))
    document = json.loads(report(folder, "--format", "json").stdout)
    lines = list(csv.DictReader(io.StringIO(report(folder, "--format", "csv").stdout)))
    assert (
        [row["framework"] for row in document["rows"]]
        == [line["framework"] for line in lines]
        == ["jax", "torch"]
    )
    assert [str(row["step_s"]) for row in document["rows"]] == [line["step_s"] for line in lines]
    assert sorted(folder.rglob("*")) == before


def test_plots_are_written_beside_the_report(report, folder, tmp_path, monkeypatch):
    for suffix in (".png", ".pdf"):  # drawn for real in tests/report/test_plots.py
        monkeypatch.setitem(DRAWING, suffix, lambda spec: b"")
    svg = DRAWING[".svg"]
    monkeypatch.setitem(
        DRAWING,
        ".svg",
        lambda spec: svg(spec) if spec["title"]["text"] == ["Time per call"] else b"",
    )
    done = report(folder, "--out", tmp_path / "out", "--write", "plots", "--baseline", "torch")
    assert done.exit_code == 0, done.stderr
    suffixes = {path.suffix for path in (tmp_path / "out" / "plots").iterdir()}
    assert suffixes == {".png", ".svg", ".pdf", ".txt"}
    names = {path.name.split("-0")[0] for path in (tmp_path / "out" / "plots").iterdir()}
    assert {"coverage", "times", "winners", "memory", "cold-start", "proof", "slots"} <= names
    assert (
        "0.500×" in next((tmp_path / "out" / "plots").glob("times-01*.svg")).read_text()
    )  # of torch, not of the fastest


@pytest.mark.parametrize(
    ("write", "names"),
    [
        ([], {"results.csv", "report.html"}),
        (["--write", "latex,parquet"], {"results.tex", "results.parquet"}),
        (["--write", "csv"], {"results.csv"}),
    ],
)
def test_the_named_files_are_written_and_no_others(report, folder, tmp_path, write, names):
    done = report(folder, "--out", tmp_path / "out", *write)
    assert done.exit_code == 0, done.stderr
    files = {path.name for path in (tmp_path / "out").iterdir() if path.name[0] != "."}
    assert files == names
    assert all(f"{tmp_path / 'out' / name}" in done.stdout for name in names)
    if "results.tex" in names:
        text = (tmp_path / "out" / "results.tex").read_text()
        assert text == report(folder, "--format", "latex").stdout


def test_plots_are_chosen(report, folder, tmp_path):
    done = report(
        folder,
        "--out",
        tmp_path / "out",
        "--only",
        "times",
        "--phase",
        "step",
        "--plot-format",
        "svg",
    )
    assert done.exit_code == 0, done.stderr
    plot, caption = sorted((tmp_path / "out" / "plots").iterdir())
    assert (
        plot.name.startswith("times-01-") and plot.suffix == ".svg" and "(2 files)" in done.stdout
    )
    assert caption == plot.with_suffix(".txt") and "95 % interval" in caption.read_text()


def test_a_figure_that_is_empty_says_why(report, folder, tmp_path):
    chosen = ["--only", "ranks", "--only", "times", "--phase", "optimizer"]
    done = report(folder, "--out", tmp_path / "out", *chosen, "--plot-format", "svg")
    assert done.exit_code == 0 and "(0 files)" in done.stdout
    ranks, times = done.stderr.splitlines()
    assert ranks.startswith("snnbench: --only ranks: ") and len(ranks) > 40
    assert times == "snnbench: --only times: it has nothing of optimizer"


def test_plots_that_are_left_out_are_counted(report, folder, tmp_path, monkeypatch):
    for record in blocks("torch", step=0.004, neurons=101):
        ResultFolder(folder).write_record(record)
    monkeypatch.setitem(DRAWING, ".svg", lambda spec: b"")
    few = report(folder, "--out", tmp_path / "few", "--plot-format", "svg")
    every = report(folder, "--out", tmp_path / "every", "--plot-format", "svg", "--only", "all")
    names = [
        {
            re.sub(r"-\d\d", "", path.name, count=1)
            for path in (tmp_path / name / "plots").glob("*.svg")
        }
        for name in ("few", "every")
    ]
    assert names[0] < names[1]
    left = len(names[1]) - len(names[0])
    assert (
        f"Of each figure and phase the first conditions; {left} more panels with --only all"
        in few.stdout
    )
    assert "first conditions" not in every.stdout


def test_several_folders_are_one_report(report, folder, tmp_path):
    for record in blocks("norse", neurons=97, machine="m2"):
        ResultFolder(tmp_path / "two").write_record(record)
    done = report(folder, tmp_path / "two", "--out", tmp_path / "out")
    assert done.exit_code == 0 and "norse" in done.stdout
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert (
        "<h1>one + two</h1>" in page
        and "2 machines: their times are never ranked together." in page
    )
    assert "To measure it again: one" in page and "To measure it again: two" in page


@pytest.mark.parametrize(("columns", "widest"), [("", 100), ("80", 80), ("0", 100), ("140", 140)])
def test_a_table_in_a_file_is_100_characters_wide_or_as_columns_says(
    report, snnbench, folder, columns, widest
):
    snnbench.environment["COLUMNS"] = columns
    lines = report(folder).stdout.splitlines()
    long = [line for line in lines if len(line) > widest and str(folder) not in line]
    assert long == [], long


def test_the_terminal_has_bars_as_long_as_the_times(report, folder):
    lines = report(folder, "--out", folder / "out").stdout.splitlines()
    bars = {
        name: next(line for line in lines if f" {name} " in line).count("█")
        for name in ("jax", "torch")
    }
    assert bars == {"jax": 6, "torch": 12}


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--only", "time"], "natives, slots, all; did you mean 'times'?"),
        (
            ["--phase", "stp"],
            "--phase stp: must be one of forward, backward, optimizer, step, inference; did you mean 'step'?",
        ),
        (["--plot-format", "gif"], "--plot-format gif: must be one of png, svg, pdf"),
        (
            ["--write", "html,plots", "--format", "csv"],
            "report --format csv: writes no files, and so no html and no plots; leave one of the "
            "two out",
        ),
        (
            ["--plot-format", "svg", "--format", "csv"],
            "report --format csv: writes no files, and so no plots; leave one of the two out",
        ),
        (
            ["--write", "csv,latx"],
            "--write latx: must be one of csv, html, latex, parquet, plots; did you mean 'latex'?",
        ),
        (
            ["--baseline", "trch"],
            "--baseline trch: must be one that was timed: jax, torch; did you mean 'torch'?",
        ),
    ],
)
def test_a_mistake_is_one_sentence(report, folder, arguments, sentence):
    done = report(folder, *arguments)
    assert (
        done.exit_code == 2
        and done.stderr.strip().endswith(sentence)
        and "Traceback" not in done.stderr
    )


def test_the_config_in_the_appendix_is_the_one_that_was_run(tmp_path):
    config = load_config(ROOT / "configs" / "quickstart.toml")
    folder = tmp_path / "quickstart"
    folder.mkdir()
    (folder / "experiment.json").write_text(config.model_dump_json())
    contents = result_set(ResultFolder(folder), ["2026-01-01"])
    again = tmp_path / "again.toml"
    again.write_text(contents.config)
    assert load_config(again) == config
    assert tomllib.loads(contents.config)["measure"]["slot"].endswith("ms")
    assert any(result_set(BundleFile(QUICKSTART), []).packages.values())
    page = html_text(read_results([QUICKSTART]).table, "quickstart", sets=[contents])
    assert "<pre>snnbench run --config quickstart.toml</pre>" in page


@pytest.mark.parametrize("name", ["natives", "coverage", "example", "memory", "data"])
def test_every_committed_set_says_how_to_measure_it_again(name, tmp_path):
    contents = result_set(BundleFile(committed(name)), [])
    assert contents.config and not contents.strange
    (tmp_path / "again.toml").write_text(contents.config)
    load_config(tmp_path / "again.toml")


def test_an_experiment_of_another_version_is_called_that(tmp_path):
    (tmp_path / "experiment.json").write_text('"hi"')
    assert result_set(ResultFolder(tmp_path), []).strange == ["experiment.json"]


def test_the_appendix_survives_a_folder_that_is_not_as_a_run_leaves_it(tmp_path):
    (tmp_path / "experiment.json").write_text("[]")
    (tmp_path / "environment-x.json").write_text("{}")
    contents = result_set(ResultFolder(tmp_path), [])
    assert (contents.config, contents.packages, contents.newest) == ("", {}, "")
    assert contents.unreadable == [
        f"{tmp_path / 'environment-x.json'} cannot be read: name is missing"
    ]


@pytest.mark.parametrize("name", ["experiment.json", "environment-x.json", "planned.json"])
@pytest.mark.parametrize("content", [b"{ half of it", b"\xff\xfe"])
def test_what_is_no_json_is_told_of(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    (sentence,) = result_set(ResultFolder(tmp_path), []).unreadable
    assert sentence.startswith(f"{tmp_path / name} cannot be read: ")


@pytest.mark.parametrize(
    "content, why",
    [
        ("[]", "it must be an object, in braces"),
        ("3", "it must be an object, in braces"),
        ('{"0123456789abcdef": 1}', "0123456789abcdef = 1: must be a text, in quotes"),
        ('{"../../up": "a"}', "../../up.[key] = '../../up': must be 16 hexadecimal digits"),
    ],
)
def test_a_plan_that_is_none(tmp_path, content, why):
    (tmp_path / "planned.json").write_text(content)
    assert result_set(ResultFolder(tmp_path), []).unreadable == [
        f"{tmp_path / 'planned.json'} cannot be read: {why}"
    ]


def test_a_refused_record_is_named_and_the_exit_code_says_so(snnbench, folder, tmp_path):
    refused = sorted((folder / "records").iterdir())[0]
    refused.write_text("{")
    for verb in (
        ["report", folder],
        ["merge", folder, "--out", tmp_path / "all"],
        ["compare", folder, folder],
    ):
        done = snnbench(*verb)
        assert done.exit_code == 3 and f"{refused} is not a record" in done.stderr.replace("\n", "")


def test_report_and_merge_of_a_missing_and_of_an_empty_folder_end_alike(snnbench, tmp_path):
    (tmp_path / "empty").mkdir()
    for name, code in (("nowhere", 2), ("empty", 6)):
        assert (
            snnbench("report", name).exit_code
            == snnbench("merge", name, "--out", "all").exit_code
            == code
        )
