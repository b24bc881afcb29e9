"""Code in a process of its own, with a time limit: what crashes a device or hangs takes nothing
else with it."""

import subprocess
import sys


def run_apart(code: str, seconds: float = 150) -> str:
    """What the code prints. Raises AssertionError, with the end of what it said, if it fails or
    takes longer than `seconds`."""
    try:
        ended = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{seconds:g} s were not enough") from None
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-2000:]
    return ended.stdout
