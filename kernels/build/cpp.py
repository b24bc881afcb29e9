"""Compiles C++ kernels with the system's compiler at their first use, and caches the libraries."""

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

# Contraction is off because of rounding, see lif_step.h. Without the next three options compilers vectorise less and add
# zeros: nothing here reads errno, floating-point exceptions or the sign of a zero. NaN and infinities keep their meaning.
# -O2 instead of -O3, which compiles longer: pragmas vectorise the loops that take the time, and each kind of neuron is compiled.
FLAGS = (
    *("-std=c++17", "-O2", "-march=native", "-ffp-contract=off"),
    *("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fPIC", "-shared"),
)


class CompilerFailed(Exception):
    """The C++ compiler made no library; the message quotes it."""


@lru_cache
def compiler() -> tuple[str, ...] | None:
    """The command of $CXX, or the first of c++, g++ and clang++, with its program as a path; None if there is no compiler."""
    commands = (
        [shlex.split(os.environ["CXX"])]
        if os.environ.get("CXX")
        else [["c++"], ["g++"], ["clang++"]]
    )
    return next(((path, *words) for name, *words in commands if (path := shutil.which(name))), None)


@lru_cache
def unusable() -> str | None:
    """Why C++ cannot be compiled here, in words for the user; None if a small library could be built and loaded."""
    if compiler() is None:
        return f"there is no C++ compiler ({os.environ.get('CXX') or 'c++, g++ or clang++'} in PATH; set CXX)"
    try:
        library('extern "C" int answer() { return 42; }\n')
    except (CompilerFailed, OSError) as error:
        return str(error)
    return None


def kernel(path: Path, defines: dict[str, object]) -> ctypes.CDLL:
    """The library of the C++ file `path`, compiled with the macros `defines`. Raises CompilerFailed."""
    return library(
        inlined(path), tuple(f"-D{name}={value}" for name, value in sorted(defines.items()))
    )


@cache
def library(source: str, options: tuple[str, ...] = ()) -> ctypes.CDLL:
    """The library of C++ `source`, compiled unless source, options, compiler and CPU are those of an earlier build. Raises
    CompilerFailed."""
    if (compiler_command := compiler()) is None:
        raise CompilerFailed("there is no C++ compiler")
    command = [*compiler_command, *FLAGS, *options, *_openmp()]
    key = hashlib.sha256("\0".join([source, *command, *identity()]).encode()).hexdigest()[:32]
    return ctypes.CDLL(
        str(cached(f"cpp-{key}", ".so", lambda path: _compile(command, source, path)))
    )


def identity() -> tuple[str, str]:
    """What builds depend on beside source and options: the compiler's program, and the CPU's name and features."""
    program = Path((compiler() or ("none",))[0]).resolve()
    known = program.stat() if program.exists() else None
    return f"{program} {known and (known.st_size, known.st_mtime_ns)}", _cpu()


def _compile(command: list[str], source: str, path: Path) -> None:
    done = subprocess.run(
        [*command, "-x", "c++", "-", "-o", str(path)], input=source, capture_output=True, text=True
    )
    if done.returncode:
        said = done.stderr.splitlines()
        told = [line for word in ("No space left", "error", "") for line in said if word in line]
        raise CompilerFailed(
            f"{command[0]} failed with status {done.returncode}: {' '.join(told[:1]) or 'no message'}"
        )
    if not path.stat().st_size:
        raise CompilerFailed(f"{command[0]} wrote nothing")


@lru_cache
def _cpu() -> str:
    """The CPU's name and features, which -march=native depends on."""
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
    """Options for the OpenMP runtime that torch has loaded, because a second runtime would start a second set of threads."""
    try:
        loaded = re.findall(
            r"/\S*lib(?:gomp|iomp5|omp)[^/\s]*\.so\S*", Path("/proc/self/maps").read_text()
        )
    except OSError:
        loaded = []
    return ("-fopenmp", "-Wl,--no-as-needed", loaded[0]) if loaded else ("-fopenmp",)
