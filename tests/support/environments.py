"""Recipes of a small environment `tiny`, and wheels for it."""

import json
import shutil
import time
import zipfile
from pathlib import Path

import numpy

from .command_line import Snnbench
from .paths import FAULTY

ADAPTER = """
import sys

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
    (HERE / "uv").write_text(str(os.getppid()))
    while not (HERE / "go").exists():
        time.sleep(0.02)
    path = pathlib.Path(folder) / "slowpackage-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("slowpackage.py", "")
        for name, lines in {
            "METADATA": ["Metadata-Version: 2.1", "Name: slowpackage", "Version: 1.0"],
            "WHEEL": ["Wheel-Version: 1.0", "Root-Is-Purelib: true", "Tag: py3-none-any"],
            "RECORD": [],
        }.items():
            text = "\\n".join([*lines, ""])
            wheel.writestr(f"slowpackage-1.0.dist-info/{name}", text)
    return path.name
"""
"""A build backend that writes uv's process number to the file `uv`, and waits for the file `go`."""

FULL_DISK = """
def build_wheel(folder, settings=None, metadata=None):
    raise OSError(28, "No space left on device")
"""

SIZES = 'neurons = [11]\ntime_steps = [13]\nbatch = [2]\ndevice = ["cpu"]'


def wheel_of(folder: Path, name: str, files: dict[str, str], version: str = "1.0") -> Path:
    """A wheel with `files`, by their paths in it."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


def framework(snnbench: Snnbench) -> Path:
    """A wheel of the package that the adapter `tiny` requires."""
    files = {"tinyframework/__init__.py": "", "tinyframework/neurons.py": ""}
    return wheel_of(snnbench.folder / "wheels", "tinyframework", files)


def our_numpy(snnbench: Snnbench) -> Path:
    """A wheel that links the NumPy of these tests, which is faster than an installation."""
    folder = snnbench.folder / "numpy"
    folder.mkdir()
    for part in Path(numpy.__file__).parents[1].glob("numpy*"):
        (folder / part.name).symlink_to(part)
    return wheel_of(snnbench.folder / "wheels", "ournumpy", {"ournumpy.pth": f"{folder}\n"})


def package_with(backend: str, folder: Path) -> Path:
    """A source package that `backend` builds."""
    folder.mkdir(parents=True)
    (folder / "backend.py").write_text(backend)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    return folder


def steps(**installed) -> str:
    """Returns the TOML of steps by name: packages and further keys."""
    lines = []
    for name, (install, more) in installed.items():
        lines += [
            "[[tiny.steps]]",
            f'name = "{name}"',
            f"install = {json.dumps([str(i) for i in install])}",
            more,
        ]
    return "\n".join(lines) + "\n"


def write_recipe(snnbench: Snnbench, text: str, needs: str = "") -> Path:
    """Writes the recipe of `tiny`, and its adapter as tiny.py; returns the environment's folder."""
    folder = snnbench.folder / "environments"
    folder.mkdir(exist_ok=True)
    path = folder / "environments.toml"
    path.write_text(f'[tiny]\nadapters = ["tiny"]\ndescription = "for tests"\n{needs}\n{text}')
    (snnbench.folder / "tiny.py").write_text(ADAPTER)
    shutil.copy(FAULTY / "numpy_network.py", snnbench.folder)
    return folder / "tiny"


def config_of(snnbench: Snnbench, frameworks=("tiny",), adapters=(), name="odd") -> Path:
    """A config of one small case per framework, with `tiny` and other adapters of tests/faults."""
    path = snnbench.config(list(frameworks), adapters, grid=SIZES, name=name)
    path.write_text(path.read_text().replace("adapters = [", 'adapters = ["tiny.py:Tiny", '))
    return path


def states(snnbench: Snnbench) -> dict[str, str]:
    """Returns the state of each environment from `snnbench env list`."""
    return {
        entry["name"]: entry["state"]
        for entry in json.loads(snnbench("env", "list", "--json").stdout)
    }


def until(condition, seconds=60.0) -> None:
    """Waits for another process."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
