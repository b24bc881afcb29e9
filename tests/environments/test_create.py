"""Environments, made for real but small: one package of our own, in a wheel or built by a backend that can be stopped."""

import json
import shutil
import signal
import time
import zipfile
from pathlib import Path

import psutil
import pytest
from packaging.utils import canonicalize_name
from support.paths import FAULTY

from snnbench.adapters.base.case import Case
from snnbench.environments.environment import known
from snnbench.environments.recipes import load_recipes
from snnbench.executors.launch import launch
from snnbench.executors.local import LocalExecutor
from snnbench.executors.surroundings import worker_environment
from snnbench.experiment.planned_case import PlannedCase
from snnbench.mistakes import ConfigError
from snnbench.run.check import prove_apart

ADAPTER = f"""
import sys

sys.path.append({str(FAULTY)!r})
from numpy_network import NumpyNetwork


class Tiny(NumpyNetwork):
    name = "tiny"
    requires = ("tinyframework.neurons",)

    def supports(self, case):
        import tinyframework.neurons

        return None if "pydantic" not in sys.modules else "pydantic is imported here"
"""

STOPPABLE = """
import os, pathlib, time, zipfile

HERE = pathlib.Path(__file__).parent

def build_wheel(folder, settings=None, metadata=None):
    (HERE / "builds").open("a").write("x")
    (HERE / "pip").write_text(str(os.getppid()))
    while not (HERE / "go").exists():
        time.sleep(0.02)
    path = pathlib.Path(folder) / "slowpackage-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("slowpackage.py", "")
        wheel.writestr("slowpackage-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: slowpackage\\nVersion: 1.0\\n")
        wheel.writestr("slowpackage-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("slowpackage-1.0.dist-info/RECORD", "")
    return path.name
"""


