"""Makes a virtual environment and installs the packages of its recipe by uv, step by step.

Finished steps are kept. The Dockerfile runs this before the rest of snnbench is there:
test_dockerfile.py checks that all imported modules are copied.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen
from tempfile import TemporaryDirectory
from urllib.request import urlopen
from venv import EnvBuilder

from ..common.files import write_atomically
from .environment import FINISHED, Environment, NotMade, discard, read_json
from .recipes import NEEDS, InstallStep, Recipe

INDEX_TIMEOUT_S = 5.0
LAST_LINES = 15
"""Lines of uv's output in the message of a failure."""

CAUSES = {
    "no space is left on the disk": ("No space left on device", "Disk quota exceeded"),
    "the package index cannot be reached": (
        "dns error",
        "tcp connect error",
        "operation timed out",
    ),
    "the package index has no such package, or no such version of it": (
        "there is no version of",
        "was not found in the package registry",
        "was not found in the provided",
    ),
}
"""Causes of a failure by the words in uv's output; the first cause counts."""

UV_OPTIONS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
    "constraint": "--constraint",
}
"""uv's options by pip's settings, which uv does not read."""
INDEX_VARIABLES = (
    *("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL"),
    *("UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_CONFIG_FILE"),
)
"""Variables that configure uv itself: pip's settings are ignored if one is set."""
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""The index of torch for CPUs; the variable of this name replaces it, an empty one leaves it out.
PyPI's torch for Linux brings the libraries of CUDA."""
SYSTEM_CERTIFICATES = dict.fromkeys(("UV_SYSTEM_CERTS", "UV_NATIVE_TLS"), "true")
"""uv trusts the machine's certificates, as pip does; older versions call the variable the second
name."""
IGNORED_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "UV_PYTHON", "UV_SYSTEM_PYTHON")
"""Variables that would have uv install into another Python."""

START = """
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: uv must not outlive snnbench
if os.getppid() != {parent}:
    os._exit(1)
os.execv({uv!r}, ["uv", *sys.argv[1:]])
"""


@dataclass(frozen=True)
class CreationProgress:
    """One event while an environment is made.

    `kind` is `step` (`number` of `of` begins), `kept` (finished earlier), `done` (took `seconds`),
    `line` (uv printed `line`), `size` (`line` says what a step downloads) or `damaged` (`line` says
    how; everything is made again).
    """

    kind: str
    step: str = ""
    number: int = 0
    of: int = 0
    seconds: float = 0.0
    line: str = ""


@dataclass(frozen=True)
class Target:
    """The Python that gets the packages of a recipe, and a folder for temporary files."""

    name: str
    recipe: Recipe
    python: Path
    scratch: Path


def install(environment: Environment) -> Iterator[CreationProgress]:
    """Runs the unfinished steps of the recipe. Raises NotMade."""
    recipe, folder = environment.recipe, environment.folder
    finished = read_json(folder / FINISHED)
    count = len(recipe.steps) + 1
    if (
        isinstance(finished, list)
        and finished == recipe.keys[: len(finished)]
        and environment.python.exists()
    ):
        yield CreationProgress("kept", "python", 1, count)
    else:
        if folder.exists() and any(folder.iterdir()):
            discard(environment)
        yield from _do("python", 1, count, partial(_make_venv, environment))
        finished = []
        write_atomically(folder / FINISHED, json.dumps(finished))
    if environment.beneath:
        (environment.site_packages / "_snnbench_beneath.pth").write_text(
            "".join(f"{folder}\n" for folder in environment.beneath)
        )
    target = Target(environment.name, recipe, environment.python, folder)
    for number, step in enumerate(recipe.steps, 2):
        if step.key in finished:
            yield CreationProgress("kept", step.name, number, count)
            continue
        if not step.gpu or _has_nvidia_driver():
            _remove_half_installed(environment)
            yield from _do_step(target, step, number, count)
        if unmet := _unmet_after(environment):
            discard(environment)
            raise NotMade(f"{environment.name} needs {unmet}; what was installed is removed again")
        finished = [*finished, step.key]
        write_atomically(folder / FINISHED, json.dumps(finished))


def install_here(name: str, recipe: Recipe) -> Iterator[CreationProgress]:
    """Runs the steps of the recipe in snnbench's own environment. Raises NotMade."""
    check_needs(name, recipe)
    with TemporaryDirectory(prefix="snnbench-") as scratch:
        target = Target(name, recipe, Path(sys.executable), Path(scratch))
        for number, step in enumerate(recipe.steps, 1):
            if not step.gpu or _has_nvidia_driver():
                yield from _do_step(target, step, number, len(recipe.steps))


