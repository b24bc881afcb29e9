"""Small environments that are really made: their content, their workers, and failures."""

import json
import shutil

import pytest
from support.command_line import axes
from support.environments import (
    FULL_DISK,
    SIZES,
    config_of,
    framework,
    package_with,
    states,
    steps,
    wheel_of,
    write_recipe,
)

from snnbench.core.case import Case
from snnbench.environments.inventory import WorkerEnvironment
from snnbench.executors.launch import Surroundings, launch
from snnbench.executors.local import LocalExecutor
from snnbench.experiment.adapter_info import AdapterInfo
from snnbench.runner.check import checker
from snnbench.runner.planning import PlannedCase

KEPT = "what is finished is kept"


@pytest.fixture(scope="module")
def made(snnbench_module):
    """The folder of an environment with NumPy and a framework, and the result of its command."""
    folder = write_recipe(
        snnbench_module,
        steps(numpy=(["numpy==2.4.6"], ""), framework=([framework(snnbench_module)], "")),
    )
    return folder, snnbench_module("env", "create", "tiny")


@pytest.mark.slow
def test_it_is_made_with_progress(made, snnbench_module):
    folder, ended = made
    assert ended.exit_code == 0, ended.stderr
    lines = [line.rsplit(":", 1)[0] for line in ended.stderr.splitlines()]
    assert lines == [
        "tiny [1/3] python",
        "tiny [2/3] numpy",
        "tiny [3/3] framework",
        f"tiny is ready in {folder}",
    ]
    assert states(snnbench_module)["tiny"] == "ready"
    assert snnbench_module("env", "doctor", "tiny").stdout == "tiny: intact\n"
    again = snnbench_module("env", "create", "tiny")
    assert (again.exit_code, again.message) == (0, f"tiny is ready in {folder}")
    for verb, more in [("create", {}), ("doctor", {"faults": []})]:
        (entry,) = json.loads(snnbench_module("env", verb, "tiny", "--json").stdout)
        expected = {"name": "tiny", "state": "ready", "folder": str(folder), **more}
        assert {key: entry.get(key) for key in expected} == expected


@pytest.mark.slow
def test_workers_run_there_with_nothing_of_the_harness(made, snnbench_module):
    """The environment lacks pydantic, rich and typer, and its records list its packages."""
    config = config_of(snnbench_module, ["tiny", "numpy"], ["numpy_network.py:NumpyNetwork"])
    ended = snnbench_module.run(config)
    assert ended.exit_code == 0, ended.stderr
    record, default = ended.record("tiny"), ended.record("numpy")["environment"]
    assert (record["status"], record["environment"]["name"]) == ("ok", "tiny")
    packages = json.loads(
        (ended.folder / f"environment-{record['environment']['hash']}.json").read_text()
    )["packages"]
    assert {
        "tinyframework": "1.0",
        "numpy": "2.4.6",
        "snnbench": "0.1.0",
    }.items() <= packages.items()
    assert not {"pydantic", "typer", "rich", "filelock", "psutil"} & set(packages)
    assert (default["name"], default["hash"] == record["environment"]["hash"]) == ("default", False)
    assert snnbench_module.run(config).stderr.count("kept, ok") == 2, (
        "the same environments: done is done"
    )
    checked = snnbench_module(
        "check", "--adapter", "tiny.py:Tiny", "--neuron", "soft", *axes(neurons=31)
    )
    assert checked.exit_code == 0 and "same network" in checked.stdout


@pytest.mark.slow
def test_a_default_environment_that_has_the_framework_is_used(made, snnbench_module):
    """A framework that is installed here needs no environment."""
    adapter = (snnbench_module.folder / "tiny.py").read_text()
    try:
        (snnbench_module.folder / "tiny.py").write_text(
            adapter.replace("tinyframework.neurons", "json.decoder")
        )
        adapters = json.loads(
            snnbench_module("adapters", "--adapter", "tiny.py:Tiny", "--json").stdout
        )["adapters"]
    finally:
        (snnbench_module.folder / "tiny.py").write_text(adapter)
    (tiny,) = [entry for entry in adapters if entry["name"] == "tiny"]
    assert (tiny["environment"], tiny["lacking"]) == ("default", None)


def test_an_environment_that_vanishes_costs_its_cases_only(tmp_path):
    gone = tmp_path / "environment" / "bin" / "python"
    environment = WorkerEnvironment({"name": "tiny"}, LocalExecutor(str(gone)))
    with checker(10) as proofs:
        ended = proofs.prove(
            PlannedCase(Case("tiny"), AdapterInfo("tiny.py:Tiny", "tiny"), environment)
        )
    assert (ended.status, ended.reason) == (
        "env_error",
        f"{gone} cannot be started: No such file or directory",
    )
    surroundings = Surroundings(tmp_path / "scratch", 10, executor=LocalExecutor(str(gone)))
    outcome = launch("null", {}, surroundings)
    with pytest.raises(RuntimeError, match="cannot be started"):
        outcome.answer("describe")