def wheel_of(folder: Path, name: str, files: dict[str, str]) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def stoppable_package(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "backend.py").write_text(STOPPABLE)
    (folder / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n')
    return folder


def steps(**installed) -> str:
    """Recipe steps by name, each `install` and further keys."""
    lines = []
    for name, (install, more) in installed.items():
        lines += ["[[tiny.steps]]", f'name = "{name}"', f"install = {json.dumps([str(i) for i in install])}", more]
    return "\n".join(lines) + "\n"


def write_recipes(snnbench, text: str, needs: str = "") -> Path:
    folder = snnbench.folder / "environments"
    folder.mkdir(exist_ok=True)
    path = folder / "environments.toml"
    path.write_text(f'[tiny]\nadapters = ["tiny"]\ndescription = "for tests"\n{needs}\n{text}')
    (snnbench.folder / "tiny.py").write_text(ADAPTER)
    return folder / "tiny"


def framework(snnbench) -> Path:
    return wheel_of(
        snnbench.folder / "wheels", "tinyframework", {"tinyframework/__init__.py": "", "tinyframework/neurons.py": ""}
    )


def config_of(snnbench, frameworks=("tiny",), name="odd", measure="") -> Path:
    path = snnbench.config(list(frameworks), grid='neurons = [11]\ntime_steps = [13]\nbatch = [2]\ndevice = ["cpu"]', name=name)
    path.write_text(path.read_text().replace("adapters = []", 'adapters = ["tiny.py:Tiny"]') + measure)
    return path


def states(snnbench) -> dict[str, str]:
    return {entry["name"]: entry["state"] for entry in json.loads(snnbench("env", "list", "--json").stdout)}


@pytest.fixture(scope="module")
def made(snnbench_module):
    """The folder of an environment with NumPy and a framework in it, and how its making went."""
    folder = write_recipes(snnbench_module, steps(numpy=(["numpy==2.4.6"], ""), framework=([framework(snnbench_module)], "")))
    return folder, snnbench_module("env", "create", "tiny")


@pytest.fixture
def ready(made, snnbench_module):
    """The same, whatever a test before did to it."""
    folder, _ = made
    before = {name: (folder / name).read_bytes() for name in ("snnbench.json", "snnbench-steps.json")}
    yield snnbench_module
    for name, content in before.items():
        (folder / name).write_bytes(content)


def test_it_is_made_with_progress(made, snnbench_module):
    folder, ended = made
    assert ended.exit_code == 0, ended.stderr
    told = [line.rsplit(":", 1)[0] for line in ended.stderr.splitlines()]
    assert told == ["tiny [1/3] python", "tiny [2/3] numpy", "tiny [3/3] framework", f"tiny is ready in {folder}"]
    assert states(snnbench_module)["tiny"] == "ready"
    assert snnbench_module("env", "doctor", "tiny").stdout == "tiny: as it was made\n"
    again = snnbench_module("env", "create", "tiny")
    assert (again.exit_code, again.message) == (0, f"tiny is ready in {folder}")


def test_workers_run_there_with_nothing_of_the_harness(made, ready):
    """In the environment there is neither pydantic nor rich nor typer, and what a record says of it is its own."""
    ended = ready.run(config_of(ready))
    assert ended.exit_code == 0, ended.stderr
    (record,) = ended.records
    assert (record["status"], record["environment"]["name"]) == ("ok", "tiny")
    packages = json.loads((ended.folder / f"environment-{record['environment']['hash']}.json").read_text())["packages"]
    assert {"tinyframework": "1.0", "numpy": "2.4.6", "snnbench": "0.1.0"}.items() <= packages.items()
    assert not {"pydantic", "typer", "rich", "filelock", "psutil"} & set(packages)
    default = json.loads(ready("doctor", "--json").stdout)["environment"]
    assert default["hash"] != record["environment"]["hash"]
    assert ready.run(config_of(ready)).stderr.count("kept, ok") == 1, "the same environment: done is done"
    checked = ready("check", "--adapter", "tiny.py:Tiny", "--neurons", "31", "--neuron", "soft")
    assert checked.exit_code == 0 and "same network" in checked.stdout


def test_a_default_environment_that_has_the_framework_is_used(ready):
    """What is imported here needs no environment, made or not."""
    adapter = (ready.folder / "tiny.py").read_text()
    try:
        (ready.folder / "tiny.py").write_text(adapter.replace("tinyframework.neurons", "json.decoder"))
        adapters = json.loads(ready("adapters", "--adapter", "tiny.py:Tiny", "--json").stdout)["adapters"]
    finally:
        (ready.folder / "tiny.py").write_text(adapter)
    (tiny,) = [entry for entry in adapters if entry["name"] == "tiny"]
    assert (tiny["environment"], tiny["lacking"]) == ("default", None)


def test_a_changed_list_of_packages_makes_it_stale_and_create_updates_it(made, ready):
    folder, _ = made
    recipes = folder.parent / "environments.toml"
    text = recipes.read_text()
    more = wheel_of(ready.folder / "wheels", "morestuff", {"morestuff.py": ""})
    try:
        recipes.write_text(text + steps(more=([more], "")))
        assert states(ready)["tiny"] == "stale"
        listed = ready("env", "list").stdout
        assert "its list of packages has changed since" in " ".join(listed.split())
        ended = ready.run(config_of(ready, name="stale"), out="stale")
        assert ended.exit_code == 2
        assert "environment tiny is stale, its list of packages has changed since: snnbench env create tiny" in ended.stderr
        updated = ready("env", "create", "tiny")
        assert updated.exit_code == 0
        assert [line.split(": ")[-1] for line in updated.stderr.splitlines()[:3]] == ["kept"] * 3
        assert list(folder.glob("lib/*/site-packages/morestuff.py"))
    finally:
        recipes.write_text(text)


def test_another_place_of_snnbench_makes_it_stale(made, ready):
    folder, _ = made
    marker = json.loads((folder / "snnbench.json").read_text())
    marker["source"]["snnbench"] = "/somewhere/else"
    (folder / "snnbench.json").write_text(json.dumps(marker))
    assert states(ready)["tiny"] == "stale"
    assert "made for the snnbench in /somewhere/else" in ready("env", "doctor", "tiny").stdout
    updated = ready("env", "create", "tiny").stderr.splitlines()
    assert [line.split(": ")[-1] for line in updated[:3]] == ["kept"] * 3
    assert states(ready)["tiny"] == "ready"


def test_create_mends_what_is_damaged(made, ready):
    folder, _ = made
    (lost,) = folder.glob("lib/*/site-packages/tinyframework/neurons.py")
    lost.unlink()
    assert "tiny: to mend it: snnbench env create tiny" in ready("env", "doctor", "tiny").stdout
    mended = ready("env", "create", "tiny")
    assert mended.exit_code == 0 and "tiny is made anew: tinyframework-1.0 has lost 1 files" in mended.stderr
    assert lost.exists() and ready("env", "doctor", "tiny").exit_code == 0
    assert "kept" not in mended.stderr


def test_a_damaged_environment_is_told_and_takes_nothing_along(made, ready):
    folder, _ = made
    (lost,) = folder.glob("lib/*/site-packages/tinyframework/neurons.py")
    python, aside = folder / "bin" / "python", folder / "bin" / "python-aside"
    lost.unlink()
    try:
        doctored = ready("env", "doctor", "tiny")
        assert doctored.exit_code == 3
        assert "tinyframework-1.0 has lost 1 files, first tinyframework/neurons.py" in doctored.stdout
        ended = ready.run(config_of(ready, ["tiny", "torch"], name="damaged"), out="damaged")
        assert ended.exit_code == 3
        assert ended.record("tiny")["reason"] == "tinyframework.neurons is not installed in environment tiny"
        assert ended.record("torch")["status"] == "ok"
        python.rename(aside)
        python.write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
        python.chmod(0o755)
        listed = json.loads(ready("adapters", "--adapter", "tiny.py:Tiny", "--json").stdout)["adapters"]
        (tiny,) = [entry for entry in listed if entry["name"] == "tiny"]
        assert tiny["lacking"] == "environment tiny gives no answer: no room: snnbench env doctor tiny"
        assert "gives no answer: no room" in ready("env", "doctor", "tiny").stdout
        python.unlink()
        assert states(ready)["tiny"] == "broken"
    finally:
        lost.write_text("")
        if aside.exists():
            aside.rename(python)


def test_an_environment_that_vanishes_costs_its_cases_only(tmp_path):
    gone = tmp_path / "environment" / "bin" / "python"
    adapter = {"reference": "tiny.py:Tiny", "environment": {"executor": LocalExecutor(str(gone))}}
    ended = prove_apart(PlannedCase(Case("tiny"), adapter), 10)
    assert (ended.status, ended.reason) == ("env_error", f"{gone} cannot be started: No such file or directory")
    outcome = launch("null", {}, tmp_path / "scratch", 10, 1 << 34, worker_environment("cpu", 1), LocalExecutor(str(gone)))
    with pytest.raises(RuntimeError, match="cannot be started"):
        outcome.answer("describe")


def test_interrupted_killed_and_resumed(snnbench):
    slow = stoppable_package(snnbench.folder / "slow")
    folder = write_recipes(snnbench, steps(first=([framework(snnbench)], ""), slow=([slow], "build = true")))

    def start():
        (slow / "pip").unlink(missing_ok=True)
        process = snnbench.start("env", "create", "tiny")
        until(lambda: (slow / "pip").exists() and (slow / "pip").read_text())
        return process, int((slow / "pip").read_text())

    process, _ = start()
    refused = snnbench("env", "create", "tiny")
    assert (refused.exit_code, "another snnbench is making or removing it" in refused.stderr) == (2, True)
    assert snnbench("env", "remove", "tiny").exit_code == 2
    process.send_signal(signal.SIGINT)
    interrupted = snnbench.end(process)
    assert interrupted.exit_code == 130
    assert "interrupted; what is finished is kept: snnbench env create tiny goes on from there" in interrupted.stderr

    process, pip = start()
    process.kill()
    assert snnbench.end(process).exit_code == -signal.SIGKILL
    until(lambda: not psutil.pid_exists(pip) or psutil.Process(pip).status() == psutil.STATUS_ZOMBIE)
    assert states(snnbench)["tiny"] == "unfinished"
    half = next(folder.glob("lib/*/site-packages")) / "half-1.0.dist-info"
    half.mkdir()
    (half / "METADATA").write_text("Metadata-Version: 2.1\nName: half\nVersion: 1.0\n")
    listed = snnbench("adapters", "--adapter", "tiny.py:Tiny").stdout
    assert "environment tiny is unfinished, its making was interrupted or failed: snnbench env create tiny" in listed

    (slow / "go").touch()
    (snnbench.folder / "tiny.py").write_text(ADAPTER.replace("tinyframework.neurons", "slowpackage"))
    ended = snnbench("env", "create", "tiny")
    assert ended.exit_code == 0, ended.stderr
    assert ended.stderr.splitlines()[:2] == ["tiny [1/3] python: kept", "tiny [2/3] first: kept"]
    assert not half.exists(), "a package that a kill left half-installed must not be taken for whole"
    assert (slow / "builds").read_text() == "xxx"
    assert states(snnbench)["tiny"] == "ready"

    assert snnbench("env", "remove", "tiny").message == "tiny: removed"
    assert [path.name for path in folder.parent.iterdir()] == ["environments.toml"]
    assert snnbench("env", "remove", "tiny").message == "tiny: was not there"


def test_a_step_that_fails_is_named_with_pips_own_words(snnbench):
    broken = snnbench.folder / "broken-1.0-py3-none-any.whl"
    broken.write_text("no wheel")
    folder = write_recipes(snnbench, steps(first=([framework(snnbench)], ""), second=([broken], "")))
    ended = snnbench("env", "create", "tiny")
    assert ended.exit_code == 3
    assert "tiny: step second: pip ended with status" in ended.stderr
    assert "broken-1.0-py3-none-any.whl" in ended.stderr and "Traceback" not in ended.stderr
    assert states(snnbench)["tiny"] == "unfinished"
    write_recipes(snnbench, steps(first=([framework(snnbench)], "")))
    assert snnbench("env", "create", "tiny").exit_code == 0
    write_recipes(snnbench, steps(other=([framework(snnbench)], "")))
    assert "first" not in snnbench("env", "create", "tiny").stderr, "another list of packages begins from nothing"
    assert folder.exists()


FULL = """
def build_wheel(folder, settings=None, metadata=None):
    raise OSError(28, "No space left on device")
"""


def test_why_a_step_failed_is_one_sentence(snnbench):
    snnbench.environment |= {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}
    folder = write_recipes(snnbench, steps(first=([framework(snnbench)], ""), nowhere=(["no-such-package-anywhere==9"], "")))
    ended = snnbench("env", "create", "tiny")
    sentence = "snnbench: tiny: step nowhere: the package index cannot be reached; what is finished is kept"
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (3, sentence)
    package = stoppable_package(snnbench.folder / "full")
    (package / "backend.py").write_text(FULL)
    write_recipes(snnbench, steps(first=([framework(snnbench)], ""), full=([package], "build = true")))
    ended = snnbench("env", "create", "tiny")
    sentence = "snnbench: tiny: step full: no space is left on the disk; what is finished is kept"
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (3, sentence)
    assert ended.stderr.splitlines()[:2] == ["tiny [1/3] python: kept", "tiny [2/3] first: kept"]
    assert states(snnbench)["tiny"] == "unfinished" and not (folder / "tmp").exists()


def test_a_folder_that_cannot_be_written_is_named(snnbench):
    write_recipes(snnbench, steps(first=([framework(snnbench)], "")))
    (snnbench.folder / "environments" / "tiny").write_text("in the way")
    ended = snnbench("env", "create", "tiny")
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (3, 1)
    assert "environments/tiny" in ended.message and "Not a directory" in ended.message


def test_needs_that_are_not_met_are_one_sentence_and_leave_nothing(snnbench):
    fake = wheel_of(
        snnbench.folder / "wheels", "torch", {"torch/__init__.py": "__version__ = '9.9'\nclass version: cuda = None\n"}
    )
    write_recipes(snnbench, steps(torch=([fake], "")), 'needs = ["nvcc", "cuda-torch"]')
    tools = snnbench.folder / "tools"
    tools.mkdir()
    snnbench.environment |= {"PATH": str(tools), "CUDA_HOME": ""}
    ended = snnbench("env", "create", "tiny")
    sentence = "snnbench: tiny needs nvcc (CUDA's compiler), and there is none on PATH nor in CUDA_HOME"
    assert (ended.exit_code, ended.message) == (3, sentence)
    (tools / "nvcc").symlink_to(shutil.which("true"))
    ended = snnbench("env", "create", "tiny")
    sentence = (
        "tiny needs a torch for CUDA, and what pip finds here is torch 9.9, without CUDA; what was installed is removed again"
    )
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (3, f"snnbench: {sentence}")
    assert [path.name for path in (snnbench.folder / "environments").iterdir()] == ["environments.toml"]


def test_all_means_what_is_installed_here_and_a_name_means_that_name(snnbench):
    config = snnbench.config(["all"], grid='neurons = [11]\ntime_steps = [13]\nbatch = [2]\ndevice = ["cpu"]')
    planned = snnbench("plan", "--config", config, "--json")
    assert planned.exit_code == 0
    assert "left out: lava-dl, spikingjelly-cupy, sinabs-exodus, rockpool-exodus (snnbench adapters says why)" in planned.stderr
    frameworks = {case["case"]["framework"] for case in json.loads(planned.stdout)["cases"]}
    assert "torch" in frameworks and "lava-dl" not in frameworks
    grid = 'neurons = [11]\ntime_steps = [13]\nbatch = [2]\ndevice = ["cpu"]\nneuron = ["none"]'
    ended = snnbench.run(snnbench.config(["lava-dl", "torch"], grid=grid))
    assert ended.exit_code == 3
    lacking = ended.record("lava-dl")
    assert lacking["status"] == "env_error"
    assert lacking["reason"] == "needs an environment of its own: snnbench env create lava-dl"
    checked = snnbench("check", "lava-dl", "lava-dl:quantised", "--neuron", "none")
    assert checked.exit_code == 3 and "snnbench env create lava-dl" in checked.stdout


FAULTS = {
    "not TOML": ("[tiny", "is not TOML"),
    "unknown key": ('[tiny]\nadapter = ["a"]', "tiny.adapter: unknown key; did you mean 'adapters'?"),
    "unknown key of a step": (
        '[tiny]\nadapters = ["a"]\ndescription = ""\n[[tiny.steps]]\nname = "a"\ninstal = 1',
        "tiny.steps.1.instal: unknown key",
    ),
    "no steps": ('[tiny]\nadapters = ["a"]\ndescription = ""', "tiny.steps: is missing"),
    "not pinned": (steps(a=(["numpy>=2"], "")), "'numpy>=2' must be pinned, like 'torch==2.13.0'"),
    "a word for true": (steps(a=(["numpy==2.4.6"], 'build = "yes"')), "tiny.steps.1.build = 'yes': must be true or false"),
    "a text for a list": ('[tiny]\nadapters = "a"', "tiny.adapters = 'a': must be a list, in brackets"),
    "unknown need": ('needs = ["gcc"]\n' + steps(a=(["a==1"], "")), "tiny.needs.1 = 'gcc': must be one of nvcc, cuda-torch"),
    "two steps of one name": (steps(a=(["a==1"], "")) + steps(a=(["b==1"], "")), "tiny: two steps are called 'a'"),
    "default": ("[default]", "[default]: an environment's name"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_file_is_named(fault, tmp_path, monkeypatch):
    text, words = FAULTS[fault]
    if not text.startswith("[tiny") or text.startswith("[[tiny"):
        text = text if text.startswith("[default") else f'[tiny]\nadapters = ["a"]\ndescription = ""\n{text}'
    monkeypatch.setenv("SNNBENCH_ENVIRONMENTS", str(tmp_path))
    (tmp_path / "environments.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_recipes()
    assert str(caught.value).startswith(f"{tmp_path / 'environments.toml'}: ")
    assert words in str(caught.value)


def test_an_unknown_environment_is_named(snnbench):
    ended = snnbench("env", "create", "lavadl")
    assert (ended.exit_code, ended.message) == (
        2,
        "snnbench: unknown environment 'lavadl'; did you mean 'lava-dl'? (there are lava-dl, spikingjelly-cupy, exodus)",
    )


def test_the_built_in_recipes_pin_all_they_install():
    """Pins of one package agree within an environment, and steps with dependencies find theirs among the pins."""
    for own in known().values():
        names = [canonicalize_name(pin.name) for pin in own.recipe.pins]
        assert len(names) == len(set(names)), own.name


def until(condition, seconds=60.0):
    """Wait for another process."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
