"""Compiles the C++ spelling with the system's compiler, at first use, and keeps what it built."""

import ctypes
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
from functools import cache, lru_cache
from pathlib import Path

from .cache import cached
from .source import inlined

# Contraction off: see lif_step.h. Math functions need not set errno, no one reads floating-point exceptions, and the sign
# of a zero does not matter: without these, compilers vectorise less and add zeros. NaN and infinities keep their meaning.
# -O2 and not -O3: the loops that count are vectorised by their pragmas, and every kind of neuron is a compile.
FLAGS = (
    "-std=c++17",
    "-O2",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-signed-zeros",
    "-fPIC",
    "-shared",
)


class BuildFailed(Exception):
    """The compiler did not make a library; the text says what it said."""


@lru_cache
def compiler() -> tuple[str, ...] | None:
    """The command of $CXX, or the first of c++, g++ and clang++, its program as a path; None: there is none."""
    commands = [shlex.split(os.environ["CXX"])] if os.environ.get("CXX") else [["c++"], ["g++"], ["clang++"]]
    return next(((path, *words) for name, *words in commands if (path := shutil.which(name))), None)


@lru_cache
def unusable() -> str | None:
    """Why nothing can be compiled here, in words for the user; None: a small library was built and loaded."""
    if compiler() is None:
        return f"there is no C++ compiler ({os.environ.get('CXX') or 'c++, g++ or clang++'} in PATH; set CXX)"
    try:
        library('extern "C" int answer() { return 42; }\n')
    except (BuildFailed, OSError) as error:
        return str(error)
    return None


def kernel(path: Path, defines: dict[str, object]) -> ctypes.CDLL:
    """The library of the C++ file `path` compiled with these macros."""
    return library(inlined(path), tuple(f"-D{name}={value}" for name, value in sorted(defines.items())))


@cache
def library(source: str, options: tuple[str, ...] = ()) -> ctypes.CDLL:
    """Compile C++ `source` unless source, options, compiler and CPU are those of an earlier build. Raises BuildFailed."""
    command = [*compiler(), *FLAGS, *options, *_openmp()]
    key = hashlib.sha256("\0".join([source, *command, _compiler_identity(), _cpu()]).encode()).hexdigest()[:32]
    return ctypes.CDLL(str(cached(f"cpp-{key}", ".so", lambda path: _compile(command, source, path))))


def _compile(command: list[str], source: str, path: Path) -> None:
    done = subprocess.run([*command, "-x", "c++", "-", "-o", str(path)], input=source, capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise BuildFailed(f"{command[0]} failed with status {done.returncode}: {' '.join(errors[:1]) or 'no message'}")
    if not path.stat().st_size:
        raise BuildFailed(f"{command[0]} wrote nothing")


def _compiler_identity() -> str:
    path = Path(compiler()[0]).resolve()
    return f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}"


@lru_cache
def _cpu() -> str:
    """What -march=native looks at."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() + platform.machine()
    return "\n".join(sorted(set(re.findall(r"^(?:model name|flags|Features|CPU part)\s*:.*$", text, re.MULTILINE))))


@lru_cache
def _openmp() -> tuple[str, ...]:
    """Threads by the OpenMP runtime that torch has loaded: a second one would bring a second set of spinning threads."""
    try:
        loaded = re.findall(r"/\S*lib(?:gomp|iomp5|omp)[^/\s]*\.so\S*", Path("/proc/self/maps").read_text())
    except OSError:
        loaded = []
    return ("-fopenmp", "-Wl,--no-as-needed", loaded[0]) if loaded else ("-fopenmp",)
