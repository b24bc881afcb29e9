"""What a machine lacks is said before anything is installed, with the command that brings it."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

from snnbench.machine.lacking import lacks

GIB = 2**30
COMPLETE = {
    "which": lambda program: f"/usr/bin/{program}",
    "python": (3, 13),
    "has_module": lambda name: True,
    "header": Path(__file__),
    "free_bytes": 100 * GIB,
    "memory_bytes": 8 * GIB,
}


def without(*programs):
    """Returns a search in PATH that does not find `programs`."""
    return lambda name: None if name in programs else f"/usr/bin/{name}"


CASES = {
    "an old Python": ({"python": (3, 10)}, "this is Python 3.10, and snnbench needs 3.11", True),
    "a new Python": ({"python": (3, 15)}, "this is Python 3.15", True),
    "no ensurepip": (
        {"has_module": lambda name: False},
        "virtual environments here (sudo apt-get install python3-venv)",
        True,
    ),
    "no compiler": (
        {"which": without("c++", "g++", "clang++")},
        "no C++ compiler: fused uses its slow spelling, and nothing is compiled "
        "(sudo apt-get install g++)",
        False,
    ),
    "no compiler on Fedora": (
        {"which": without("c++", "g++", "clang++", "apt-get")},
        "(sudo dnf install gcc-c++)",
        False,
    ),
    "no git on a system without package manager": (
        {"which": without("git", "apt-get", "dnf", "pacman")},
        "no git: records do not name the commit of snnbench (install git)",
        False,
    ),
    "no header": ({"header": Path("/nowhere/Python.h")}, "no Python.h", False),
    "room for CPUs only": ({"free_bytes": 4 * GIB}, "4.0 GiB are free", False),
    "no room": ({"free_bytes": 2 * GIB}, "2.0 GiB are free for", True),
    "little memory": ({"memory_bytes": 2 * GIB}, "2.0 GiB of memory", False),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence(case, tmp_path, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    changed, words, stops = CASES[case]
    (lack,) = lacks(tmp_path, **COMPLETE | changed)
    assert words in lack.sentence and lack.stops == stops


def test_nothing_is_said_of_a_complete_machine(tmp_path):
    assert lacks(tmp_path / "not" / "made yet", **COMPLETE) == []


def test_make_runs_it_without_snnbench(tmp_path):
    """As a file, isolated from all installed packages."""
    command = [sys.executable, "-I", "-S", ROOT / "bench/machine/lacking.py", tmp_path / "venv"]
    ended = subprocess.run(command, capture_output=True, text=True, env={"PATH": ""})
    assert ended.returncode == 0, ended.stderr
    assert "snnbench: no C++ compiler: fused uses" in ended.stderr
    assert "Traceback" not in ended.stderr
