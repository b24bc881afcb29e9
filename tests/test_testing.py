"""snnbench.testing: one line in a framework's own tests, run by a pytest of its own; and the
Action that does the same."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml
from support.command_line import COMMAND, TINY
from support.paths import FAULTY, ROOT

SIZES = "neurons=31, time_steps=41, batch=3"
SMALL = " ".join(TINY)
TESTS = f"""
from snnbench.testing import equivalence

test_right = equivalence("adapter.py:Right", neuron=["soft", "soft-undecayed"], {SIZES})
test_wrong = equivalence("adapter.py:Wrong", neuron=["hard"], {SIZES})
test_no_neuron = equivalence("adapter.py:Right", neuron=["sofd"])
test_no_axis = equivalence("adapter.py:Right", size=3)
test_nobody = equivalence("nobody.py:Right")
"""
ADAPTER = """
from dataclasses import replace

from numpy_network import NumpyNetwork, NumpyProgram


class Right(NumpyNetwork):
    name = "right"

    def supports(self, case):
        return "only the decay before the reset" if case.neuron.reset == "soft-undecayed" else None


class Subtracting(NumpyProgram):
    def __init__(self, case, network):
        super().__init__(case, network)
        self.spec = replace(self.spec, reset="soft")


class Wrong(NumpyNetwork):
    name = "wrong"
    program_class = Subtracting
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The folder of a framework that tests itself."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "test_equivalence.py").write_text(TESTS)
    (folder / "adapter.py").write_text(ADAPTER)
    (folder / "numpy_network.py").write_bytes((FAULTY / "numpy_network.py").read_bytes())
    return folder


def test_each_case_passes_fails_with_the_fault_or_is_skipped_with_the_reason(project):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rfs",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(project),
        "test_equivalence.py",
    ]
    ended = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120)
    told = ended.stdout
    assert re.search(r"4 failed, 1 passed, 1 skipped", told), told
    assert "only the decay before the reset" in told
    assert (
        "FAILED test_equivalence.py::test_wrong[hard-fp32]" in told
        and "resets like `soft`, not `hard`" in told
    )
    assert (
        "equivalence(neuron='sofd'): must be one of" in told
        and "equivalence: grid.size: unknown key" in told
    )
    assert "there is no file" in told and "Traceback" not in told
    assert "During handling" not in told, "a mistake is told once"


ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


def done_by_the_action(project, **given):
    """Its commands, as a runner would start them, but for the installation; how each ended."""
    assert ACTION["inputs"].keys() == given.keys()
    ended = []
    for step in ACTION["runs"]["steps"][1:]:
        assert "${{" not in step["run"], "what a user gives must not become a command"
        values = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: given[m[1]], text)
            for name, text in step["env"].items()
        }
        environment = {
            **os.environ,
            **values,
            "PATH": os.pathsep.join([str(COMMAND.parent), os.environ["PATH"]]),
        }
        command = ["bash", "-eo", "pipefail", "-c", step["run"]]
        ended.append(
            subprocess.run(
                command, cwd=project, env=environment, capture_output=True, text=True, timeout=120
            )
        )
    return ended


def test_the_action_is_short_and_writes_no_badge_of_nothing():
    assert len((ROOT / "action.yml").read_text().splitlines()) == 9
    install, check, badge = ACTION["runs"]["steps"]
    assert install["run"] == 'pip install "$GITHUB_ACTION_PATH"'
    assert badge["if"] == f"!cancelled() && steps.{check['id']}.outcome != 'skipped'", (
        "where pip failed there is nothing to show"
    )


def test_the_action_tells_a_fault_in_words_and_writes_its_badge(project):
    check, badge = done_by_the_action(
        project, adapter="adapter.py:Wrong", options=f"--neuron hard {SMALL}", badge="wrong.json"
    )
    assert (check.returncode, badge.returncode) == (4, 0), "the exit code is that of snnbench check"
    assert [one["status"] for one in json.loads(check.stdout)] == ["check_failed"]
    assert "wrong hard fp32: " in check.stderr and "resets like `soft`, not `hard`" in check.stderr
    assert "0 proved, 1 failed" in (project / "wrong.json").read_text()


def test_options_are_words_and_neither_patterns_nor_commands(project):
    given = {
        "options": "--neuron 'so ft' --neuron *.py --neuron $(touch made)",
        "badge": "none.json",
    }
    check, _ = done_by_the_action(project, adapter="adapter.py:Right", **given)
    assert check.returncode == 2 and "so ft" in check.stderr
    assert not (project / "made").exists() and "adapter.py" not in check.stderr


def test_the_action_proves_and_writes_a_badge(project):
    given = {
        "adapter": "adapter.py:Right",
        "options": f"--neuron soft {SMALL}",
        "badge": "badge.json",
    }
    assert [ended.returncode for ended in done_by_the_action(project, **given)] == [0, 0]
    assert [one["status"] for one in json.loads((project / "snnbench.json").read_text())] == ["ok"]
    assert "proved 1 neuron" in (project / "badge.json").read_text()
