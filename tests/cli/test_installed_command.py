"""Every verb once as users start it: the installed command in a process of its own. All else about
verbs is tested in process."""

import json
import os
import subprocess
import sys

import pytest
from support.command_line import COMMAND, TINY, axes
from support.paths import FAULTS, FAULTY, ROOT
from support.slow import without

from snnbench.cli.app import VERBS

SHOWN = {
    # verb: (arguments, exit code, what stdout has)
    "quick": (["quick", "--help"], 0, "fastest"),
    "plan": (["plan", "--config", "odd.toml", "--json"], 0, '"cases"'),
    "check": (
        [
            "check",
            "--adapter",
            f"{FAULTY / 'numpy_network.py'}:NumpyNetwork",
            "--neuron",
            "soft",
            *TINY,
        ],
        0,
        "same network",
    ),
    "examine": (
        ["examine", f"{FAULTS / 'models' / 'hostile.py'}:Base", "--input", "7,3,11"],
        3,
        "forward",
    ),
    "same": (
        ["same", *[f"{FAULTS / 'models' / 'complaints.py'}:Net"] * 2, "--input", "17,3,11"],
        0,
        "same: 1 output",
    ),
    "profile": (
        [
            "profile",
            "torch",
            *axes(neurons=9, image=5, time_steps=3),
            "--json",
            "--out",
            "traces",
        ],
        0,
        "linear",
    ),
    "adapters": (["adapters", "--json"], 0, '"variants"'),
    "doctor": (["doctor", "--json"], 0, '"machine"'),
    "report": (["report", "out"], 0, "numpy"),
    "merge": (["merge", "out", "--out", "merged"], 0, "numpy"),
    "compare": (["compare", "out", "out", "--format", "json"], 0, '"cases"'),
    "bundle": (["bundle", "out", "--out", "odd.bundle.jsonl", "--json"], 0, '"sha256"'),
    "verify": (["verify", "odd.bundle.jsonl", "--json"], 0, '"faults"'),
    "site": (["site", "odd.bundle.jsonl", "--out", "site", "--json"], 0, '"folder"'),
    "init": (["init", "mine.toml"], 0, "mine.toml"),
    "env": (["env", "list"], 0, "lava-dl"),
    "badge": (["badge", "checked.json", "--out", "badge.json"], 0, "proved 1 neuron: badge.json"),
}


CHECKED = {"soft": "ok", "hard": "unsupported"}


@pytest.fixture(scope="module")
def measured(snnbench_module):
    config = snnbench_module.config(["numpy"], ["numpy_network.py:NumpyNetwork"])
    statuses = [
        {"case": {"neuron": {"reset": reset}, "precision": "fp32"}, "status": status}
        for reset, status in CHECKED.items()
    ]
    (snnbench_module.folder / "checked.json").write_text(json.dumps(statuses))
    return snnbench_module.installed("run", "--config", config, "--out", "out")


def test_run(measured):
    assert (measured.exit_code, [row["status"] for row in measured.rows]) == (0, ["ok"]), (
        measured.stderr
    )
    assert "numpy" in measured.stdout and "block 1: ok" in measured.stderr


@pytest.mark.parametrize(
    "verb", without({"examine", "same", "profile", "adapters", "check", "doctor"}, SHOWN)
)
def test_a_verb(snnbench_module, measured, verb):
    arguments, exit_code, words = SHOWN[verb]
    ended = snnbench_module.installed(*arguments)
    assert ended.exit_code == exit_code, ended.stderr
    assert words in ended.stdout
    assert "--json" not in arguments or json.loads(ended.stdout)


def test_no_verb_is_forgotten():
    assert {*VERBS} == {"run", *SHOWN}


def test_a_mistake_is_one_sentence_and_exit_code_2(snnbench):
    ended = snnbench.installed("run", "--config", "nowhere.toml")
    assert (ended.exit_code, ended.stdout, ended.message) == (
        2,
        "",
        "snnbench: nowhere.toml: there is no such file",
    )


def test_the_module_is_the_command(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "snnbench", "plan", "-h"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Usage: snnbench plan" in ended.stdout


@pytest.mark.parametrize(
    "variable", ["LANG=C", "LC_ALL=POSIX", "PYTHONIOENCODING=ascii", "PYTHONIOENCODING=latin-1"]
)
def test_a_terminal_without_utf_8_gets_signs_that_it_has(tmp_path, variable):
    name, _, value = variable.partition("=")
    plain = {key: text for key, text in os.environ.items() if key not in ("LANG", "LC_ALL")}
    bundle = ROOT / "results" / "quickstart.bundle.jsonl"
    ended = subprocess.run(
        [COMMAND, "report", bundle, "--out", tmp_path],
        env={**plain, name: value},
        capture_output=True,
        check=True,
    )
    text = ended.stdout.decode("latin-1" if value == "latin-1" else "ascii")
    assert "1.05 - 1.12 ms" in text and "?" not in text
    assert ("1.00×" if value == "latin-1" else "1.00x") in text
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["report.html", "results.csv"]
    assert "×" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_reader_who_leaves_is_no_error(tmp_path):
    bundle = ROOT / "results" / "coverage.bundle.jsonl"
    command = f"'{COMMAND}' report '{bundle}' --format csv | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0" and done.stderr == ""
