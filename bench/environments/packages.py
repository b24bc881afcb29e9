"""Installs packages into the Python of an environment, which needs neither pip nor uv itself: by uv where there is one, which
takes seconds where pip takes minutes, else by the pip that belongs to snnbench's own Python."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen

from . import requirements
from .environment import NotMade
from .link import package_folder
from .recipes import Recipe, Step


@dataclass(frozen=True)
class Target:
    """Where a recipe is installed: the environment's name, its Python, and a folder for files that are removed afterwards."""

    name: str
    recipe: Recipe
    python: Path
    scratch: Path


LAST_LINES = 15
"""Of pip's output, in the message of a failure."""

CAUSES = {
    "no space is left on the disk": ("No space left on device", "Disk quota exceeded"),
    "the package index cannot be reached": (
        *("Failed to establish a new connection", "NameResolutionError", "ConnectTimeoutError"),
        *("dns error", "tcp connect error", "operation timed out"),  # uv's
    ),
    "the package index has no such package, or no such version of it": (
        "No matching distribution found",
        *(
            "there is no version of",
            "was not found in the package registry",
            "was not found in the provided",
        ),
    ),
}
"""Why installing may fail, and the words in the output, which may be pages, that show it: of several the first, for pip does not
find either what it cannot look for."""

AS_A_CHILD = """
import ctypes, os, runpy, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: one that outlives snnbench would write beside the next one
if os.getppid() != {parent}:
    os._exit(1)
"""
PIP, UV = (
    "runpy.run_path({runner!r}, run_name='__main__')",
    "os.execv({runner!r}, ['uv', *sys.argv[1:]])",
)

NOT_FOR_PIP = (
    *("PYTHONPATH", "PYTHONHOME", "PIP_PREFIX", "PIP_PYTHON", "PIP_ROOT", "PIP_TARGET", "PIP_USER"),
    *("UV_PYTHON", "UV_SYSTEM_PYTHON"),
)
"""The user's variables that would have pip install elsewhere. All others, like PIP_INDEX_URL, hold."""


def pip_runner() -> Path | None:
    """The script by which `pip --python` runs itself under another Python, since pip 22.3; None without such a pip. That command
    starts one process more, which would survive when snnbench is killed."""
    try:
        runner = package_folder("pip") / "__pip-runner__.py"
    except ModuleNotFoundError:
        return None
    return runner if runner.exists() else None


def uv() -> str | None:
    """The uv on PATH, if it runs; the shim of a version manager may be there without one."""
    found = shutil.which("uv")
    return (
        found
        if found and subprocess.run([found, "--version"], capture_output=True).returncode == 0
        else None
    )


UV_OPTIONS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
    "constraint": "--constraint",
}
"""By the settings of pip that say where packages are from, and which: uv does not read them."""
OWN_OF_UV = (
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_CONFIG_FILE",
)
"""A user who has set one of these has told uv itself."""


def uv_options(listed: str) -> list[str]:
    """uv's options for the settings in the output of `pip config list`.

    >>> uv_options("global.find-links='/wheels'")
    ['--find-links', '/wheels']
    """
    options = []
    for scope, key, value in re.findall(r"^(\S+?)[.]([\w-]+)=(.*)$", listed, re.MULTILINE):
        words = [word for text in shlex.split(value) for word in text.split()]
        if key == "no-index" and words[:1] not in ([], ["0"], ["false"]):
            options.append("--no-index")
        elif key in UV_OPTIONS and scope in ("global", "install", ":env:"):
            options += [part for word in words for part in (UV_OPTIONS[key], word)]
    return options


