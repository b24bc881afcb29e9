"""Virtual environments of frameworks that conflict with others, and their states.

An environment is a folder with the marker `snnbench.json`, which is written last; a folder without
it is not used. `snnbench-steps.json` lists the finished steps. A folder with neither file is not
snnbench's and stays untouched. `install.py` and `create.py` make environments.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..common import __version__
from ..common.files import exclusive, own_folder
from ..common.mistakes import ConfigError, nearest
from .recipes import NEEDS, Recipe, environments_folder, load_recipes

MARKER, FINISHED = "snnbench.json", "snnbench-steps.json"

LINK = '''"""Written by snnbench: lets this environment import snnbench from its own folders."""

import sys
from importlib.util import spec_from_file_location

FOLDERS = {folders!r}


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in FOLDERS:
            return None
        folder = FOLDERS[name]
        file = folder + "/__init__.py"
        return spec_from_file_location(name, file, submodule_search_locations=[folder])


sys.meta_path.append(Finder)
'''


class NotMade(Exception):
    """An environment could not be made or gives no answer; the text says why."""


@dataclass(frozen=True)
class Environment:
    """An environment, made or not; packages it lacks are imported from the folders `beneath`."""

    name: str
    recipe: Recipe
    folder: Path
    beneath: tuple[str, ...] = ()

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        paths = sorted(self.folder.glob("lib/python3.*/site-packages"))
        usual = "lib/python{}.{}/site-packages".format(*sys.version_info)
        return paths[-1] if paths else self.folder / usual

    @property
    def command(self) -> str:
        """The command line that makes, mends or updates it."""
        return f"snnbench env create {self.name}"

    def state(self) -> tuple[str, str | None]:
        """Returns `ready`, `not created`, `unfinished`, `stale` or `broken`, and the reason."""
        if not self.folder.exists():
            return "not created", None
        marker = read_json(self.folder / MARKER)
        if not isinstance(marker, dict):
            return "unfinished", "its making was interrupted or failed"
        if not self.python.exists():
            return "broken", f"its Python, {self.python}, is gone"
        if marker.get("steps") != self.recipe.keys:
            return "stale", "its list of packages has changed since"
        if marker.get("source") != locations():
            source = marker.get("source", {}).get("snnbench")
            return "stale", f"it was made for the snnbench in {source}"
        if marker.get("beneath", []) != [*self.beneath]:
            folders = ", ".join(marker.get("beneath", []))
            return "stale", f"it was made over the packages in {folders}"
        return "ready", None

    @property
    def shown_state(self) -> str:
        """The state for users: `installed here` if snnbench's own environment has the packages.

        `snnbench env create NAME --here` installs them there.
        """
        state, _ = self.state()
        return "installed here" if state == "not created" and self.recipe.is_here() else state

    def lacking(self) -> str | None:
        """Returns why no worker can run here, with the command that helps; None if one can."""
        state, reason = self.state()
        if state == "ready":
            return None
        if state == "not created":
            needs = " and ".join(NEEDS[need] for need in self.recipe.needs)
            needs = f" (needs {needs})" if needs else ""
            return f"needs an environment of its own: {self.command}{needs}"
        return f"environment {self.name} is {state}, {reason}: {self.command}"

    def link(self) -> None:
        """Lets `import snnbench` find the running packages, and writes their metadata.

        Nothing is copied, so harness and worker have one version.
        """
        (self.site_packages / "_snnbench_link.py").write_text(LINK.format(folders=locations()))
        (self.site_packages / "_snnbench_link.pth").write_text("import _snnbench_link\n")
        for old in self.site_packages.glob("snnbench-*.dist-info"):
            shutil.rmtree(old)
        metadata = self.site_packages / f"snnbench-{__version__}.dist-info"
        metadata.mkdir()
        lines = ("Metadata-Version: 2.1", "Name: snnbench", f"Version: {__version__}\n")
        (metadata / "METADATA").write_text("\n".join(lines))
        (metadata / "INSTALLER").write_text("snnbench\n")


def known() -> dict[str, Environment]:
    """Returns the environment of every recipe, made or not. Raises ConfigError."""
    return {
        name: Environment(name, recipe, environments_folder() / name)
        for name, recipe in load_recipes().items()
    }


def named(name: str) -> Environment:
    """Returns the environment of the recipe `name`. Raises ConfigError if there is none."""
    environments = known()
    if name not in environments:
        hint = nearest(name, environments)
        raise ConfigError(
            f"unknown environment {name!r}{hint} (there are {', '.join(environments)})"
        )
    return environments[name]


def remove(environment: Environment) -> bool:
    """Deletes an environment; returns false if there is none.

    Raises ConfigError if another command holds it or snnbench did not make the folder.
    """
    if not environment.folder.exists():
        return False
    with locked(environment):
        discard(environment)
    return True


def discard(environment: Environment) -> None:
    """Deletes the locked folder at once, so that a kill leaves no part of it."""
    with own_folder(environment.folder.parent) as scratch:
        environment.folder.rename(scratch / environment.name)


@contextmanager
def locked(environment: Environment) -> Iterator[None]:
    """Locks an environment against other commands.

    Raises ConfigError if another command holds it or snnbench did not make the folder.
    """
    folder = environment.folder
    lock = folder.with_name(f".{environment.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    busy = ConfigError(f"{folder}: another snnbench is making or removing it; wait for it")
    with exclusive(lock, busy):
        try:
            empty = not folder.exists() or not any(folder.iterdir())
            marked = any((folder / name).is_file() for name in (MARKER, FINISHED))
            if folder.is_symlink() or not (empty or marked):
                raise ConfigError(
                    f"{folder}: is no environment that snnbench made; move it away, or choose "
                    "another folder in SNNBENCH_ENVIRONMENTS"
                )
            yield
        finally:
            if not environment.folder.exists():
                lock.unlink(missing_ok=True)


def locations() -> dict[str, str]:
    """Returns the folder of each of snnbench's packages, without importing it."""
    specs = map(find_spec, ("snnbench", "snnbench.adapters", "snnbench.kernels"))
    files = {spec.name: Path(spec.origin) for spec in specs if spec and spec.origin}
    return {name: str(file.resolve().parent) for name, file in files.items()}


def read_json(path: Path) -> Any:
    """Returns the content of a JSON file of snnbench's own; None if it is missing or damaged."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None
