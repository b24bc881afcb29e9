"""Connects to the container engine and removes containers of killed commands."""

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
"""Label of every container: its process as `boot:namespace:pid:start time`."""
FAILURES = (DockerException, RequestException)
"""Exceptions of the client if the engine refuses a request or does not answer."""
LATE_S = 3.0
"""Seconds in which the engine may still make a container for a process that was killed."""


class Engine:
    """A connection that removes orphaned containers, and its own when this process ends."""

    def __init__(self) -> None:
        """Raises ConfigError if no engine answers."""
        try:
            self.client = docker.from_env(timeout=60)
            self.client.ping()
        except FAILURES as error:
            where = os.environ.get("DOCKER_HOST", "its usual socket")
            fault = f"no container engine answers at {where} (DOCKER_HOST): {in_short(error)}"
            raise ConfigError(f"--executor docker: {fault}") from None
        self.owner = owner()
        remove_orphans(self.client)
        watch = [sys.executable, "-P", "-m", __name__, self.owner]
        nowhere = subprocess.DEVNULL
        watcher = subprocess.Popen(
            watch, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
        atexit.register(watcher.kill)


def in_short(error: BaseException) -> str:
    """The text of the operating system's error, if one is wrapped; else the engine's or its own."""
    inner: BaseException | None = error
    while inner:
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror
        inner = inner.__cause__ or inner.__context__
    return (
        " ".join(str(getattr(error, "explanation", None) or error).split()) or type(error).__name__
    )


def owner(process: psutil.Process | None = None) -> str:
    """The label of containers that a process (by default this one) has started."""
    process = process or psutil.Process()
    return f"{_here()}:{process.pid}:{process.create_time():.2f}"


def _here() -> str:
    """The boot id of this machine and the namespace of process ids."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.stat('/proc/self/ns/pid').st_ino}"
    return "unknown:0"


def is_orphan(label: str) -> bool:
    """True if the owner is dead. Owners on other machines, boots and namespaces are unknown."""
    here, _, rest = label.rpartition(":")[0].rpartition(":")
    if here != _here() or not rest.isdigit():
        return False
    try:
        return owner(psutil.Process(int(rest))) != label
    except psutil.NoSuchProcess:
        return True


def remove_orphans(client: docker.DockerClient, of: str | None = None) -> None:
    """Removes the containers of dead owners, or all containers of the owner `of`."""
    for entry in client.api.containers(
        all=True, filters={"label": OWNER if of is None else f"{OWNER}={of}"}
    ):
        if of is not None or is_orphan(entry["Labels"][OWNER]):
            with suppress(DockerException):  # another process has removed it
                client.api.remove_container(entry["Id"], force=True, v=True)


def main(label: str) -> None:
    """Waits until standard input closes: its process is gone. Then removes its containers."""
    sys.stdin.buffer.read()
    client, end = docker.from_env(timeout=60), time.monotonic() + LATE_S
    while time.monotonic() < end:
        with suppress(*FAILURES):
            remove_orphans(client, label)
        time.sleep(0.2)


if __name__ == "__main__":
    main(sys.argv[1])
