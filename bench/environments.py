"""The virtual environments of frameworks that cannot live beside the others: made step by step, resumable, removed.

An environment is a folder with the marker `snnbench.json`, which is written last. Beside it, `snnbench-steps.json` tells
which steps are finished. Whatever is without its marker is not used.
"""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

import snnbench
from snnbench.adapters import registry

from . import needs
from .config import ConfigError, nearest
from .executor import Executor
from .launch import launch, temporary_scratch, worker_environment
from .link import link, locations
from .processes import Processes
from .recipes import Recipe, Step, environments_folder, load_recipes
from .store import write_atomically

MARKER, FINISHED = "snnbench.json", "snnbench-steps.json"
TOLD_LINES = 15
CHECK_TIMEOUT, CHECK_MEMORY = 120.0, 16 * 2**30

AS_A_CHILD = """
import ctypes, os, runpy, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: a pip that outlived us would write beside the next one
if os.getppid() != {parent}:
    os._exit(1)
runpy.run_module({module!r}, run_name="__main__")
"""


class NotMade(Exception):
    """An environment could not be made; the text says why and, if pip failed, what it said last."""


@dataclass(frozen=True)
class Progress:
    """`step` begins, was `kept` from before, or is `done` after `seconds`; or one `line` that pip said."""

    kind: str
    step: str = ""
    number: int = 0
    of: int = 0
    seconds: float = 0.0
    line: str = ""


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
        marker = _read_json(self.folder / MARKER)
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
            wanted = f" (needs {needs.in_words(self.recipe.needs)})" if self.recipe.needs else ""
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


# -- making ------------------------------------------------------------------------------------------------------


def create(environment: Environment) -> Iterator[Progress]:
    """Make or update an environment; finished steps are kept. Raises NotMade, or ConfigError if another command is at it."""
    with _locked(environment):
        if environment.state()[0] == "ready":
            return
        if unmet := needs.unmet_before(environment.recipe.needs):
            raise NotMade(f"{environment.name} needs {unmet}")
        (environment.folder / MARKER).unlink(missing_ok=True)
        yield from install(environment)
        link(environment.site_packages)
        _check_adapters(environment)
        marker = {"steps": environment.recipe.keys, "source": locations(), "snnbench": snnbench.__version__}
        write_atomically(environment.folder / MARKER, json.dumps(marker, indent=1) + "\n")


def install(environment: Environment) -> Iterator[Progress]:
    """The steps of the recipe alone, those kept that are finished. Raises NotMade."""
    recipe, folder = environment.recipe, environment.folder
    finished = _read_json(folder / FINISHED)
    if finished is None or finished != recipe.keys[: len(finished)] or not environment.python.exists():
        shutil.rmtree(folder, ignore_errors=True)
        finished = None
    of = len(recipe.steps) + 1
    yield from _step(environment, "python", 1, of, None if finished is None else "kept", _make_venv)
    finished = finished or []
    write_atomically(folder / FINISHED, json.dumps(finished))
    for number, step in enumerate(recipe.steps, 2):
        is_done = "kept" if step.key in finished else None
        yield from _step(environment, step.name, number, of, is_done, lambda e, step=step: _pip(e, step))
        if not is_done:
            if unmet := needs.unmet_after(recipe.needs, environment.python, environment.site_packages):
                _remove(environment)
                raise NotMade(f"{environment.name} needs {unmet}; what was installed is removed again")
            finished = [*finished, step.key]
            write_atomically(folder / FINISHED, json.dumps(finished))


def _step(environment, name, number, of, done, work) -> Iterator[Progress]:
    if done:
        yield Progress("kept", name, number, of)
        return
    yield Progress("step", name, number, of)
    start = time.monotonic()
    for line in work(environment):
        yield Progress("line", name, number, of, line=line)
    yield Progress("done", name, number, of, time.monotonic() - start)


def _make_venv(environment: Environment) -> Iterator[str]:
    environment.folder.parent.mkdir(parents=True, exist_ok=True)
    return _run(environment, "python", Path(sys.executable), "venv", [str(environment.folder)], {})


