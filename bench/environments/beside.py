"""Another environment with the same frameworks, in other versions: what `run --beside` measures beside the default one."""

import re
from dataclasses import replace
from pathlib import Path

from .. import __version__
from ..executors.local import LocalExecutor
from ..mistakes import ConfigError
from ..worker.task import Inquiry
from .environment import known, named
from .inventory import Inventory, take_inventory

VIRTUAL = (".venv", "venv")
"""Usual names of a virtual environment in a project's folder: the project names it then."""


def beside(where: str, files: list[str], inquiry: Inquiry) -> Inventory:
    """The inventory of the environment `where`: one of `snnbench env`, or the folder of a virtual environment in which this
    version of snnbench is installed, or of a project that has one. Its default home bears its name. Raises ConfigError."""
    name, python = _located(where)
    executor = LocalExecutor(str(python))
    try:
        inventory = take_inventory(files, inquiry, executor)
    except RuntimeError as error:
        raise ConfigError(f"--beside {where}: no worker runs there: {error}") from None
    version = inventory.default.facts["packages"].get("snnbench")
    if version != __version__:
        raise ConfigError(f"--beside {where}: must have snnbench {__version__} installed, not {version or 'none'}")
    inventory.default = replace(inventory.default, facts={**inventory.default.facts, "name": name})
    return inventory


def _located(where: str) -> tuple[str, Path]:
    """The name of an environment, of letters, digits and `-_.`, and its Python."""
    if where in known():
        environment = named(where)
        if lacking := environment.lacking():
            raise ConfigError(f"--beside {where}: {lacking}")
        return where, environment.python
    folder = Path(where).resolve()
    for python in (folder / "bin" / "python", *(folder / name / "bin" / "python" for name in VIRTUAL)):
        if python.exists():
            name = (folder.parent if folder.name in VIRTUAL else folder).name
            return re.sub(r"[^\w.-]", "-", name), python
    raise ConfigError(f"--beside {where}: must be a virtual environment, or one of {', '.join(known())}")
