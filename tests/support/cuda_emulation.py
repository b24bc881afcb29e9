"""The CUDA kernels on a CPU: the same source compiled by g++, run with the same launch geometry and
arguments.

`launch` takes the place of `snnbench.kernels.build.nvrtc.launch`. What it cannot show: the
compiler's and the GPU's own faults, races (no two threads share anything here), and speed.
"""

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

COMPILER = shutil.which("g++")
OPTIONS = (
    "-std=c++17",
    "-O0",
    "-shared",
    "-fPIC",
    "-Wall",
    "-Werror",
    "-Wundef",
    "-Wno-unknown-pragmas",
    "-Wno-unused",
)
OPTIONS += (
    "-Wno-maybe-uninitialized",
)  # a chunk's steps beyond the end are neither loaded nor used
CONTRACTION_OFF = ("-ffp-contract=off",)


def launch(work) -> None:
    library(work.program)(work)


def build(program, folder, extra: tuple[str, ...] = CONTRACTION_OFF) -> Path:
    """The library of a program in `folder`; its function `launch(grid, block, addresses of
    arguments)` runs its kernel."""
    path = Path(folder, "kernel.cpp")
    path.write_text(f'#include "cuda_shim.h"\n{program.source()}\nEMULATE({program.kernel})\n')
    built = path.with_suffix(".so")
    command = [COMPILER, *OPTIONS, *extra, "-I", Path(__file__).parent, path, "-o", built]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr[:4000]
    return built


@cache
def library(program, extra: tuple[str, ...] = CONTRACTION_OFF):
    """A function that runs a `CudaLaunch` of `program`, compiled by g++ with `extra` options."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = ctypes.CDLL(str(build(program, folder, extra)))
    loaded.parameters.restype = ctypes.c_char_p
    kinds = loaded.parameters().decode()

    def run(work) -> None:
        assert len(work.arguments) == len(kinds)
        values = [ctypes.c_int64(a) if isinstance(a, int) else a for a in work.arguments]
        for value, kind in zip(values, kinds, strict=True):
            assert isinstance(value, ctypes.c_float if kind == "f" else ctypes.c_int64)
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        loaded.launch(ctypes.c_uint(work.grid), ctypes.c_uint(work.block), addresses)

    return run
