"""The wheel in a fresh environment, as users have it: what is missing is named with the command
for it, and extras work."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.command_line import axes
from support.paths import ROOT, committed

pytestmark = pytest.mark.slow
SMALL = ["--neuron", "soft", *axes(neurons=11, time_steps=7, batch=2)]


def called(*command, **given) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=550, **given
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("bench", "adapters", "kernels", "configs"):
        shutil.copytree(ROOT / name, folder / "source" / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    done = called(
        sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, folder / "source"
    )
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("snnbench-*.whl")
    return path


class Installed:
    """A virtual environment with the wheel, and a folder to work in."""

    def __init__(self, folder: Path, wheel: Path):
        self.folder, self.wheel, self.bin = folder, wheel, folder / "venv" / "bin"
        assert called(sys.executable, "-m", "venv", folder / "venv").returncode == 0
        self.add("")

    def add(self, extra: str) -> None:
        """Install the wheel with an extra, in the versions that were tested."""
        what = f"{self.wheel}[{extra}]" if extra else self.wheel
        options = [
            "--quiet",
            "--constraint",
            ROOT / "constraints.txt",
            "--constraint",
            ROOT / "constraints-kernels.txt",
        ]
        done = called(self.bin / "python", "-m", "pip", "install", *options, what)
        assert done.returncode == 0, done.stderr

    def __call__(self, *arguments) -> subprocess.CompletedProcess:
        own = {**os.environ, "SNNBENCH_ENVIRONMENTS": str(self.folder / "environments")}
        return called(self.bin / "snnbench", *arguments, cwd=self.folder, env=own)

    def python(self, code: str) -> subprocess.CompletedProcess:
        return called(self.bin / "python", "-c", code, cwd=self.folder)


@pytest.fixture(scope="module")
def installed(tmp_path_factory, wheel) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"), wheel)


def test_the_wheel_has_what_is_no_python(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    sources = {
        "bench": "snnbench",
        "configs": "snnbench/configs",
        "adapters": "snnbench/adapters",
        "kernels": "snnbench/kernels",
    }
    kinds = {".toml", ".j2", ".css", ".js", ".cpp", ".h", ".cu", ".typed", ".py", ".md"}
    for folder, package in sources.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix in kinds:
                assert f"{package}/{path.relative_to(ROOT / folder)}" in names


def test_without_a_framework_it_says_what_to_do(installed):
    assert installed("--version").stdout.startswith("snnbench ")
    assert (
        "Commands" in installed("--help").stdout and installed("doctor", "--json").returncode == 0
    )
    assert "snnbench env create standard" in installed("adapters").stdout
    ran = installed("run", "--config", "quickstart")
    assert ran.returncode == 2 and ran.stderr.strip().endswith("snnbench env create standard"), (
        ran.stderr
    )
    assert len(ran.stderr.splitlines()) == 1
    in_containers = installed("run", "--config", "ci", "--executor", "docker")
    assert in_containers.returncode == 2 and in_containers.stderr.strip().endswith(
        "pip install 'snnbench[docker]'"
    )
    frame = installed.python(
        f"import snnbench; snnbench.load({str(committed('quickstart'))!r}).frame"
    )
    assert frame.stderr.strip().endswith("pip install 'snnbench[pandas]'")
    reported = installed("report", committed("quickstart"), "--out", "report")
    assert reported.returncode == 0
    page = (installed.folder / "report" / "report.html").read_text(encoding="utf-8")
    drawing = page.partition('id="data-vega">')[2].partition("</script>")[0]
    assert len(drawing) > 300_000


def test_the_standard_environment_measures(installed):
    made = installed("env", "create", "standard")
    assert made.returncode == 0, made.stderr
    ran = installed("run", "--config", "ci", "--out", "ci")
    assert ran.returncode == 0, ran.stderr
    checked = installed("check", "snntorch", "spyx", *SMALL)
    assert checked.returncode == 0 and checked.stdout.count("same network") == 2, checked.stdout
    assert installed("env", "remove", "standard").returncode == 0


EXTRAS = {
    "pandas": f"import snnbench; print(len(snnbench.load({str(committed('quickstart'))!r}).frame))",
    "docker": "import docker",
    "data": "import h5py",
    "cuda": "import cuda.core, cuda.bindings.nvrtc",
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_its_library(installed, extra):
    assert installed.python(EXTRAS[extra]).returncode != 0
    installed.add(extra)
    done = installed.python(EXTRAS[extra])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("extra", ["jax", "torch"])
def test_an_extra_brings_its_framework(installed, extra):
    installed.add(extra)
    checked = installed("check", extra, *SMALL)
    assert checked.returncode == 0 and "same network" in checked.stdout, (
        checked.stdout + checked.stderr
    )
