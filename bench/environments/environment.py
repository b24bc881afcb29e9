"""The virtual environments of frameworks that cannot live beside the others: which there are, what state they are in.

An environment is a folder with the marker `snnbench.json`, which is written last. Beside it, `snnbench-steps.json` tells
which steps are finished. Whatever is without its marker is not used. `making.py` makes them.
"""

import csv
import json
import shutil
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ..executors.executor import Executor
from ..executors.launch import launch, temporary_scratch
from ..executors.local import LocalExecutor
from ..executors.surroundings import worker_environment
from ..mistakes import ConfigError, nearest
from . import requirements
from .link import locations
from .recipes import Recipe, environments_folder, load_recipes

MARKER, FINISHED = "snnbench.json", "snnbench-steps.json"
CHECK_TIMEOUT, CHECK_MEMORY = 120.0, 16 * 2**30


class NotMade(Exception):
    """An environment could not be made; the text says why and, if pip failed, what it said last."""


@dataclass(frozen=True)
class Environment:
    """One environment, made or not."""

    name: str
    recipe: Recipe
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        version = "python{}.{}".format(*sys.version_info)
        paths = sorted(self.folder.glob("lib/python3.*/site-packages"))
        return paths[-1] if paths else self.folder / "lib" / version / "site-packages"

    @property
    def command(self) -> str:
        return f"snnbench env create {self.name}"

    def state(self) -> tuple[str, str | None]:
        """`ready`, `not created`, `unfinished`, `stale` or `broken`, and in words what that means."""
        if not self.folder.exists():
            return "not created", None
        marker = read_json(self.folder / MARKER)
        if marker is None:
            return "unfinished", "its making was interrupted or failed"
        if not self.python.exists():
            return "broken", f"its Python, {self.python}, is gone"
        if marker.get("steps") != self.recipe.keys:
            return "stale", "its list of packages has changed since"
        if marker.get("source") != locations():
            return "stale", f"it was made for the snnbench in {marker.get('source', {}).get('snnbench')}"
        return "ready", None

    def lacking(self) -> str | None:
        """Why no worker can run in it, with the command that changes that; None if one can."""
        state, why = self.state()
        if state == "ready":
            return None
        if state == "not created":
            wanted = f" (needs {requirements.in_words(self.recipe.needs)})" if self.recipe.needs else ""
            return f"needs an environment of its own: {self.command}{wanted}"
        return f"environment {self.name} is {state}, {why}: {self.command}"


def known() -> dict[str, Environment]:
    """Every environment that there is a recipe for, made or not. Raises ConfigError."""
    return {name: Environment(name, recipe, environments_folder() / name) for name, recipe in load_recipes().items()}


def named(name: str) -> Environment:
    """Raises ConfigError if there is no recipe of that name."""
    environments = known()
    if name not in environments:
        there = ", ".join(environments)
        raise ConfigError(f"unknown environment {name!r}{nearest(name, environments)} (there are {there})")
    return environments[name]


def ask_environment(environment: Environment, references: list[str], cases: list[dict], executor: Executor | None = None) -> dict:
    """What a worker in the environment says of it and of adapters. Raises NotMade if it gives no answer."""
    executor = executor or LocalExecutor(str(environment.python))
    job = {"references": references, "cases": cases, "environment": environment.name}
    with temporary_scratch() as folder:
        surroundings = worker_environment("cuda", 0)  # nothing hidden: devices are counted too
        outcome = launch("describe", job, folder / "describe", CHECK_TIMEOUT, CHECK_MEMORY, surroundings, executor)
    try:
        return outcome.answer("describe")
    except RuntimeError as error:
        raise NotMade(f"environment {environment.name} gives no answer: {error}") from None


def damage(environment: Environment) -> list[str]:
    """What is wrong with an environment that was made, in words: nothing, if it is as it was made."""
    state, why = environment.state()
    if state != "ready":
        return [] if state == "not created" else [f"{state}: {why}"]
    found = _lost_files(environment.site_packages)
    try:
        answer = ask_environment(environment, [], [])
    except NotMade as error:
        return [*found, str(error)]
    packages = {_folded(name): version for name, version in answer["environment"]["packages"].items()}
    for pin in environment.recipe.pins:
        name, _, version = pin.partition("==")
        there = packages.get(_folded(name.partition("[")[0]))
        if there is None or there.partition("+")[0] != version.partition("+")[0]:
            found.append(f"{name} is {there or 'not there'}, not {version}")
    return found


def _lost_files(site_packages: Path) -> list[str]:
    """Packages that miss files which they were installed with."""
    found = []
    for record in sorted(site_packages.glob("*.dist-info/RECORD")):
        with open(record, encoding="utf-8", newline="") as stream:
            names = [line[0] for line in csv.reader(stream) if line]
        lost = [name for name in names if not name.endswith(".pyc") and not (site_packages / name).exists()]
        if lost:
            found.append(f"{record.parent.name.removesuffix('.dist-info')} has lost {len(lost)} files, first {lost[0]}")
    return found


def _folded(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def remove(environment: Environment) -> bool:
    """Delete an environment; False if there was none. Raises ConfigError if it is being made."""
    if not environment.folder.exists():
        return False
    with locked(environment):
        discard(environment)
    with suppress(OSError):
        environment.folder.parent.rmdir()
    return True


def discard(environment: Environment) -> None:
    """Delete the folder, which must be locked."""
    for name in (MARKER, FINISHED):  # first, so that what a kill leaves is not taken for anything
        (environment.folder / name).unlink(missing_ok=True)
    shutil.rmtree(environment.folder)


@contextmanager
def locked(environment: Environment):
    """One command at a time. The kernel frees the lock however a command dies."""
    parent = environment.folder.parent
    parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(parent / f".{environment.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError(f"{environment.folder}: another snnbench is making or removing it; wait for it") from None
    try:
        yield lock
    finally:
        if not environment.folder.exists():
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def read_json(path: Path):
    """What a file of ours holds, None if it is not there or not whole."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
