"""Limits of a worker: bounded memory, no network, no pip; it dies with the harness."""

import ctypes
import errno
import os
import re
import resource
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..common.texts import cut

ATTEMPTS: list[str] = []
"""Forbidden actions that were tried in this process, also if the refusal was caught."""

COMPILER = re.compile(r"(.*-)?(c\+\+|g\+\+|gcc|cc|clang(\+\+)?|nvcc|ptxas)(-\d+(\.\d+)*)?")
"""The file name of a compiler, like `x86_64-linux-gnu-g++-12`."""
STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system")
"""Audit events before a process starts."""
INSTALLERS = ("pip", "pip3", "uv", "conda")
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class HarnessDiskFull(BaseException):
    """The disk is full while the harness writes; no case is to blame.

    A BaseException, so that code that catches errors does not take it for an adapter's.
    """


@contextmanager
def harness_writing() -> Iterator[None]:
    """Raises HarnessDiskFull if the disk is full in the block, in which only the harness writes."""
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL:
            raise HarnessDiskFull from error
        raise


def limit_memory(size: int) -> None:
    """Limits private writable memory to `size` bytes: an allocation fails then, not the machine.

    A crash writes no core file into the user's folder.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def die_with_parent(parent: int | None) -> None:
    """Makes the kernel kill this process when its parent, the harness, dies.

    `parent` is None in a container, where it is invisible. Orphaned descendants become children of
    this process, so that they are not counted as another worker's.
    """
    if sys.platform == "linux" and parent is not None:
        set_parent_death_signal, set_child_subreaper = 1, 36
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL)
        ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1)
        if os.getppid() != parent:
            os._exit(1)


class ForbiddenInWorker(RuntimeError):
    """Raised if a framework tries to install a package or to use the network."""


def forbid_network_and_pip() -> None:
    """Refuses connections and pip: PyPI's samna runs `pip install --force-reinstall` on import."""
    sys.modules["samna"] = None  # type: ignore[assignment]  # makes `import samna` fail
    os.environ["PIP_NO_INDEX"] = "1"
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook, which Python calls before each audited event."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        if isinstance(address, tuple):
            _forbid(f"a network connection to {address[0]}:{address[1]}")
    elif event == "import" and arguments[0] in ("pip", "ensurepip"):
        _forbid("a package installation (pip inside the process)")
    elif event in STARTS and not _is_compiler(arguments[0]):
        words = _words(arguments)
        names = [Path(word).name for word in words]
        if {*INSTALLERS}.intersection(names) or any(word.startswith("pip3.") for word in words):
            _forbid(f"a package installation ({cut(' '.join(words), 200)})")


def _is_compiler(program: object) -> bool:
    """True if the program, links followed, is a compiler; its arguments may be any paths."""
    if not isinstance(program, str | bytes | os.PathLike):
        return False
    path = shutil.which(os.fsdecode(program))
    return bool(path and COMPILER.fullmatch(Path(path).resolve().name))


def _words(arguments: tuple[Any, ...]) -> list[str]:
    """Words of the command line in the arguments of an audit event that starts a process."""
    lists = (
        argument if isinstance(argument, list | tuple) else [argument] for argument in arguments[:2]
    )
    parts = (
        os.fsdecode(part)
        for parts in lists
        for part in parts
        if isinstance(part, str | bytes | os.PathLike)
    )
    return [word for part in parts for word in part.split()]


def _forbid(what: str) -> None:
    ATTEMPTS.append(what)
    raise ForbiddenInWorker(f"tried to start {what}; workers may not")
