"""Makes a virtual environment and installs the packages of its recipe, step by step. Finished steps are kept.

The Dockerfile runs this before the rest of snnbench is there: it imports few of our own modules, and test_dockerfile.py
checks that those are copied.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from venv import EnvBuilder

from ..common.files import write_atomically
from . import requirements
from .environment import FINISHED, Environment, NotMade, discard, read_json
from .packages import Target, install_packages, remove_half_installed
from .recipes import Recipe


@dataclass(frozen=True)
class CreationProgress:
    """One event in the making of an environment, by its `kind`: `step` (number `number` of `of` begins), `kept` (it was finished
    before), `done` (it took `seconds`), `line` (pip or uv printed `line`), `damaged` (`line` says what is, all is made anew)."""

    kind: str
    step: str = ""
    number: int = 0
    of: int = 0
    seconds: float = 0.0
    line: str = ""


def install(environment: Environment) -> Iterator[CreationProgress]:
    """Do the steps of the recipe that are not finished. Raises NotMade."""
    recipe, folder = environment.recipe, environment.folder
    finished = read_json(folder / FINISHED)
    count = len(recipe.steps) + 1
    if (
        not isinstance(finished, list)
        or finished != recipe.keys[: len(finished)]
        or not environment.python.exists()
    ):
        if folder.exists() and any(folder.iterdir()):
            discard(environment)
        yield from _do("python", 1, count, partial(_make_venv, environment))
        finished = []
        write_atomically(folder / FINISHED, json.dumps(finished))
    else:
        yield CreationProgress("kept", "python", 1, count)
    if environment.beneath:
        (environment.site_packages / "_snnbench_beneath.pth").write_text(
            "".join(f"{folder}\n" for folder in environment.beneath)
        )
    for number, step in enumerate(recipe.steps, 2):
        if step.key in finished:
            yield CreationProgress("kept", step.name, number, count)
            continue
        if not step.gpu or requirements.nvidia():
            remove_half_installed(environment.site_packages, environment.folder)
            target = Target(environment.name, recipe, environment.python, environment.folder)
            yield from _do(step.name, number, count, partial(install_packages, target, step))
        if unmet := requirements.unmet_after(
            recipe.needs, environment.python, environment.site_packages
        ):
            discard(environment)
            raise NotMade(f"{environment.name} needs {unmet}; what was installed is removed again")
        finished = [*finished, step.key]
        write_atomically(folder / FINISHED, json.dumps(finished))


def install_here(name: str, recipe: Recipe) -> Iterator[CreationProgress]:
    """Do the steps of the recipe in snnbench's own environment. Raises NotMade."""
    if unmet := requirements.unmet_before(recipe.needs):
        raise NotMade(f"{name} needs {unmet}")
    with TemporaryDirectory(prefix="snnbench-") as scratch:
        target = Target(name, recipe, Path(sys.executable), Path(scratch))
        for number, step in enumerate(recipe.steps, 1):
            if not step.gpu or requirements.nvidia():
                yield from _do(
                    step.name, number, len(recipe.steps), partial(install_packages, target, step)
                )


def _do(
    name: str, number: int, count: int, work: Callable[[], Iterator[str]]
) -> Iterator[CreationProgress]:
    yield CreationProgress("step", name, number, count)
    start = time.monotonic()
    for line in work():
        yield CreationProgress("line", name, number, count, line=line)
    yield CreationProgress("done", name, number, count, time.monotonic() - start)


def _make_venv(environment: Environment) -> Iterator[str]:
    """Without pip: snnbench's own installs the packages, and making one takes seconds. First of all the folder is marked."""
    environment.folder.mkdir(parents=True, exist_ok=True)
    (environment.folder / FINISHED).touch()
    EnvBuilder(symlinks=True).create(environment.folder)
    return iter(())
