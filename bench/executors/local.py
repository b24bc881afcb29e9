"""Workers as processes of this machine. Waiting for one does not use the cores that it measures on."""

import ctypes
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from .executor import CannotStart, Ending, OwnEnvironment

LONGEST_POLL_MS = 2**31 - 1
CHANGE_FRAMEWORKS = (
    "CUDA_", "JAX_", "KMP_", "LD_PRELOAD", "MALLOC_", "MKL_", "NVIDIA_", "OMP_", "PYTORCH_", "TORCH", "TRITON_", "XLA_",
)  # fmt: skip
"""Beginnings of the names of variables that change what frameworks do."""


@dataclass(frozen=True)
class LocalExecutor:
    """The executor `local`: child processes, with the Python of an environment."""

    python: str = sys.executable

    @property
    def parent(self) -> int:
        return os.getpid()

    def run(
        self, arguments: list[str], variables: dict[str, str], output: Path, writes: list[Path], timeout: float, memory_bytes: int
    ) -> Ending:
        """Nothing here limits memory: the worker limits itself to `memory_bytes` (worker/sandbox.py)."""
        killed_before = kernel_kills()
        if sys.platform == "linux":
            set_child_subreaper = 36  # descendants that outlive their own parents become ours, and can be found and ended
            ctypes.CDLL(None).prctl(set_child_subreaper, 1)
        before = {child.pid for child in psutil.Process().children(recursive=True)}
        command, surroundings = [self.python, *arguments], {**os.environ, **_search_paths(self.python), **variables}
        try:
            with open(output, "wb") as stream:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=surroundings, start_new_session=True
                )
        except OSError as error:
            raise CannotStart(f"{self.python} cannot be started: {error.strerror}") from None
        try:
            timed_out = not _ends_within(process, timeout)
        finally:
            _kill_all(process, before)
        code = process.returncode
        ran_out = code == -signal.SIGKILL and not timed_out and kernel_kills() > killed_before
        return Ending(code if code >= 0 else None, -code if code < 0 else None, timed_out, ran_out)

    def facts(self) -> dict[str, Any]:
        return {}

    def inherited(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name.startswith(CHANGE_FRAMEWORKS)}

    def advice(self, environment: OwnEnvironment) -> str:
        return f"snnbench env doctor {environment.name}"

    def at_home(self, environment: OwnEnvironment) -> "LocalExecutor":
        if environment.lacking:
            raise CannotStart(environment.lacking)
        return LocalExecutor(str(environment.python))


def _search_paths(python: str) -> dict[str, str]:
    """Variables by which workers of another environment find its programs (ninja, say) first, and none of our modules."""
    if python == sys.executable:
        return {}
    return {"PATH": os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", os.defpath)]), "PYTHONPATH": ""}


def _ends_within(process: subprocess.Popen[bytes], timeout: float) -> bool:
    """Sleep until the process ends; False if it takes longer. Popen's own wait would poll on the measured cores."""
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout)
        return process.returncode is not None
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(min(timeout * 1e3, LONGEST_POLL_MS)))
    finally:
        os.close(handle)


def _kill_all(process: subprocess.Popen[bytes], before: set[int]) -> None:
    """End the worker, its process group, and descendants that left the group. SIGKILL: there is nothing to save. `before` are the
    descendants that this process had before it started the worker."""
    try:
        descendants = psutil.Process(process.pid).children(recursive=True)
    except psutil.Error:
        descendants = []
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for descendant in descendants:
        with suppress(psutil.Error):
            descendant.kill()
    process.wait()
    for orphan in psutil.Process().children(recursive=True):  # a worker's daemon became our child when the worker ended
        if orphan.pid not in before:
            with suppress(psutil.Error):
                orphan.kill()
                orphan.wait()


def kernel_kills() -> int:
    """How many processes the kernel has killed for want of memory since it booted; 0 where it does not tell."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
