"""Another environment with the same frameworks, in other versions: what `run --beside` measures beside the default one."""

import hashlib
import json
import re
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..common.mistakes import ConfigError
from ..common.texts import anonymous
from ..core.jobs import Inquiry
from ..executors.local import LocalExecutor
from .environment import known, named
from .inventory import Inventory, take_inventory
from .link import PACKAGES, locations

VIRTUAL = (".venv", "venv")
"""Usual names of a virtual environment in a project's folder: the project names it then."""
PLACES = """
import importlib.util, json, sys
print(json.dumps([importlib.util.find_spec(name).submodule_search_locations[0] for name in sys.argv[1:]]))
"""
"""Prints the folders of packages."""


def beside(where: str, files: list[str], inquiry: Inquiry) -> Inventory:
    """The inventory of the environment `where`: one of `snnbench env`, or the folder of a virtual environment in which the very
    same snnbench is installed, or of a project that has one. Its default home bears its name. Raises ConfigError."""
    name, python = _located(where)
    executor = LocalExecutor(str(python))
    try:
        inventory = take_inventory(files, inquiry, executor)
    except RuntimeError as error:
        raise ConfigError(f"--beside {where}: no worker runs there: {error}") from None
    there = json.loads(subprocess.check_output([python, "-I", "-c", PLACES, *PACKAGES], text=True))
    if _sources(there) != _sources(locations().values()):
        raise ConfigError(
            f"--beside {where}: has another snnbench installed, in {there[0]}; both must be measured by one"
        )
    inventory.default = replace(inventory.default, facts={**inventory.default.facts, "name": name})
    return inventory


def _sources(folders: Iterable[str]) -> str:
    """A hash of all Python files in these folders, by their paths there."""
    digest = hashlib.sha256()
    for folder in map(Path, folders):
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _located(where: str) -> tuple[str, Path]:
    """The name of an environment, of letters, digits and `-_.`, and its Python."""
    if where in known():
        environment = named(where)
        if lacking := environment.lacking():
            raise ConfigError(f"--beside {where}: {lacking}")
        return where, environment.python
    folder = Path(where).resolve()
    for python in (
        folder / "bin" / "python",
        *(folder / name / "bin" / "python" for name in VIRTUAL),
    ):
        if python.exists():
            name = (folder.parent if folder.name in VIRTUAL else folder).name
            return re.sub(r"[^\w.-]", "-", anonymous(name)), python
    raise ConfigError(
        f"--beside {where}: must be a virtual environment, or one of {', '.join(known())}"
    )
