"""The container engine, and a watcher beside it: no container outlives for long the command that started it."""

import atexit
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import docker
import psutil
from docker.errors import DockerException
from requests.exceptions import RequestException

from ..common.mistakes import ConfigError

OWNER = "snnbench.owner"
"""Label of every container. Its value is the process that started it, as `boot:namespace:pid:start time`."""
FAILURES = (DockerException, RequestException)
"""Exceptions of the client if the engine refuses something or does not answer."""
LINGERS_S = 3.0
"""Seconds in which the engine may still make a container that a killed process had asked for."""


class Engine:
    """A connection. It removes containers of dead owners, and has its own removed when this process ends."""

    def __init__(self) -> None:
        """Raises ConfigError if no engine answers."""
        try:
            self.client = docker.from_env(timeout=60)
            self.client.ping()
        except FAILURES as error:
            where = os.environ.get("DOCKER_HOST", "its usual socket")
            mistake = f"--executor docker: no container engine answers at {where} (DOCKER_HOST): {in_short(error)}"
            raise ConfigError(mistake) from None
        self.owner = owner()
        remove_orphans(self.client)
        watch = [sys.executable, "-P", "-m", __name__, self.owner]
        nowhere = subprocess.DEVNULL
        watcher = subprocess.Popen(
            watch, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
        atexit.register(watcher.kill)


def in_short(error: BaseException) -> str:
    """The operating system's words for an error, if libraries have wrapped one; else the engine's, or the error's own."""
    inner: BaseException | None = error
    while inner:
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror
        inner = inner.__cause__ or inner.__context__
    return (
        " ".join(str(getattr(error, "explanation", None) or error).split()) or type(error).__name__
    )


def owner(process: psutil.Process | None = None) -> str:
    """The label of the containers of a process, by default of this one."""
    process = process or psutil.Process()
    return f"{_here()}:{process.pid}:{process.create_time():.2f}"


def _here() -> str:
    """This boot of this machine, and the namespace in which process numbers hold."""
    with suppress(OSError):
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}:{os.stat('/proc/self/ns/pid').st_ino}"
    return "unknown:0"


def is_orphan(label: str) -> bool:
    """Whether the owner is known to be dead. Nothing is known of owners on other machines, boots and namespaces."""
    here, _, rest = label.rpartition(":")[0].rpartition(":")
    if here != _here() or not rest.isdigit():
        return False
    try:
        return owner(psutil.Process(int(rest))) != label
    except psutil.NoSuchProcess:
        return True


def remove_orphans(client: docker.DockerClient, of: str | None = None) -> None:
    """Remove the containers of dead owners, or all containers of the owner `of`."""
    for entry in client.api.containers(
        all=True, filters={"label": OWNER if of is None else f"{OWNER}={of}"}
    ):
        if of is not None or is_orphan(entry["Labels"][OWNER]):
            with suppress(DockerException):  # another process has removed it
                client.api.remove_container(entry["Id"], force=True, v=True)


def main(label: str) -> None:
    """The watcher: wait until the process at the other end of standard input is gone, then remove its containers."""
    sys.stdin.buffer.read()
    client, end = docker.from_env(timeout=60), time.monotonic() + LINGERS_S
    while time.monotonic() < end:
        with suppress(*FAILURES):
            remove_orphans(client, label)
        time.sleep(0.2)


if __name__ == "__main__":
    main(sys.argv[1])
