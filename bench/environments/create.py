"""Makes a virtual environment step by step. Finished steps are kept, so that the same command goes on after whatever ended it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import snnbench
from snnbench.adapters import registry

from ..files import write_atomically
from . import requirements
from .environment import FINISHED, MARKER, Environment, NotMade, ask_environment, damage, discard, locked, read_json
from .link import link, locations
from .recipes import Step

TOLD_LINES = 15

CAUSES = {
    "no space is left on the disk": ("No space left on device", "Disk quota exceeded"),
    "the package index cannot be reached": ("Failed to establish a new connection", "NameResolutionError", "ConnectTimeoutError"),
}
"""Why pip may fail, and how it shows in what it says, which may be pages."""

AS_A_CHILD = """
import ctypes, os, runpy, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: a pip that outlived us would write beside the next one
if os.getppid() != {parent}:
    os._exit(1)
runpy.run_module({module!r}, run_name="__main__")
"""


@dataclass(frozen=True)
class CreationProgress:
    """`step` begins, was `kept` from before, or is `done` after `seconds`; or one `line` that pip said, or that says what is
    `damaged`, for which all is made anew."""

    kind: str
    step: str = ""
    number: int = 0
    of: int = 0
    seconds: float = 0.0
    line: str = ""


def create(environment: Environment) -> Iterator[CreationProgress]:
    """Make, update or mend an environment, finished steps kept. Raises NotMade, or ConfigError if another command is at it."""
    try:
        yield from _create(environment)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise NotMade(f"{environment.name}: {error.strerror or error}{where}; what is finished is kept") from None


def _create(environment: Environment) -> Iterator[CreationProgress]:
    with locked(environment):
        if environment.state()[0] == "ready":
            found = damage(environment)
            if not found:
                return
            yield CreationProgress("damaged", line="; ".join(found))
            discard(environment)
        if unmet := requirements.unmet_before(environment.recipe.needs):
            raise NotMade(f"{environment.name} needs {unmet}")
        (environment.folder / MARKER).unlink(missing_ok=True)
        yield from install(environment)
        link(environment.site_packages)
        _check_adapters(environment)
        marker = {"steps": environment.recipe.keys, "source": locations(), "snnbench": snnbench.__version__}
        write_atomically(environment.folder / MARKER, json.dumps(marker, indent=1) + "\n")


def install(environment: Environment) -> Iterator[CreationProgress]:
    """The steps of the recipe alone, those kept that are finished. Raises NotMade."""
    recipe, folder = environment.recipe, environment.folder
    finished = read_json(folder / FINISHED)
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
            if unmet := requirements.unmet_after(recipe.needs, environment.python, environment.site_packages):
                discard(environment)
                raise NotMade(f"{environment.name} needs {unmet}; what was installed is removed again")
            finished = [*finished, step.key]
            write_atomically(folder / FINISHED, json.dumps(finished))


def _step(environment, name, number, of, done, work) -> Iterator[CreationProgress]:
    if done:
        yield CreationProgress("kept", name, number, of)
        return
    yield CreationProgress("step", name, number, of)
    start = time.monotonic()
    for line in work(environment):
        yield CreationProgress("line", name, number, of, line=line)
    yield CreationProgress("done", name, number, of, time.monotonic() - start)


def _make_venv(environment: Environment) -> Iterator[str]:
    environment.folder.parent.mkdir(parents=True, exist_ok=True)
    return _run(environment, "python", Path(sys.executable), "venv", [str(environment.folder)], {})


def _pip(environment: Environment, step: Step) -> Iterator[str]:
    _sweep(environment)
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
        variables = requirements.build_variables()
    temporary = environment.folder / "tmp"  # where a killed pip leaves gigabytes, they go with the environment
    temporary.mkdir()
    try:
        variables = {**variables, "TMPDIR": str(temporary)}
        yield from _run(environment, step.name, environment.python, "pip", ["install", *options, *step.install], variables)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sweep(environment: Environment) -> None:
    """Forget packages that a killed pip left half-installed: it writes INSTALLER after all of a package's own files."""
    for folder in environment.site_packages.glob("*.dist-info"):
        if not (folder / "INSTALLER").exists():
            shutil.rmtree(folder)
    moved_aside = environment.site_packages.glob("~*")
    for folder in (*moved_aside, environment.folder / "tmp"):
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
    last, causes = deque(maxlen=TOLD_LINES), []
    try:
        for line in process.stdout:
            if line.strip():
                last.append(line.rstrip())
                causes += [cause for cause, marks in CAUSES.items() if any(mark in line for mark in marks)]
                yield line.strip()
        code = process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    if code and causes:
        raise NotMade(f"{environment.name}: step {step}: {causes[-1]}; what is finished is kept")
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
    for entry in ask_environment(environment, served, [])["adapters"]:
        if "error" in entry or entry["missing"]:
            lack = entry.get("error") or f"{', '.join(entry['missing'])} is not there"
            raise NotMade(f"{environment.name}: every step went well, but for {entry.get('name', entry['reference'])}: {lack}")
