"""Runs the tests of the Triton kernels in Triton's interpreter, all in one process of their own,
because Triton decides on import whether it interprets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

CASES = sorted(Path(__file__).parent.glob("*/interpreted.py"))


@pytest.mark.slow
def test_in_the_interpreter():
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    plugins = ["-p", "no:cacheprovider", "-p", "no:xdist"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *CASES],
        env={**inherited, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]
