"""Workers as processes of this machine. Waiting for one does not use the cores that it measures on."""

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

LONGEST_READING_S = 5.0
"""Until the last output of a worker that has ended is read: somebody who is out of reach may hold the pipe."""
MOST_LOOKS = 100
"""For processes that an ended worker left."""


@dataclass(frozen=True)
class LocalExecutor:
    """The executor `local`: child processes, with the Python of an environment."""

    python: str = sys.executable

    @property
    def parent(self) -> int:
        return os.getpid()

    def start(
        self, arguments: list[str], variables: dict[str, str], writes: list[Path], memory_bytes: int
    ) -> "LocalWorker":
        """The worker limits its private memory itself to `memory_bytes` (worker/sandbox.py); what it shares is looked at here."""
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

    def at_home(self, environment: OwnEnvironment) -> "LocalExecutor":
        if environment.lacking:
            raise CannotStart(environment.lacking)
        return LocalExecutor(str(environment.python))


def _search_paths(python: str) -> dict[str, str]:
    """Variables by which workers of another environment find its programs (ninja, say) first, and none of our modules."""
    if python == sys.executable:
        return {}
    return {
        "PATH": os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": "",
    }


class LocalWorker:
    """A process in a session of its own, and whatever it starts. Several may be alive at once."""

    alive: ClassVar[set[int]] = set()
    """Processes of workers."""
    strangers: ClassVar[set[int]] = set()
    """Descendants of this process that are no worker's: those that it had when no worker was alive."""

    def __init__(self, command: list[str], variables: dict[str, str], memory_bytes: int):
        """Raises OSError."""
        if sys.platform == "linux":
            set_child_subreaper = 36  # descendants that outlive their own parents become ours, and can be found and ended
            ctypes.CDLL(None).prctl(set_child_subreaper, 1)
        if not self.alive:
            self.strangers.clear()
            self.strangers.update(child.pid for child in psutil.Process().children(recursive=True))
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
        """Shared memory is not private, so that the worker's own limit does not count it."""
        if not self.over and used_bytes(self.process.pid) > self.memory_bytes:
            self.over = True
            self.process.kill()

    def end(self, timed_out: bool = False) -> Ending:
        code = self.process.poll()
        self._kill_all()
        self.reading.join(LONGEST_READING_S)
        os.close(self.ended)
        if code is None or self.over:  # it was killed here
            return Ending(None, signal.SIGKILL, timed_out, over=self.over)
        ran_out = code == -signal.SIGKILL and kernel_kills() > self.killed_before and not timed_out
        return Ending(code if code >= 0 else None, -code if code < 0 else None, timed_out, ran_out)

    def _kill_all(self) -> None:
        """End the worker, its process group, and descendants that left the group. SIGKILL: there is nothing to save."""
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
        for _ in range(MOST_LOOKS):  # who is killed may have started somebody just before
            # Those of workers that live are below these: who is here had a worker that has ended, or is of our own session,
            # which nobody can join: another thread may start programs in a notebook.
            children = (
                child
                for child in psutil.Process().children()
                if child.pid not in self.alive | self.strangers
            )
            orphans = [child for child in children if session_of(child.pid) != session_of(0)]
            for orphan in orphans:
                with suppress(psutil.Error):
                    for one in (orphan, *orphan.children(recursive=True)):
                        one.kill()
                    orphan.wait(LONGEST_READING_S)
            if not orphans:
                break


def session_of(pid: int) -> int | None:
    """The session of a process, 0: this one; None of one that is gone."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def used_bytes(pid: int) -> int:
    """Memory of a process that it does not have from files, its own and what it shares; 0 where the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return 1024 * sum(map(int, re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", status, re.MULTILINE)))


def kernel_kills() -> int:
    """How many processes the kernel has killed for want of memory since it booted; 0 where it does not tell."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
