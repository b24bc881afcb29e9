"""The verb `compare`: what it prints in each form, and its exit codes."""

import io
import json
import re
import subprocess
from xml.etree import ElementTree

import pytest
from rich.console import Console
from support.command_line import COMMAND
from support.paths import committed
from support.synthetic import NOISE, blocks, disturbed

from snnbench.cli.compare import print_comparison
from snnbench.core.case import USUAL_PHASES
from snnbench.records.compare import compare_sets, compare_variants
from snnbench.records.rows import rows_of
from snnbench.records.store import ResultFolder
from snnbench.report.files import read_results

STEPS = {"jax": 0.002, "torch": 0.004, "norse": 0.008}


def records(noise=0.0, count=3, **changed):
    made = [(name, step * changed.get(name, 1.0)) for name, step in STEPS.items()]
    return [
        one
        for name, step in made
        for one in blocks(name, count, step=step, neurons=97, noise=noise)
    ]


def busy():
    made = records(norse=3.0)
    for phase in USUAL_PHASES:
        disturbed(made, every=3, phase=phase)
    return made


@pytest.fixture
def folders(tmp_path):
    sets = {
        "base": records(NOISE),
        "same": records(),
        "slow": records(norse=3.0),
        "busy": busy(),
        "few": records(count=2),
        "other": blocks("jax", neurons=5),
    }
    for name, made in sets.items():
        for one in made:
            ResultFolder(tmp_path / name).write_record(one)
    return tmp_path


@pytest.mark.parametrize(
    ("new", "code", "strict"),
    [
        ("same", 0, 0),
        ("slow", 5, 5),
        ("busy", 0, 7),
        ("few", 0, 7),
        ("other", 6, 6),
        ("nothing", 2, 2),
    ],
)
def test_exit_codes(snnbench, folders, new, code, strict):
    done = snnbench("compare", folders / "base", folders / new, "--format", "json")
    assert done.exit_code == code, done.stderr
    assert snnbench("compare", folders / "base", folders / new, "--strict").exit_code == strict
    assert "Traceback" not in done.stderr
    if code != 2:
        document = json.loads(done.stdout)
        assert document["cases"] == (0 if code == 6 else 3)
        assert any(one["verdict"] == "slower" for one in document["changes"]) == (code == 5)
        assert "NaN" not in done.stdout and "Infinity" not in done.stdout


