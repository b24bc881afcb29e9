"""What a worker may use: cores, memory, compilers, and neither network nor pip."""

import ctypes
import os
import re
import resource
import shutil
import signal
import sys
from pathlib import Path

ATTEMPTS: list[str] = []
"""Forbidden things that something in this process tried, even if it swallowed the refusal."""


COMPILER = re.compile(r"(.*-)?(c\+\+|g\+\+|gcc|cc|clang(\+\+)?|nvcc|ptxas)(-\d+(\.\d+)*)?")
"""The file name of a compiler, like `x86_64-linux-gnu-g++-12`."""


def limit_memory(size: int) -> None:
    """Refuse private writable memory beyond `size` bytes, so that an allocation fails instead of the machine."""
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def die_with_parent(parent: int | None) -> None:
    """Ask the kernel to kill this process when the harness dies, however it dies. None: it is not ours (a container's)."""
    if sys.platform == "linux" and parent is not None:
        set_parent_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


class ForbiddenInWorker(RuntimeError):
    """Raised where a framework tries to install something or to reach the network."""


def forbid_network_and_pip() -> None:
    """Refuse connections and pip. A package on PyPI runs `pip install --force-reinstall` when imported: samna's stub."""
    sys.modules["samna"] = None
    os.environ["PIP_NO_INDEX"] = "1"
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        if isinstance(address, tuple):
            _forbid(f"a network connection to {address[0]}:{address[1]}")
    elif event == "import" and arguments[0] in ("pip", "ensurepip"):
        _forbid("a package installation (pip inside the process)")
    elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system") and not _is_compiler(arguments[0]):
        words = _words(arguments)
        if any(Path(word).name in ("pip", "pip3", "uv", "conda") or word.startswith("pip3.") for word in words):
            _forbid(f"a package installation ({' '.join(words)[:200]})")


def _is_compiler(program) -> bool:
    """Whether the file that would be started is a compiler, links followed: its arguments are paths that may be called
    anything."""
    found = shutil.which(os.fsdecode(program)) if isinstance(program, str | bytes | os.PathLike) else None
    return bool(found and COMPILER.fullmatch(Path(found).resolve().name))


def _words(arguments: tuple) -> list[str]:
    """The command line of a process-starting audit event, whatever its form."""
    words: list[str] = []
    for argument in arguments[:2]:
        parts = argument if isinstance(argument, list | tuple) else [argument]
        for part in parts:
            text = os.fsdecode(part) if isinstance(part, str | bytes | os.PathLike) else ""
            words += text.split()
    return words


def _forbid(what: str) -> None:
    ATTEMPTS.append(what)
    raise ForbiddenInWorker(f"tried to start {what}; workers may not")
