"""The protocol of what starts workers: as processes of this machine (`local.py`) or as containers (`docker.py`)."""

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

TAIL_BYTES = 4096
"""Of a worker's output, in a record."""


class CannotStart(Exception):
    """A worker could not be started; the text says why."""


class Output:
    """The end of what a worker printed. It is read as it comes, and only its `tail` is kept: it fills neither disk nor memory."""

    tail = b""

    def read(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self.tail = (self.tail + piece)[-TAIL_BYTES:]


@dataclass
class Ending:
    """How a worker ended. `timed_out`: its time was over before that; `host_ran_out`: the kernel killed it for want of memory;
    `over`: it was stopped because it used more memory than it may."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    host_ran_out: bool = False
    over: bool = False


@dataclass(frozen=True)
class OwnEnvironment:
    """An environment made for the frameworks of `adapters`. `image`: a container image that holds them in its own Python, if
    there is one; `lacking`: why no worker can run in it on this machine, None if one can."""

    name: str
    adapters: tuple[str, ...]
    image: str | None
    python: Path
    lacking: str | None


class Running(Protocol):
    """A worker that was started."""

    output: Output

    def fileno(self) -> int:
        """A descriptor that can be read from when the worker has ended."""

    def check_memory(self) -> None:
        """End the worker if it uses more memory than it may and nothing else would end it."""

    def end(self, timed_out: bool = False) -> Ending:
        """End what is left of the worker and everything that it started; call it once. Raises CannotStart if nobody knows how it
        ended. `timed_out`: it has not come to its end in time."""


class Executor(Protocol):
    """Equal executors give workers the same surroundings. They can be hashed."""

    @property
    def parent(self) -> int | None:
        """The process that a worker dies with; None if the worker cannot see it."""

    def start(
        self, arguments: list[str], variables: dict[str, str], writes: list[Path], memory_bytes: int
    ) -> Running:
        """Start Python with `arguments`. `writes` are the folders that it reads and writes, the first one its alone. Raises
        CannotStart."""

    def facts(self) -> dict[str, Any]:
        """Facts for records about where workers run, beyond those that workers report themselves."""

    def inherited(self) -> dict[str, str]:
        """The user's environment variables that workers see and that change what frameworks do."""

    def advice(self, environment: OwnEnvironment) -> str:
        """Advice for the user if workers in `environment` give no answer."""

    def at_home(self, environment: OwnEnvironment) -> Self:
        """The executor for workers in `environment`. Raises CannotStart if there can be none."""


def readable_after(wait: Callable[[], object]) -> int:
    """A descriptor that can be read from when `wait`, called in a thread, has returned. The reader closes it."""
    reader, writer = os.pipe()

    def close() -> None:
        try:
            wait()
        finally:
            os.close(writer)

    threading.Thread(target=close, daemon=True).start()
    return reader
