"""Compiles C++ kernels with the system's compiler and caches the libraries."""

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

# Contraction is off because it rounds differently, see lif_step.h. The next three options let
# compilers vectorise more: nothing here reads errno, floating-point exceptions or the sign of a
# zero. NaN and infinities stay exact. -O2 compiles faster than -O3, and pragmas vectorise the hot
# loops.
FLAGS = (
    *("-std=c++17", "-O2", "-march=native", "-ffp-contract=off"),
    *("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fPIC", "-shared"),
)


class CompilerFailed(Exception):
    """The C++ compiler failed; the message quotes it."""


@lru_cache
def compiler() -> tuple[str, ...] | None:
    """Returns the command of $CXX, or the path of the first of c++, g++ and clang++, or None."""
    commands = (
        [shlex.split(os.environ["CXX"])]
        if os.environ.get("CXX")
        else [["c++"], ["g++"], ["clang++"]]
    )
    return next(((path, *words) for name, *words in commands if (path := shutil.which(name))), None)


@lru_cache
def unusable() -> str | None:
    """Returns why C++ cannot be compiled here; None if a small library was built and loaded."""
    if compiler() is None:
        program = os.environ.get("CXX") or "c++, g++ or clang++"
        return f"there is no C++ compiler ({program} in PATH; set CXX)"
    try:
        library('extern "C" int answer() { return 42; }\n')
    except (CompilerFailed, OSError) as error:
        return str(error)
    return None


def kernel(path: Path, defines: dict[str, object]) -> ctypes.CDLL:
    """Returns the library of the C++ file `path` with the macros `defines`. Raises
    CompilerFailed."""
    return library(
        inlined(path), tuple(f"-D{name}={value}" for name, value in sorted(defines.items()))
    )


@cache
def library(source: str, options: tuple[str, ...] = ()) -> ctypes.CDLL:
    """Returns the library of C++ `source`, cached by source, options, compiler and CPU.

    Raises CompilerFailed.
    """
    if (compiler_command := compiler()) is None:
        raise CompilerFailed("there is no C++ compiler")
    command = [*compiler_command, *FLAGS, *options, *_openmp()]
    key = hashlib.sha256("\0".join([source, *command, *identity()]).encode()).hexdigest()[:32]
    return ctypes.CDLL(
        str(cached(f"cpp-{key}", ".so", lambda path: _compile(command, source, path)))
    )


def identity() -> tuple[str, str]:
    """Returns the compiler's path, size and date, and the CPU's name and features."""
    program = Path((compiler() or ("none",))[0]).resolve()
    status = program.stat() if program.exists() else None
    return f"{program} {status and (status.st_size, status.st_mtime_ns)}", _cpu()


def _compile(command: list[str], source: str, path: Path) -> None:
    run = subprocess.run(
        [*command, "-x", "c++", "-", "-o", str(path)], input=source, capture_output=True, text=True
    )
    if run.returncode:
        lines = run.stderr.splitlines()
        ranked = [line for word in ("No space left", "error", "") for line in lines if word in line]
        message = " ".join(ranked[:1]) or "no message"
        raise CompilerFailed(f"{command[0]} failed with status {run.returncode}: {message}")
    if not path.stat().st_size:
        raise CompilerFailed(f"{command[0]} wrote nothing")


@lru_cache
def _cpu() -> str:
    """Returns the CPU's name and features, which -march=native depends on."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() + platform.machine()
    return "\n".join(
        sorted(
            set(re.findall(r"^(?:model name|flags|Features|CPU part)\s*:.*$", text, re.MULTILINE))
        )
    )


@lru_cache
def _openmp() -> tuple[str, ...]:
    """Returns options for torch's OpenMP runtime: a second one would start more threads."""
    try:
        loaded = re.findall(
            r"/\S*lib(?:gomp|iomp5|omp)[^/\s]*\.so\S*", Path("/proc/self/maps").read_text()
        )
    except OSError:
        loaded = []
    return ("-fopenmp", "-Wl,--no-as-needed", loaded[0]) if loaded else ("-fopenmp",)
