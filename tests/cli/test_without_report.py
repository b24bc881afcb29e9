"""The core proves without what ranks and draws: `check` imports none of it, and verbs that need it
say what to install."""

import subprocess
import sys

import pytest
from support.command_line import TINY
from support.paths import FAULTY

from snnbench.cli.app import REPORT, VERBS

WITHOUT = f"""
import sys
class Absent:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {REPORT}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent)
from snnbench.cli import main
main()
"""
DRAWING = ("run", "plan", "report", "merge", "compare", "bundle", "verify", "site")


def without(tmp_path, *arguments):
    command = [sys.executable, "-c", WITHOUT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)


def test_check_needs_none_of_it(tmp_path):
    ended = without(
        tmp_path,
        "check",
        "--adapter",
        f"{FAULTY / 'numpy_network.py'}:NumpyNetwork",
        "--neuron",
        "soft",
        *TINY,
    )
    assert ended.returncode == 0 and "same network" in ended.stdout, ended.stderr


@pytest.mark.parametrize("verb", DRAWING)
def test_a_verb_that_needs_it_says_what_to_install(tmp_path, verb):
    ended = without(tmp_path, verb, "--config", "mine.toml")
    assert ended.returncode == 2 and len(ended.stderr.splitlines()) == 1
    assert (
        ended.stderr.startswith(f"snnbench: {verb} ranks and draws")
        and "pip install 'snnbench[report]'" in ended.stderr
    )


def test_help_lists_every_verb_all_the_same(tmp_path):
    ended = without(tmp_path, "--help")
    assert ended.returncode == 0 and [verb for verb in VERBS if verb not in ended.stdout] == []


ONE_VERB = """
import sys
from snnbench.cli import run_command
try:
    run_command(["env", "list", "--json"])
except SystemExit:
    pass
print([name for name in sys.modules if name.startswith(("snnbench.report", "snnbench.cli.run", "scipy", "jinja2"))])
"""


def test_a_verb_imports_no_other():
    done = subprocess.run(
        [sys.executable, "-c", ONE_VERB], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