def install_packages(target: Target, step: Step) -> Iterator[str]:
    """Install the packages of one step and yield the output by line. Raises NotMade with its last lines if it fails."""
    variables = requirements.build_variables() if step.build else {}
    temporary = (
        target.scratch / "tmp"
    )  # what is killed leaves gigabytes, which are removed with the environment
    temporary.mkdir()
    try:
        yield from _run(target, step, {**variables, "TMPDIR": str(temporary)})
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_half_installed(site_packages: Path, scratch: Path) -> None:
    """Remove the metadata of packages that a kill left half-installed: INSTALLER is written after a package's files."""
    for folder in site_packages.glob("*.dist-info"):
        if not (folder / "INSTALLER").exists():
            shutil.rmtree(folder)
    moved_aside = site_packages.glob("~*")
    for folder in (*moved_aside, scratch / "tmp"):
        shutil.rmtree(folder, ignore_errors=True)


def _command(target: Target, step: Step) -> tuple[str, list[str]]:
    """The tool, and the Python command line that becomes it."""
    own = uv() if not step.ignore_python_bound else None  # which uv cannot
    if step.dependencies:
        constraints = target.scratch / "constraints.txt"
        constraints.write_text(
            "".join(f"{pin.name}{pin.specifier}\n" for pin in target.recipe.pins)
        )
        chosen = ["--constraint", str(constraints)]
    else:
        chosen = ["--no-deps"]
    if own:
        # As pip does, the best version of all indexes is taken: that of torch for CPUs has few others.
        options = [
            "--python",
            str(target.python),
            "--no-progress",
            "--index-strategy",
            "unsafe-best-match",
            *_settings(),
        ]
        # Pip compiles modules when it installs them; without that, the first import would, or every one, and be timed.
        options += ["--compile-bytecode", *["--no-build-isolation", "--no-cache"] * step.build]
        tool, code, runner = "uv", UV, own
        arguments = ["pip", "install", *options, *chosen, *step.install]
    else:
        options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
        options += ["--ignore-requires-python"] * step.ignore_python_bound
        options += ["--no-build-isolation", "--no-cache-dir"] * step.build
        tool, code, runner = "pip", PIP, str(pip_runner() or "")
        arguments = ["install", *options, *chosen, *step.install]
        if not runner:
            advice = f"install uv, or: {sys.executable} -m ensurepip --upgrade"
            raise NotMade(
                f"{target.name}: step {step.name}: snnbench's own Python has no pip 22.3 or newer: {advice}"
            )
    child = AS_A_CHILD.format(parent=os.getpid()) + code.format(runner=runner)
    return tool, [str(target.python), "-P", "-c", child, *arguments]


def _settings() -> list[str]:
    """Pip's own settings, for uv."""
    if pip_runner() is None or any(name in os.environ for name in OWN_OF_UV):
        return []
    return uv_options(
        subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True
        ).stdout
    )


def _run(target: Target, step: Step, variables: dict[str, str]) -> Iterator[str]:
    tool, command = _command(target, step)
    surroundings = {name: value for name, value in os.environ.items() if name not in NOT_FOR_PIP}
    path = os.pathsep.join([str(target.python.parent), surroundings.get("PATH", os.defpath)])
    surroundings |= {"PATH": path, "PYTHONUNBUFFERED": "1", **variables}
    process = Popen(
        command,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        text=True,
        errors="replace",
        env=surroundings,
        start_new_session=True,
    )
    assert process.stdout is not None
    last: deque[str] = deque(maxlen=LAST_LINES)
    causes = []
    try:
        for line in process.stdout:
            if line.strip():
                last.append(line.rstrip())
                causes += [
                    cause for cause, marks in CAUSES.items() if any(mark in line for mark in marks)
                ]
                yield line.strip()
        code = process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    if code and causes:
        cause = next(cause for cause in CAUSES if cause in causes)
        raise NotMade(f"{target.name}: step {step.name}: {cause}; what is finished is kept")
    if code:
        output = "".join(f"\n  {line}" for line in last)
        ended = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        raise NotMade(
            f"{target.name}: step {step.name}: {tool} {ended}; what is finished is kept. It said:{output}"
        )
