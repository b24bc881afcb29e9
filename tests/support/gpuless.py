"""Triton without a GPU: tests in the interpreter, and a driver for compiling."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget

QUICK, SLOW = "not slow", "slow"


def run_interpreted(cases: Path, marked: str) -> None:
    """Runs QUICK or SLOW tests of a file in a process of its own, because Triton decides on
    import whether it interprets."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-m",
            marked,
            str(cases),
        ],
        env={**inherited, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]


class Driver:
    """Replaces the driver of a GPU: it has only what compiling calls."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0


@contextmanager
def compiling_only() -> Iterator[None]:
    """Without a GPU Triton compiles, and runs nothing."""
    before = triton.runtime.driver._active
    triton.runtime.driver.set_active(Driver())
    try:
        yield
    finally:
        triton.runtime.driver._active = before
