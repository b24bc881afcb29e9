"""The virtual environments of frameworks that cannot live beside the others: which there are, and what state they are in.

An environment is a folder with the marker `snnbench.json`, which is written last; a folder without it is not used. Beside
the marker, `snnbench-steps.json` holds the steps that are finished; a folder that has neither is not ours, and left alone.
`install.py` and `create.py` make environments.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common.files import exclusive, own_folder
from ..common.mistakes import ConfigError, nearest
from . import requirements
from .link import locations
from .recipes import Recipe, environments_folder, load_recipes

MARKER, FINISHED = "snnbench.json", "snnbench-steps.json"


class NotMade(Exception):
    """An environment could not be made or gives no answer; the text says why and, if pip failed, what it printed last."""


@dataclass(frozen=True)
class Environment:
    """One environment, made or not. What it does not hold itself it finds in the folders `beneath`."""

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
        return (
            paths[-1]
            if paths
            else self.folder / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"
        )

    @property
    def command(self) -> str:
        """The command line that makes, mends or updates it."""
        return f"snnbench env create {self.name}"

    def state(self) -> tuple[str, str | None]:
        """`ready`, `not created`, `unfinished`, `stale` or `broken`, and in words what that means."""
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
            return (
                "stale",
                f"it was made for the snnbench in {marker.get('source', {}).get('snnbench')}",
            )
        if marker.get("beneath", []) != [*self.beneath]:
            return (
                "stale",
                f"it was made over the packages in {', '.join(marker.get('beneath', []))}",
            )
        return "ready", None

    @property
    def shown_state(self) -> str:
        """`state` in a word for people: `installed here` where the packages are not in a folder of their own but, in the versions
        of the recipe, beside snnbench, as `snnbench env create NAME --here` leaves them."""
        state, _ = self.state()
        return "installed here" if state == "not created" and self.recipe.is_here() else state

    def lacking(self) -> str | None:
        """Why no worker can run in it, with the command that helps; None if one can."""
        state, why = self.state()
        if state == "ready":
            return None
        if state == "not created":
            needs = " and ".join(requirements.WORDS[need] for need in self.recipe.needs)
            return f"needs an environment of its own: {self.command}{f' (needs {needs})' if needs else ''}"
        return f"environment {self.name} is {state}, {why}: {self.command}"


def known() -> dict[str, Environment]:
    """Every environment that there is a recipe for, made or not. Raises ConfigError."""
    return {
        name: Environment(name, recipe, environments_folder() / name)
        for name, recipe in load_recipes().items()
    }


def named(name: str) -> Environment:
    """The environment of that name, made or not. Raises ConfigError if there is no recipe for it."""
    environments = known()
    if name not in environments:
        names = ", ".join(environments)
        raise ConfigError(
            f"unknown environment {name!r}{nearest(name, environments)} (there are {names})"
        )
    return environments[name]


def remove(environment: Environment) -> bool:
    """Delete an environment; False if there was none. Raises ConfigError if it is being made, or not one of ours."""
    if not environment.folder.exists():
        return False
    with locked(environment):
        discard(environment)
    return True


def discard(environment: Environment) -> None:
    """Delete the folder, which must be locked. It vanishes at once: a kill must not leave a part of it."""
    with own_folder(environment.folder.parent) as scratch:
        environment.folder.rename(scratch / environment.name)


@contextmanager
def locked(environment: Environment) -> Iterator[None]:
    """Keep other commands from making or removing it. Raises ConfigError if one is at it, or where the folder is not ours."""
    lock = environment.folder.with_name(f".{environment.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(
        lock,
        ConfigError(
            f"{environment.folder}: another snnbench is making or removing it; wait for it"
        ),
    ):
        folder, advice = (
            environment.folder,
            "move it away, or choose another folder in SNNBENCH_ENVIRONMENTS",
        )
        try:
            empty = not folder.exists() or not any(folder.iterdir())
            if folder.is_symlink() or not (
                empty or any((folder / name).is_file() for name in (MARKER, FINISHED))
            ):
                raise ConfigError(f"{folder}: is no environment that snnbench made; {advice}")
            yield
        finally:
            if not environment.folder.exists():
                lock.unlink(missing_ok=True)


def read_json(path: Path) -> Any:
    """The content of one of our own files; None if it is not there or not whole."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None