def _do(
    name: str, number: int, count: int, work: Callable[[], Iterator[str]]
) -> Iterator[CreationProgress]:
    yield CreationProgress("step", name, number, count)
    start = time.monotonic()
    for line in work():
        yield CreationProgress("line", name, number, count, line=line)
    yield CreationProgress("done", name, number, count, time.monotonic() - start)


def _do_step(
    target: Target, step: InstallStep, number: int, count: int
) -> Iterator[CreationProgress]:
    options: list[str] = []
    if any(package.partition("==")[0] == "torch" for package in step.install):
        options, size = torch_source("cuda-torch" in target.recipe.needs)
        yield CreationProgress("size", step.name, number, count, line=size)
    yield from _do(step.name, number, count, partial(_install_step, target, step, options))


def torch_source(needs_cuda: bool = False) -> tuple[list[str], str]:
    """Returns uv's options for the index that has torch, and a sentence with the source and size of
    torch: torch for CPUs unless CUDA is needed, a driver is there or the index does not answer."""
    index = os.environ.get("TORCH_CPU_INDEX", TORCH_CPU_INDEX)
    if any(name in os.environ for name in ("UV_TORCH_BACKEND", *INDEX_VARIABLES)):
        return [], "torch comes from the index that uv's variables name: 0.2 GB, with CUDA 3 GB"
    if needs_cuda or not index or _has_nvidia_driver() or sys.platform != "linux":
        return [], "torch comes from the usual index; PyPI's for Linux brings CUDA, 3 GB"
    if not _answers(index):
        return [], (
            f"{index} does not answer: torch comes from the usual index; "
            "PyPI's for Linux brings CUDA, 3 GB"
        )
    return ["--index", index], (
        f"torch for CPUs comes from {index}, 0.2 GB; TORCH_CPU_INDEX= takes PyPI's with CUDA, 3 GB"
    )


def _answers(index: str) -> bool:
    """Returns True if the index has a page for torch."""
    try:
        with urlopen(f"{index.rstrip('/')}/torch/", timeout=INDEX_TIMEOUT_S):
            return True
    except (OSError, ValueError):
        return False


def _make_venv(environment: Environment) -> Iterator[str]:
    """Marks the folder as snnbench's first; the environment gets no pip."""
    environment.folder.mkdir(parents=True, exist_ok=True)
    (environment.folder / FINISHED).touch()
    EnvBuilder(symlinks=True).create(environment.folder)
    return iter(())


def _remove_half_installed(environment: Environment) -> None:
    """Removes metadata of half-installed packages: uv writes INSTALLER after all other files."""
    for folder in environment.site_packages.glob("*.dist-info"):
        if not (folder / "INSTALLER").exists():
            shutil.rmtree(folder)
    shutil.rmtree(environment.folder / "tmp", ignore_errors=True)


def _install_step(target: Target, step: InstallStep, options: Sequence[str]) -> Iterator[str]:
    """Yields uv's output by line. Raises NotMade with a sentence, or with the last lines."""
    # Not in /tmp: what a killed uv leaves, often gigabytes, is removed with the environment.
    temporary = target.scratch / "tmp"
    temporary.mkdir(exist_ok=True)  # what a killed uv builds may write there once more
    arguments, variables = _pip_settings()
    arguments += options
    if step.dependencies:
        constraints = target.scratch / "constraints.txt"
        pins = [f"{pin.name}{pin.specifier}\n" for pin in target.recipe.pins]
        constraints.write_text("".join(pins))
        arguments += ["--constraint", str(constraints)]
    else:
        arguments.append("--no-deps")
    if step.python:
        arguments += ["--python-version", step.python]
    if step.build:
        arguments += ["--no-build-isolation", "--no-cache"]
        variables |= _cuda_home()
    try:
        yield from _run(target, step, arguments, {**variables, "TMPDIR": str(temporary)})
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _run(
    target: Target, step: InstallStep, arguments: list[str], variables: dict[str, str]
) -> Iterator[str]:
    from uv import find_uv_bin  # needed here alone; workers import nothing of it

    start = START.format(parent=os.getpid(), uv=find_uv_bin())
    command = [sys.executable, "-P", "-c", start, "pip", "install"]
    command += ["--python", str(target.python), "--no-progress"]
    # The best version of all indexes, as pip takes: the index of torch for CPUs has few others.
    command += ["--index-strategy", "unsafe-best-match"]
    # Otherwise the first import compiles, perhaps every import, and cold starts are timed.
    command += ["--compile-bytecode"]
    inherited = {key: value for key, value in os.environ.items() if key not in IGNORED_VARIABLES}
    path = os.pathsep.join([str(target.python.parent), inherited.get("PATH", os.defpath)])
    process = Popen(
        [*command, *arguments, *step.install],
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        text=True,
        errors="replace",
        env={**SYSTEM_CERTIFICATES, **inherited, "PATH": path, **variables},
        start_new_session=True,
    )
    assert process.stdout is not None
    last: deque[str] = deque(maxlen=LAST_LINES)
    causes = set()
    try:
        for line in process.stdout:
            if line.strip():
                last.append(line.rstrip())
                causes |= {
                    cause for cause, words in CAUSES.items() if any(word in line for word in words)
                }
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
            f"{target.name}: step {step.name}: uv {ended}; what is finished is kept. "
            f"Its output:{output}"
        )


