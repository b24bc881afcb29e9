"""Runs workers as processes of this machine. Waiting for one uses no core."""

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
from .variables import MATTER

OUTPUT_TIMEOUT_S = 5.0
"""Longest wait for the output of an ended worker: another process may hold its pipe open."""
MOST_SEARCHES = 100
"""Number of searches for processes that an ended worker has left."""


@dataclass(frozen=True)
class LocalExecutor:
    """Starts workers as child processes with the Python of an environment."""

    python: str = sys.executable

    @property
    def parent(self) -> int:
        return os.getpid()

    def start(
        self, arguments: list[str], variables: dict[str, str], writes: list[Path], memory_bytes: int
    ) -> "LocalWorker":
        """The worker limits its private memory itself; `check_memory` adds what it shares."""
        command, surroundings = (
            [self.python, *arguments],
            {**os.environ, **_search_paths(self.python), **variables},
        )
        try:
            return LocalWorker(command, surroundings, memory_bytes)
        except OSError as error:
            raise CannotStart(f"{self.python} cannot be started: {error.strerror}") from None

    def facts(self) -> dict[str, Any]:
        return {}

    def inherited(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name in MATTER}

    def advice(self, environment: OwnEnvironment) -> str:
        return f"snnbench env doctor {environment.name}"

    def inside(self, environment: OwnEnvironment) -> "LocalExecutor":
        if environment.lacking:
            raise CannotStart(environment.lacking)
        return LocalExecutor(str(environment.python))


def _search_paths(python: str) -> dict[str, str]:
    """Lets workers find the programs of their environment first, and no module of ours."""
    if python == sys.executable:
        return {}
    return {
        "PATH": os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": "",
    }


class LocalWorker:
    """A process in its own session, with its descendants. Several may be alive at once."""

    alive: ClassVar[set[int]] = set()
    """Process ids of workers."""
    unrelated: ClassVar[set[int]] = set()
    """Descendants of this process that it had when no worker was alive: they belong to none."""

    def __init__(self, command: list[str], variables: dict[str, str], memory_bytes: int):
        """Raises OSError."""
        if sys.platform == "linux":
            # Descendants that outlive their parents become children of this process.
            set_child_subreaper = 36
            ctypes.CDLL(None).prctl(set_child_subreaper, 1)
        if not self.alive:
            self.unrelated.clear()
            self.unrelated.update(child.pid for child in psutil.Process().children(recursive=True))
        self.killed_before, self.variables, self.memory_bytes = (
            kernel_kills(),
            variables,
            memory_bytes,
        )
        self.over, self.output = False, Output()
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
        self.reading = threading.Thread(target=self._read, args=(reader,), daemon=True)
        self.reading.start()
        self.alive.add(self.process.pid)
        self.ended = readable_after(self.process.wait)

    def _read(self, reader: int) -> None:
        self.output.read(iter(partial(os.read, reader, 1 << 16), b""))
        os.close(reader)

    def fileno(self) -> int:
        return self.ended

    def check_memory(self) -> None:
        """Counts shared memory, which the worker's own limit does not."""
        if not self.over and used_bytes(self.process.pid) > self.memory_bytes:
            self.over = True
            self.process.kill()

    def end(self, timed_out: bool = False) -> Ending:
        code = self.process.poll()
        self._kill_all()
        self.reading.join(OUTPUT_TIMEOUT_S)
        os.close(self.ended)
        if code is None or self.over:  # it was killed here
            return Ending(None, signal.SIGKILL, timed_out, over=self.over)
        ran_out = code == -signal.SIGKILL and kernel_kills() > self.killed_before and not timed_out
        return Ending(code if code >= 0 else None, -code if code < 0 else None, timed_out, ran_out)

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
            # A child here was left by an ended worker, unless it is in our session, which no worker
            # can join: another thread, say of a notebook, has started it.
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
    """The session of a process (0: this one); None if the process is gone."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def used_bytes(pid: int) -> int:
    """Private and shared memory of a process without its files; 0 if the system does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return 1024 * sum(map(int, re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", status, re.MULTILINE)))


def kernel_kills() -> int:
    """Number of processes that the kernel has killed for want of memory since it booted."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