def test_sets_without_a_common_case_are_told_so_first_and_nothing_is_worse(folders):
    compared = [COMMAND, "compare", folders / "base", folders / "other"]
    ended = subprocess.run(compared, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    first, more = ended.stdout.split("\n", 1)
    base, new = re.fullmatch(
        r"(3 cases only in base: .*) (1 case only in new: .*)", " ".join(more.split())
    ).groups()
    assert (ended.returncode, first) == (
        6,
        "base and new have no case in common: nothing is compared",
    )
    assert base.count(" soft linear-lif N=97 ") == 3 and new.count("jax soft linear-lif N=5 ") == 1
    as_json = subprocess.run([*compared, "--format", "json"], capture_output=True, text=True)
    assert as_json.stderr.strip() == f"snnbench: {first}"
    assert [
        len(json.loads(as_json.stdout)[key]) for key in ("only_base", "only_new", "findings")
    ] == [3, 1, 0]


def test_two_folders_or_a_pair(snnbench, folders):
    for more in ([], [folders / "slow", "--pair", "jax", "torch"]):
        ended = snnbench("compare", folders / "base", *more)
        assert ended.exit_code == 2
        assert (
            ended.message
            == "snnbench: compare: name a second result folder, or two framework variants with --pair"
        )


def test_a_pair_of_one_folder(snnbench, folders):
    slower = snnbench("compare", folders / "base", "--pair", "torch", "norse", "--format", "json")
    assert slower.exit_code == 5
    changes = json.loads(slower.stdout)["changes"]
    assert [one["ratio"] for one in changes] == pytest.approx([2.0] * 4, rel=0.01)
    assert (
        snnbench("compare", folders / "base", "--pair", "norse", "torch", "--strict").exit_code == 0
    )
    unknown = snnbench("compare", folders / "base", "--pair", "norse", "trch")
    assert (unknown.exit_code, unknown.message.split(" (")[0]) == (
        2,
        "snnbench: --pair norse trch: there is no trch; did you mean 'torch'?",
    )


def test_every_time_is_printed_and_with_only_changed_what_changed(snnbench, folders):
    sets = folders / "base", folders / "slow"
    for more, shown in (([], ["jax", "torch", "norse"]), (["--only-changed"], ["norse"])):
        table = snnbench("compare", *sets, *more).stdout.split(" cases in both")[0]
        assert re.findall(r"^ *(\w+)\b.* soft ", table, re.MULTILINE) == shown
        assert len(re.findall(r" (?:slower|same) *$", table, re.MULTILINE)) == 4 * len(shown)
    unsure = snnbench("compare", folders / "base", folders / "few").stdout
    assert unsure.count("unsure: few blocks") == 13, "times that decide nothing are numbers, too"
    markdown = [
        snnbench("compare", *sets, "--format", "markdown", *more).stdout.count("\n| ")
        for more in ([], ["--only-changed"])
    ]
    assert markdown == [13, 5]


@pytest.mark.parametrize("width", [60, 80])
def test_on_a_narrow_terminal_ratios_and_intervals_are_whole(width):
    stream = io.StringIO()
    comparison = compare_sets(rows_of(records(NOISE)), rows_of(records(norse=3.0)))
    print_comparison(comparison, False, Console(file=stream, width=width))
    table = stream.getvalue().split(" cases in both")[0]
    assert len(re.findall(r"\([\d.]+–[\d.]+\)", table)) == 12 and "…" not in table
    assert max(map(len, table.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 66])
def test_on_a_narrow_terminal_verdicts_are_whole(width):
    stream, results = io.StringIO(), read_results([committed("quickstart")])
    comparison = compare_variants(results.rows, "torch", "fused")
    print_comparison(comparison, False, Console(file=stream, width=width))
    table = stream.getvalue().split(" cases in both")[0]
    words = table.split()
    assert words.count("unsure:") == words.count("few") == words.count("blocks") == 6


def test_the_terminal_says_what_was_compared(snnbench, folders):
    printed = " ".join(snnbench("compare", folders / "base", folders / "slow").stdout.split())
    for part in (
        "3 cases in both, 3 with times",
        "4 slower, 8 same",
        "12 comparisons of times",
        "base: 3 blocks, 0% of 216 slots disturbed",
        "all cases 0.999×, canary 1.00×",
        "step 8.13 ms 3.00×",
    ):
        assert part in printed


def test_what_is_unsure_is_told_with_its_reason_and_with_what_would_decide_it(snnbench, folders):
    few = snnbench("compare", folders / "base", folders / "few").stdout
    assert "unsure: few blocks in 12 of 12 comparisons" in few
    assert "up to 1 more block, measured by: snnbench run" in few and "measure.blocks=3" in few
    disturbed = snnbench("compare", folders / "base", folders / "busy").stdout
    assert "unsure: 33% of the slots of the new set were disturbed" in disturbed
    assert "slower" not in disturbed.split("comparisons")[1]
    quickstart = committed("quickstart")  # other phases than the step in one block of three
    assert (
        "--set measure.blocks=3 --set measure.phase_blocks=3"
        in snnbench("compare", quickstart, quickstart).stdout
    )


def test_markdown_for_pull_requests(snnbench, folders):
    text = snnbench(
        "compare", folders / "base", folders / "slow", "--format", "markdown", "--only-changed"
    ).stdout
    header, rule, *lines = text.splitlines()
    assert (header, rule) == (
        "| case | what | was | is | verdict |",
        "| :-- | :-- | :-- | :-- | :-- |",
    )
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4 and all(
        line.count("|") == 6 and line.endswith("| slower |") for line in rows
    )
    assert lines[5].startswith("* 3 cases in both")
    same = snnbench(
        "compare", folders / "base", folders / "same", "--format", "markdown", "--only-changed"
    ).stdout
    assert same.startswith("* 3 cases in both")


@pytest.mark.parametrize(
    ("new", "failed", "skipped"), [("slow", 4, 0), ("busy", 0, 12), ("few", 0, 12), ("other", 0, 4)]
)
def test_junit_for_ci(snnbench, folders, new, failed, skipped):
    text = snnbench("compare", folders / "base", folders / new, "--format", "junit").stdout
    suites = ElementTree.fromstring(text)
    (suite,) = suites
    tests = suite.findall("testcase")
    assert (suites.tag, suite.tag) == ("testsuites", "testsuite")
    assert {key: int(value) for key, value in suite.attrib.items() if key != "name"} == {
        "tests": len(tests),
        "failures": failed,
        "errors": 0,
        "skipped": skipped,
    }
    assert len(tests) == (4 if new == "other" else 12)
    assert all(set(test.attrib) == {"classname", "name", "time"} for test in tests)
    assert [child.tag for test in tests for child in test] == ["failure"] * failed + [
        "skipped"
    ] * skipped
    assert all(child.get("message") for test in tests for child in test)
    assert suite.find("system-out").text
