"""The limits of a worker: some memory, compilers, but neither the network nor pip. It dies with the harness."""

import ctypes
import os
import re
import resource
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from ..common.texts import cut

ATTEMPTS: list[str] = []
"""The forbidden things that were tried in this process, also where the refusal was caught."""

COMPILER = re.compile(r"(.*-)?(c\+\+|g\+\+|gcc|cc|clang(\+\+)?|nvcc|ptxas)(-\d+(\.\d+)*)?")
"""The file name of a compiler, like `x86_64-linux-gnu-g++-12`."""


def limit_memory(size: int) -> None:
    """Refuse private writable memory beyond `size` bytes: then an allocation fails, not the machine. A crash leaves no image of
    the memory in the user's current folder."""
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def die_with_parent(parent: int | None) -> None:
    """Have the kernel kill this process when its parent, the harness, dies; None in a container, where it cannot be seen. What
    outlives its own parent stays below this process for as long as it lives: then nobody takes it for another worker's."""
    if sys.platform == "linux" and parent is not None:
        set_parent_death_signal, set_child_subreaper = 1, 36
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL)
        ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1)
        if os.getppid() != parent:
            os._exit(1)


class ForbiddenInWorker(RuntimeError):
    """Raised where a framework tries to install something or to reach the network."""


def forbid_network_and_pip() -> None:
    """Refuse connections and pip. The package samna on PyPI runs `pip install --force-reinstall` when it is imported."""
    sys.modules["samna"] = None  # type: ignore[assignment]  # makes `import samna` fail
    os.environ["PIP_NO_INDEX"] = "1"
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: Python calls it before it does what `event` names."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        if isinstance(address, tuple):
            _forbid(f"a network connection to {address[0]}:{address[1]}")
    elif event == "import" and arguments[0] in ("pip", "ensurepip"):
        _forbid("a package installation (pip inside the process)")
    elif event in (
        "subprocess.Popen",
        "os.exec",
        "os.posix_spawn",
        "os.system",
    ) and not _is_compiler(arguments[0]):
        words = _words(arguments)
        if any(
            Path(word).name in ("pip", "pip3", "uv", "conda") or word.startswith("pip3.")
            for word in words
        ):
            _forbid(f"a package installation ({cut(' '.join(words), 200)})")


def _is_compiler(program: object) -> bool:
    """Whether the file that would be started, links followed, is a compiler; its arguments are paths of any words."""
    path = (
        shutil.which(os.fsdecode(program))
        if isinstance(program, str | bytes | os.PathLike)
        else None
    )
    return bool(path and COMPILER.fullmatch(Path(path).resolve().name))


def _words(arguments: tuple[Any, ...]) -> list[str]:
    """The words of the command line, from the arguments of any audit event that starts a process."""
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
