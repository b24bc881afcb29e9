"""Runs workers as processes of this machine. Waiting for a worker uses no core."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import psutil

from .executor import CannotStart, Ending, Output, OwnEnvironment, readable_after
from .variables import INFLUENTIAL

OUTPUT_TIMEOUT_S = 5.0
"""Longest wait for the last output of an ended worker: a surviving process may hold its pipe."""
MOST_SEARCHES = 100
"""Most rounds in which processes that an ended worker has left are searched and killed."""


@dataclass(frozen=True)
class LocalExecutor:
    """Starts workers as child processes with the Python of an environment."""

    python: str = sys.executable

    @property
    def parent_pid(self) -> int:
        return os.getpid()

    def start(
        self, arguments: list[str], variables: dict[str, str], writes: list[Path], memory_bytes: int
    ) -> "LocalWorker":
        """Starts a worker, which limits its private memory itself."""
        environment = {**os.environ, **_search_paths(self.python), **variables}
        try:
            return LocalWorker([self.python, *arguments], environment, memory_bytes)
        except OSError as error:
            raise CannotStart(f"{self.python} cannot be started: {error.strerror}") from None

    def facts(self) -> dict[str, Any]:
        return {}

    def inherited(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name in INFLUENTIAL}

    def advice(self, environment: OwnEnvironment) -> str:
        return f"snnbench env doctor {environment.name}"

    def inside(self, environment: OwnEnvironment) -> "LocalExecutor":
        if environment.lacking:
            raise CannotStart(environment.lacking)
        return LocalExecutor(str(environment.python))


def _search_paths(python: str) -> dict[str, str]:
    """Returns PATH with the programs of the environment first, and an empty PYTHONPATH, which hides
    our modules; nothing for our own Python."""
    if python == sys.executable:
        return {}
    return {
        "PATH": os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": "",
    }


class LocalWorker:
    """A worker in its own session, with its descendants. Several workers may be alive at once."""

    alive: ClassVar[set[int]] = set()
    """Process ids of workers."""
    unrelated: ClassVar[set[int]] = set()
    """Process ids of the descendants of this process that existed before any worker started."""

    def __init__(self, command: list[str], variables: dict[str, str], memory_bytes: int):
        """Starts the process. Raises OSError."""
        if sys.platform == "linux":
            # Descendants that outlive their parents become children of this process.
            set_child_subreaper = 36
            ctypes.CDLL(None).prctl(set_child_subreaper, 1)
        if not self.alive:
            self.unrelated.clear()
            self.unrelated.update(child.pid for child in psutil.Process().children(recursive=True))
        self.variables, self.memory_bytes = variables, memory_bytes
        self.oom_kills_before, self.exceeded_memory, self.output = oom_kills(), False, Output()
        reader, writer = os.pipe()
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=writer,
                env=variables,
                start_new_session=True,
            )
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        self.reader_thread = threading.Thread(target=self._read, args=(reader,), daemon=True)
        self.reader_thread.start()
        self.alive.add(self.process.pid)
        self.ended_fd = readable_after(self.process.wait)

    def _read(self, reader: int) -> None:
        self.output.read(iter(partial(os.read, reader, 1 << 16), b""))
        os.close(reader)

    def fileno(self) -> int:
        return self.ended_fd

    def enforce_memory_limit(self) -> None:
        """Kills the worker if its private and shared memory exceed the limit. The worker's own
        limit does not count shared memory."""
        if not self.exceeded_memory and used_bytes(self.process.pid) > self.memory_bytes:
            self.exceeded_memory = True
            self.process.kill()

    def end(self, timed_out: bool = False) -> Ending:
        """Kills the worker and its descendants, and returns how the worker ended."""
        code = self.process.poll()
        self._kill_all()
        self.reader_thread.join(OUTPUT_TIMEOUT_S)
        os.close(self.ended_fd)
        if code is None or self.exceeded_memory:  # it was killed above or for its memory
            return Ending(None, signal.SIGKILL, timed_out, exceeded_memory=self.exceeded_memory)
        killed_by_kernel = code == -signal.SIGKILL and oom_kills() > self.oom_kills_before
        return Ending(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=timed_out,
            host_ran_out=killed_by_kernel and not timed_out,
        )

    def _kill_all(self) -> None:
        """Kills the worker, its process group, and descendants that left the group."""
        try:
            descendants = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.Error:
            descendants = []
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for descendant in descendants:
            with suppress(psutil.Error):
                descendant.kill()
        self.process.wait()
        self.alive.discard(self.process.pid)
        # A killed process may have spawned a child just before it died.
        for _ in range(MOST_SEARCHES):
            # Another child was left by an ended worker if its session is not ours, which no worker
            # can join. In our session this process has started it, as a thread of a notebook may.
            children = (
                child
                for child in psutil.Process().children()
                if child.pid not in self.alive | self.unrelated
            )
            orphans = [child for child in children if session_of(child.pid) != session_of(0)]
            for orphan in orphans:
                with suppress(psutil.Error):
                    for process in (orphan, *orphan.children(recursive=True)):
                        process.kill()
                    orphan.wait(OUTPUT_TIMEOUT_S)
            if not orphans:
                break


def session_of(pid: int) -> int | None:
    """Returns the session of a process (0: this one); None if the process is gone."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def used_bytes(pid: int) -> int:
    """Returns the anonymous and shared resident bytes of a process; 0 if /proc has no entry."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return 1024 * sum(map(int, re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", status, re.MULTILINE)))


def oom_kills() -> int:
    """Returns the number of processes that the kernel has killed for want of memory since boot."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
