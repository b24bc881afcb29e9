"""Starts one worker process, waits for it without using the cores it measures on, and says how it ended."""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from .worker.limits import usable_cores

TAIL = 4096
LONGEST_POLL_MS = 2**31 - 1


@dataclass
class Outcome:
    """Events that the worker reported; exit code or signal; why it was stopped, if it was; the end of its output."""

    events: list[dict] = field(default_factory=list)
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    host_ran_out: bool = False
    output_tail: str = ""
    duration_s: float = 0.0

    @property
    def complete(self) -> bool:
        return bool(self.events) and self.events[-1]["part"] == "end"

    @property
    def cpu_seconds(self) -> float | None:
        return self.events[-1]["cpu_seconds"] if self.complete else None

    def answer(self, part: str) -> dict:
        """The event of a worker that was asked one thing. Raises RuntimeError with its last words if it did not answer."""
        for event in self.events:
            if event["part"] == part:
                return event
        raise RuntimeError(self.output_tail.strip().splitlines()[-1] if self.output_tail.strip() else "the worker gave no answer")


def launch(
    verb: str,
    job: dict,
    scratch: Path,
    timeout: float,
    memory_bytes: int,
    environment: dict[str, str],
    python: str | Path = sys.executable,
) -> Outcome:
    """Run `python -m snnbench.worker VERB` to its end or to `timeout` seconds, then kill everything it started.

    `scratch` is made for this worker and removed afterwards, whatever happens. A `python` that cannot be started gives an
    outcome with the status env_error: an environment may vanish while a run is using it.
    """
    scratch.mkdir(parents=True)
    try:
        return _launch(verb, job, scratch, timeout, memory_bytes, environment, python)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):
            scratch.parent.rmdir()


@contextmanager
def temporary_scratch():
    """A folder for workers outside a run. What a killed command left behind is removed by the next one."""
    everyone = Path(tempfile.gettempdir()) / f"snnbench-{os.getuid()}"
    mine = everyone / str(os.getpid())
    if everyone.is_dir():
        for folder in everyone.iterdir():
            if not (folder.name.isdigit() and psutil.pid_exists(int(folder.name))):
                shutil.rmtree(folder, ignore_errors=True)
    try:
        yield mine
    finally:
        shutil.rmtree(mine, ignore_errors=True)
        with suppress(OSError):
            everyone.rmdir()


def _launch(verb, job, scratch, timeout, memory_bytes, environment, python):
    events, output, job_file = scratch / "events", scratch / "output", scratch / "job.json"
    job = {**job, "parent": os.getpid(), "memory_bytes": memory_bytes, "events": str(events)}
    job_file.write_text(json.dumps(job))
    killed_before = _kernel_kills()
    _adopt_orphans()
    others = {child.pid for child in psutil.Process().children(recursive=True)}
    start = time.monotonic()
    try:
        with open(output, "wb") as stream:
            process = subprocess.Popen(
                # -P: a user's file named like a framework, in the current folder, must not hide the framework.
                [python, "-P", "-m", "snnbench.worker", verb, str(job_file)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env={**os.environ, **_of_python(python), **environment, "TMPDIR": str(scratch)},
                start_new_session=True,
            )
    except OSError as error:
        reason = f"{python} cannot be started: {error.strerror}"
        events = [{"part": "import", "status": "env_error", "reason": reason}, {"part": "end", "cpu_seconds": 0.0}]
        return Outcome(events, exit_code=127, output_tail=reason)
    outcome = Outcome()
    try:
        outcome.timed_out = not _ended_within(process, timeout)
    finally:
        _kill_all(process, others)
    outcome.duration_s = time.monotonic() - start
    code = process.returncode
    outcome.exit_code, outcome.signal = (None, -code) if code < 0 else (code, None)
    outcome.host_ran_out = outcome.signal == signal.SIGKILL and not outcome.timed_out and _kernel_kills() > killed_before
    outcome.events = _read_events(events)
    outcome.output_tail = _tail(output)
    return outcome


def _of_python(python: str | Path) -> dict[str, str]:
    """What another environment's worker sees otherwise: its own programs (ninja, say) first, nothing of ours beside its own."""
    if str(python) == sys.executable:
        return {}
    return {"PATH": os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", os.defpath)]), "PYTHONPATH": ""}


def _ended_within(process: subprocess.Popen, timeout: float) -> bool:
    """Sleep until the process ends; False if it did not in time. Popen's own wait would poll on the measured cores."""
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(min(timeout * 1e3, LONGEST_POLL_MS)))
    finally:
        os.close(handle)


def _kill_all(process: subprocess.Popen, others: set[int]) -> None:
    """End the worker, its process group, and descendants that left the group. SIGKILL: there is nothing to save.

    `others` are processes that were ours before.
    """
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
    for orphan in psutil.Process().children(recursive=True):  # a worker's daemon became ours when the worker ended
        if orphan.pid not in others:
            with suppress(psutil.Error):
                orphan.kill()
                orphan.wait()


def _adopt_orphans() -> None:
    """Become the parent of whatever outlives its own, so that it can be found."""
    if sys.platform == "linux":
        set_child_subreaper = 36
        ctypes.CDLL(None).prctl(set_child_subreaper, 1)


def _read_events(path: Path) -> list[dict]:
    """Whole lines only: a killed worker may have been in the middle of one."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _tail(path: Path) -> str:
    """The last 4 KiB of output, the user's home folder taken out."""
    with open(path, "rb") as stream:
        stream.seek(max(path.stat().st_size - TAIL, 0))
        text = stream.read().decode("utf-8", "replace")
    return text.replace(str(Path.home()), "~").replace(str(path.parent), "SCRATCH")


def _kernel_kills() -> int:
    """How many processes the kernel has killed for want of memory since it started; 0 where it does not tell."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def worker_environment(device: str, threads: int) -> dict[str, str]:
    """Environment variables that make all frameworks use the same device and cores, and none the network."""
    count = str(threads or len(usable_cores()))
    kind = device.partition(":")[0]
    visible = {"CUDA_VISIBLE_DEVICES": ""} if kind == "cpu" else {}
    return {
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "JAX_PLATFORMS": kind,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        # One heap: glibc gives the freed top of others back to nobody, and memory of earlier calls would hide later ones.
        "MALLOC_ARENA_MAX": "1",
        # Freed memory stays with the process. Else whether an array is faulted in anew at every call, which can take longer
        # than computing it, depends on its size and on what was freed before it: a lottery, and nobody's merit. Only while
        # memory is weighed (worker/memory.py) it goes back to the system.
        "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
        "MALLOC_MMAP_MAX_": "0",
        "PIP_NO_INDEX": "1",
        "PYTHONHASHSEED": "0",
        # In the worker itself: helper processes would compile on cores and in memory that nobody has counted.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        # Torch keeps it in the temporary directory, which is a new one in every worker: ten seconds each, for nothing.
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
        **visible,
    }


def compiler_caches(folder: Path) -> dict[str, str]:
    """Environment variables that make compilers keep what they compile in `folder`, which they make if they need it."""
    names = {
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TRITON_CACHE_DIR": "triton",
        "TORCH_EXTENSIONS_DIR": "extensions",
        "CUPY_CACHE_DIR": "cupy",
        "SNNBENCH_CACHE": "kernels",
    }
    return {variable: str(folder / name) for variable, name in names.items()}