def _pip(environment: Environment, step: Step) -> Iterator[str]:
    _sweep(environment.site_packages)
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    variables = {}
    if step.dependencies:
        constraints = environment.folder / "constraints.txt"
        constraints.write_text("\n".join(environment.recipe.pins) + "\n")
        options += ["--constraint", str(constraints)]
    else:
        options += ["--no-deps"]
    if step.ignore_python_bound:
        options += ["--ignore-requires-python"]
    if step.build:
        options += ["--no-build-isolation", "--no-cache-dir"]
        variables = needs.build_variables()
    return _run(environment, step.name, environment.python, "pip", ["install", *options, *step.install], variables)


def _sweep(site_packages: Path) -> None:
    """Forget packages that a killed pip left half-installed: it writes INSTALLER after all of a package's own files."""
    for folder in site_packages.glob("*.dist-info"):
        if not (folder / "INSTALLER").exists():
            shutil.rmtree(folder)
    for folder in site_packages.glob("~*"):  # what pip had moved out of the way
        shutil.rmtree(folder, ignore_errors=True)


def _run(environment, step, python: Path, module: str, arguments: list[str], variables: dict[str, str]) -> Iterator[str]:
    """Run a module of `python` and hand out its output by line. Raises NotMade with the last lines if it fails."""
    surroundings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET")}
    path = os.pathsep.join([str(environment.folder / "bin"), surroundings.get("PATH", os.defpath)])
    process = subprocess.Popen(
        [python, "-c", AS_A_CHILD.format(parent=os.getpid(), module=module), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**surroundings, "PATH": path, "PYTHONUNBUFFERED": "1", **variables},
        start_new_session=True,
    )
    last = deque(maxlen=TOLD_LINES)
    try:
        for line in process.stdout:
            if line.strip():
                last.append(line.rstrip())
                yield line.strip()
        code = process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    if code:
        said = "".join(f"\n  {line}" for line in last)
        ended = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        raise NotMade(f"{environment.name}: step {step}: {module} {ended}; what is finished is kept. It said:{said}")


def _check_adapters(environment: Environment) -> None:
    """Refuse to call an environment made in which its adapters lack something."""
    references = registry.references()
    served = [references[name] for name in environment.recipe.adapters if name in references]
    if not served:
        return
    for entry in describe(environment, served, [])["adapters"]:
        if "error" in entry or entry["missing"]:
            lack = entry.get("error") or f"{', '.join(entry['missing'])} is not there"
            raise NotMade(f"{environment.name}: every step went well, but for {entry.get('name', entry['reference'])}: {lack}")


def describe(environment: Environment, references: list[str], cases: list[dict], executor: Executor | None = None) -> dict:
    """What a worker in the environment says of it and of adapters. Raises NotMade if it gives no answer."""
    executor = executor or Processes(str(environment.python))
    job = {"references": references, "cases": cases, "environment": environment.name}
    with temporary_scratch() as folder:
        surroundings = worker_environment("cuda", 0)  # nothing hidden: devices are counted too
        outcome = launch("describe", job, folder / "describe", CHECK_TIMEOUT, CHECK_MEMORY, surroundings, executor)
    try:
        return outcome.answer("describe")
    except RuntimeError as error:
        raise NotMade(f"environment {environment.name} gives no answer: {error}") from None


# -- inspecting and removing -------------------------------------------------------------------------------------


def faults(environment: Environment) -> list[str]:
    """What is wrong with an environment that was made, in words: nothing, if it is as it was made."""
    state, why = environment.state()
    if state != "ready":
        return [] if state == "not created" else [f"{state}: {why}"]
    found = _lost_files(environment.site_packages)
    try:
        answer = describe(environment, [], [])
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
    with _locked(environment):
        _remove(environment)
    with suppress(OSError):
        environment.folder.parent.rmdir()
    return True


def _remove(environment: Environment) -> None:
    for name in (MARKER, FINISHED):  # first, so that what a kill leaves is not taken for anything
        (environment.folder / name).unlink(missing_ok=True)
    shutil.rmtree(environment.folder)


@contextmanager
def _locked(environment: Environment):
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


def _read_json(path: Path):
    """What a file of ours holds, None if it is not there or not whole."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
