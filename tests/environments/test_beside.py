"""`run --beside`: the same adapters a second time in another environment, alive together with those of the default one."""

import json
import shutil

import pytest
from support.environments import virtual
from support.paths import FAULTY

from snnbench.core.case import Case
from snnbench.environments.beside import _located
from snnbench.environments.link import locations

ADAPTER = """
from numpy_network import NumpyNetwork, NumpyProgram

try:
    from oldversion import REPEATS
except ImportError:
    REPEATS = 1


class Program(NumpyProgram):
    def forward(self, x):
        for _ in range(REPEATS - 1):
            super().forward(x)
        return super().forward(x)


class Versioned(NumpyNetwork):
    name = "versioned"
    program_class = Program
"""
MEASURE = "blocks = 3\nmost_blocks = 3\npasses = 4"


@pytest.fixture(scope="module")
def other(snnbench_module):
    """A virtual environment in a project's folder, in which a forward is computed five times; `versioned.py` is an adapter."""
    (snnbench_module.folder / "versioned.py").write_text(ADAPTER)
    shutil.copy(FAULTY / "numpy_network.py", snnbench_module.folder)
    return virtual(
        snnbench_module.folder / "old project" / ".venv", {"oldversion": "REPEATS = 5\n"}
    )


@pytest.fixture(scope="module")
def config(snnbench_module, other):
    path = snnbench_module.config(["versioned"], [], measure=MEASURE)
    path.write_text(
        path.read_text().replace("adapters = []", 'adapters = ["versioned.py:Versioned"]')
    )
    return path


@pytest.fixture(scope="module")
def measured(snnbench_module, config):
    return snnbench_module.run(config, "--beside", "old project")


def test_a_case_and_its_copy_are_alive_together_and_ranked_in_one_table(measured):
    assert measured.exit_code == 0, measured.stderr
    names = {
        (one["case"]["framework"], one["environment"]["name"], one["adapter"]["name"])
        for one in measured.records
    }
    assert names == {
        ("versioned", "default", "versioned"),
        ("versioned@old-project", "old-project", "versioned"),
    }
    assert len({one["live_set"] for one in measured.records}) == 3 and len(measured.records) == 6
    assert {one["status"] for one in measured.records} == {"ok"}
    assert [row["framework"] for row in measured.rows] == ["versioned", "versioned@old-project"]
    assert all(row["proved"] == "true" for row in measured.rows)


def test_the_page_tells_how_to_measure_the_same_again(measured):
    assert (
        "<pre>snnbench run --config out.toml --beside old-project</pre>"
        in (measured.folder / "report.html").read_text()
    )


def test_today_s_cases_keep_their_ids(measured):
    ids = {one["case"]["framework"]: one["case_id"] for one in measured.records}
    case = Case("versioned", neurons=97, time_steps=37, batch=3)
    assert ids["versioned"] == case.id != ids["versioned@old-project"]


def test_compare_tells_which_is_faster(snnbench_module, measured):
    ended = snnbench_module("compare", measured.folder, "--beside", "old-project", "--json")
    assert ended.exit_code == 0, ended.stdout
    comparison = json.loads(ended.stdout)
    assert comparison["names"] == ["old-project", "default"]
    ratios = {one["phase"]: one["ratio"] for one in comparison["changes"]}
    assert ratios["inference"] < 0.5 and ratios["forward"] < 0.5
    turned = snnbench_module(
        "compare", measured.folder, "--pair", "versioned", "versioned@old-project", "--json"
    )
    found = {one["phase"]: one["ratio"] for one in json.loads(turned.stdout)["changes"]}
    assert found == pytest.approx({phase: 1 / ratio for phase, ratio in ratios.items()})
    nothing = snnbench_module("compare", measured.folder, "--beside", "older")
    assert (nothing.exit_code, nothing.message) == (
        2,
        "snnbench: --beside older: nothing in the set was measured there",
    )


def test_what_was_measured_stays_done(snnbench_module, config, measured):
    planned = json.loads(
        snnbench_module(
            "plan", "--config", config, "--out", "out", "--beside", "old project", "--json"
        ).stdout
    )
    assert [(case["case"]["framework"], case["state"]) for case in planned["cases"]] == [
        ("versioned", "done"),
        ("versioned@old-project", "done"),
    ]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("nowhere", "must be a virtual environment, or one of"),
        ("lava-dl", "needs an environment of its own: snnbench env"),
    ],
)
def test_an_environment_that_is_not_there(snnbench_module, config, where, words):
    ended = snnbench_module("plan", "--config", config, "--beside", where)
    assert ended.exit_code == 2 and words in ended.message


def test_an_environment_without_this_snnbench(snnbench_module, config, other, tmp_path):
    bare = virtual(tmp_path / "bare", {})
    (finder,) = bare.glob("lib/python3.*/site-packages/_snnbench_link.py")
    (tmp_path / "kernels").symlink_to(locations()["snnbench.kernels"])
    finder.write_text(
        finder.read_text().replace(locations()["snnbench.kernels"], str(tmp_path / "kernels"))
    )
    assert snnbench_module("plan", "--config", config, "--beside", bare).exit_code == 0, (
        "the same files in another place"
    )
    (tmp_path / "kernels").unlink()
    shutil.copytree(locations()["snnbench.kernels"], tmp_path / "kernels")
    (tmp_path / "kernels" / "spec.py").open("a").write("# older\n")
    older = snnbench_module("plan", "--config", config, "--beside", bare)
    assert older.exit_code == 2 and "has another snnbench installed" in older.message
    finder.with_suffix(".pth").unlink()
    none = snnbench_module("plan", "--config", config, "--beside", bare)
    assert (
        none.exit_code == 2
        and "no worker runs there" in none.message
        and "snnbench" in none.message
    )


def test_containers_are_not_of_this_machine(snnbench_module, config):
    ended = snnbench_module(
        "plan", "--config", config, "--beside", "old project", "--executor", "docker"
    )
    assert (
        ended.exit_code == 2
        and "needs workers that are processes, not --executor docker" in ended.message
    )


def test_a_copy_is_not_named_for_its_user(tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "alice")
    python = tmp_path / "alice" / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert _located(str(tmp_path / "alice"))[0] == "USER"