def test_a_step_that_fails_is_named_with_the_output_of_uv(snnbench):
    broken = snnbench.folder / "broken-1.0-py3-none-any.whl"
    broken.write_text("no wheel")
    folder = write_recipe(snnbench, steps(first=([framework(snnbench)], ""), second=([broken], "")))
    ended = snnbench("env", "create", "tiny")
    assert ended.exit_code == 3
    assert "tiny: step second: uv ended with status" in ended.stderr
    assert "zip" in ended.stderr and "Traceback" not in ended.stderr
    assert states(snnbench)["tiny"] == "unfinished"
    write_recipe(snnbench, steps(first=([framework(snnbench)], "")))
    assert snnbench("env", "create", "tiny").exit_code == 0
    write_recipe(snnbench, steps(other=([framework(snnbench)], "")))
    assert "first" not in snnbench("env", "create", "tiny").stderr, (
        "another list of packages begins from nothing"
    )
    assert folder.exists()


def test_why_a_step_failed_is_one_sentence(snnbench):
    snnbench.environment |= {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"}
    folder = write_recipe(
        snnbench,
        steps(first=([framework(snnbench)], ""), nowhere=(["no-such-package-anywhere==9"], "")),
    )
    ended = snnbench("env", "create", "tiny")
    sentence = f"snnbench: tiny: step nowhere: the package index cannot be reached; {KEPT}"
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (3, sentence)
    package = package_with(FULL_DISK, snnbench.folder / "full")
    write_recipe(
        snnbench, steps(first=([framework(snnbench)], ""), full=([package], "build = true"))
    )
    ended = snnbench("env", "create", "tiny")
    sentence = f"snnbench: tiny: step full: no space is left on the disk; {KEPT}"
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (3, sentence)
    assert ended.stderr.splitlines()[:2] == ["tiny [1/3] python: kept", "tiny [2/3] first: kept"]
    snnbench.environment |= {"PIP_NO_INDEX": "1"}
    write_recipe(
        snnbench,
        steps(first=([framework(snnbench)], ""), none=(["no-such-package-anywhere==9"], "")),
    )
    ended = snnbench("env", "create", "tiny")
    cause = "the package index has no such package, or no such version of it"
    sentence = f"snnbench: tiny: step none: {cause}; {KEPT}"
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (3, sentence)
    assert states(snnbench)["tiny"] == "unfinished" and not (folder / "tmp").exists()


def test_a_folder_that_cannot_be_written_is_named(snnbench):
    write_recipe(snnbench, steps(first=([framework(snnbench)], "")))
    (snnbench.folder / "environments" / "tiny").write_text("in the way")
    ended = snnbench("env", "create", "tiny")
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (3, 1)
    assert "environments/tiny" in ended.message and "Not a directory" in ended.message


def test_needs_that_are_not_met_are_one_sentence_and_leave_nothing(snnbench):
    fake = wheel_of(
        snnbench.folder / "wheels",
        "torch",
        {"torch/__init__.py": "__version__ = '9.9'\nclass version: cuda = None\n"},
    )
    write_recipe(snnbench, steps(torch=([fake], "")), 'needs = ["nvcc", "cuda-torch"]')
    tools = snnbench.folder / "tools"
    tools.mkdir()
    snnbench.environment |= {"PATH": str(tools), "CUDA_HOME": ""}
    ended = snnbench("env", "create", "tiny")
    sentence = "snnbench: tiny needs nvcc (CUDA's compiler); there is none on PATH nor in CUDA_HOME"
    assert (ended.exit_code, ended.message) == (3, sentence)
    (tools / "nvcc").symlink_to(shutil.which("true"))
    ended = snnbench("env", "create", "tiny")
    sentence = (
        "snnbench: tiny needs a torch for CUDA; the indexes here have torch 9.9, without CUDA; "
        "what was installed is removed again"
    )
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (3, sentence)
    assert [path.name for path in (snnbench.folder / "environments").iterdir()] == [
        "environments.toml"
    ]


@pytest.mark.slow
def test_all_means_what_can_run_here_and_a_name_means_that_name(snnbench):
    config = snnbench.config(["all"], grid=SIZES)
    planned = snnbench("plan", "--config", config, "--json")
    assert planned.exit_code == 0
    assert (
        "cannot run here, so left out: 11 adapters (snnbench adapters says why)" in planned.stderr
    )
    frameworks = {case["case"]["framework"] for case in json.loads(planned.stdout)["cases"]}
    assert "torch" in frameworks and frameworks.isdisjoint(["lava-dl", "snntorch-ipu"])
    config = snnbench.config(
        ["lava-dl", "numpy"], ["numpy_network.py:NumpyNetwork"], f'{SIZES}\nneuron = ["none"]'
    )
    ended = snnbench.run(config)
    assert (ended.exit_code, ended.record("numpy")["status"]) == (3, "ok")
    lacking = ended.record("lava-dl")
    assert lacking["status"] == "env_error"
    assert lacking["reason"] == "needs an environment of its own: snnbench env create lava-dl"