def _pip_settings() -> tuple[list[str], dict[str, str]]:
    if any(name in os.environ for name in INDEX_VARIABLES):
        return [], {}
    command = [sys.executable, "-m", "pip", "config", "list"]
    return from_pip(subprocess.run(command, capture_output=True, text=True).stdout)


def from_pip(listed: str) -> tuple[list[str], dict[str, str]]:
    """Returns uv's options and variables for the settings that `pip config list` prints.

    >>> from_pip("global.find-links='/wheels'")
    (['--find-links', '/wheels'], {})
    """
    options: list[str] = []
    variables: dict[str, str] = {}
    for scope, key, value in re.findall(r"^(\S+?)[.]([\w-]+)=(.*)$", listed, re.MULTILINE):
        words = [word for text in shlex.split(value) for word in text.split()]
        if scope not in ("global", "install", ":env:"):
            continue
        if key == "no-index" and words[:1] not in ([], ["0"], ["false"]):
            options.append("--no-index")
        elif key == "cert" and "SSL_CERT_FILE" not in os.environ:
            variables["SSL_CERT_FILE"] = " ".join(words)
        elif key in UV_OPTIONS:
            options += [part for word in words for part in (UV_OPTIONS[key], word)]
    return options, variables


def check_needs(name: str, recipe: Recipe) -> None:
    """Raises NotMade if the machine lacks a need that shows before packages are installed."""
    if "nvcc" in recipe.needs and _nvcc() is None:
        raise NotMade(f"{name} needs {NEEDS['nvcc']}; there is none on PATH nor in CUDA_HOME")


def _unmet_after(environment: Environment) -> str | None:
    """Returns the need that the installed packages do not meet."""
    if "cuda-torch" not in environment.recipe.needs:
        return None
    if not (environment.site_packages / "torch").is_dir():
        return None
    code = "import torch; print(torch.__version__, torch.version.cuda or '')"
    printed = subprocess.run([environment.python, "-c", code], capture_output=True, text=True)
    versions = printed.stdout.split()
    if len(versions) == 2:
        return None
    torch = versions[0] if versions else "(it does not import)"
    return f"{NEEDS['cuda-torch']}; the indexes here have torch {torch}, without CUDA"


def _has_nvidia_driver() -> bool:
    return shutil.which("nvidia-smi") is not None


def _nvcc() -> str | None:
    """Returns the path of CUDA's compiler, in CUDA_HOME or, if that is not set, on PATH."""
    home = os.environ.get("CUDA_HOME")
    return shutil.which("nvcc", path=f"{home}/bin") if home else shutil.which("nvcc")


def _cuda_home() -> dict[str, str]:
    """Returns CUDA_HOME if it is not set: torch's guess is wrong if nvcc is a wrapper."""
    compiler = _nvcc()
    if os.environ.get("CUDA_HOME") or not compiler:
        return {}
    command = [compiler, "-dryrun", "-x", "cu", os.devnull]
    printed = subprocess.run(command, capture_output=True, text=True).stderr
    top = re.search(r"^#\$ TOP=(.+)$", printed, re.MULTILINE)
    return {"CUDA_HOME": str(Path(top[1].strip()).resolve())} if top else {}
