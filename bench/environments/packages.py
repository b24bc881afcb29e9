"""Runs the pip that belongs to snnbench's own Python for the Python of an environment, which therefore needs no pip itself."""

import os
import shutil
import signal
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen

from . import requirements
from .environment import Environment, NotMade
from .link import package_folder
from .recipes import Step

LAST_LINES = 15
"""Of pip's output, in the message of a failure."""

CAUSES = {
    "no space is left on the disk": ("No space left on device", "Disk quota exceeded"),
    "the package index cannot be reached": ("Failed to establish a new connection", "NameResolutionError", "ConnectTimeoutError"),
}
"""Why pip may fail, and the words in its output, which may be pages, that show it."""

AS_A_CHILD = """
import ctypes, os, runpy, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: a pip that outlives snnbench would write beside the next one
if os.getppid() != {parent}:
    os._exit(1)
runpy.run_path({runner!r}, run_name="__main__")
"""

NOT_FOR_PIP = ("PYTHONPATH", "PYTHONHOME", "PIP_PREFIX", "PIP_PYTHON", "PIP_ROOT", "PIP_TARGET", "PIP_USER")
"""The user's variables that would have pip install elsewhere. All others, like PIP_INDEX_URL, hold."""


def pip_runner() -> Path | None:
    """The script by which `pip --python` runs itself under another Python, since pip 22.3; None without such a pip. That command
    starts one process more, which would survive when snnbench is killed."""
    try:
        runner = package_folder("pip") / "__pip-runner__.py"
    except ModuleNotFoundError:
        return None
    return runner if runner.exists() else None


def install_packages(environment: Environment, step: Step) -> Iterator[str]:
    """Install the packages of one step and yield pip's output by line. Raises NotMade with its last lines if it fails."""
    _remove_half_installed(environment)
    options, variables = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"], {}
    if step.dependencies:
        constraints = environment.folder / "constraints.txt"
        constraints.write_text("".join(f"{pin.name}{pin.specifier}\n" for pin in environment.recipe.pins))
        options += ["--constraint", str(constraints)]
    else:
        options += ["--no-deps"]
    if step.ignore_python_bound:
        options += ["--ignore-requires-python"]
    if step.build:
        options += ["--no-build-isolation", "--no-cache-dir"]
        variables = requirements.build_variables()
    temporary = environment.folder / "tmp"  # a killed pip leaves gigabytes, which are removed with the environment
    temporary.mkdir()
    try:
        yield from _run_pip(environment, step.name, ["install", *options, *step.install], {**variables, "TMPDIR": str(temporary)})
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _remove_half_installed(environment: Environment) -> None:
    """Remove the metadata of packages that a killed pip left half-installed: pip writes INSTALLER after a package's files."""
    for folder in environment.site_packages.glob("*.dist-info"):
        if not (folder / "INSTALLER").exists():
            shutil.rmtree(folder)
    moved_aside = environment.site_packages.glob("~*")
    for folder in (*moved_aside, environment.folder / "tmp"):
        shutil.rmtree(folder, ignore_errors=True)


def _run_pip(environment: Environment, step: str, arguments: list[str], variables: dict[str, str]) -> Iterator[str]:
    runner = pip_runner()
    if runner is None:
        advice = f"{sys.executable} -m ensurepip --upgrade"
        raise NotMade(f"{environment.name}: step {step}: snnbench's own Python has no pip 22.3 or newer: {advice}")
    surroundings = {name: value for name, value in os.environ.items() if name not in NOT_FOR_PIP}
    path = os.pathsep.join([str(environment.folder / "bin"), surroundings.get("PATH", os.defpath)])
    surroundings |= {"PATH": path, "PYTHONUNBUFFERED": "1", **variables}
    command = [str(environment.python), "-P", "-c", AS_A_CHILD.format(parent=os.getpid(), runner=str(runner)), *arguments]
    process = Popen(
        command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True, errors="replace", env=surroundings, start_new_session=True
    )
    assert process.stdout is not None
    last: deque[str] = deque(maxlen=LAST_LINES)
    causes = []
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
        output = "".join(f"\n  {line}" for line in last)
        ended = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        raise NotMade(f"{environment.name}: step {step}: pip {ended}; what is finished is kept. It said:{output}")
