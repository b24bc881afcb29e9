"""The protocol of executors, which start workers as processes (`local.py`) or containers."""

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from ..core.text_limits import TAIL_BYTES


class CannotStart(Exception):
    """A worker cannot be started; the text is the reason."""


class Output:
    """Reads the output of a worker as it comes and keeps its end, so that it fills no memory."""

    tail = b""

    def read(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self.tail = (self.tail + piece)[-TAIL_BYTES:]


@dataclass
class Ending:
    """How a worker ended.

    `timed_out`: its timeout passed before. `host_ran_out`: the kernel killed it for want of memory.
    `exceeded_memory`: it was killed because it exceeded its memory limit.
    """

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    host_ran_out: bool = False
    exceeded_memory: bool = False


@dataclass(frozen=True)
class OwnEnvironment:
    """An environment made for the frameworks of `adapters`.

    `image` is a container image with these frameworks, if there is one. `lacking` is the reason
    why no worker can run in the environment on this machine.
    """

    name: str
    adapters: tuple[str, ...]
    image: str | None
    python: Path
    lacking: str | None


class RunningWorker(Protocol):
    """A running worker."""

    output: Output

    def fileno(self) -> int:
        """A descriptor that becomes readable when the worker ends."""

    def enforce_memory_limit(self) -> None:
        """Kills the worker if it exceeds its limit in a way that nothing else enforces."""

    def end(self, timed_out: bool = False) -> Ending:
        """Ends the worker and everything that it started; to be called once.

        Raises CannotStart if it is unknown how the worker ended.
        """


class Executor(Protocol):
    """Equal executors start workers in the same way. Executors can be hashed."""

    @property
    def parent_pid(self) -> int | None:
        """The process that a worker must not outlive; None if the worker cannot see it."""

    def start(
        self, arguments: list[str], variables: dict[str, str], writes: list[Path], memory_bytes: int
    ) -> RunningWorker:
        """Starts Python, which may write to the folders `writes`. Raises CannotStart."""

    def facts(self) -> dict[str, Any]:
        """Facts for records that workers cannot report themselves."""

    def inherited(self) -> dict[str, str]:
        """The user's environment variables that reach workers and change measurements."""

    def advice(self, environment: OwnEnvironment) -> str:
        """Advice for the user if a worker in `environment` gives no answer."""

    def inside(self, environment: OwnEnvironment) -> Self:
        """The executor for workers in `environment`. Raises CannotStart if none can run there."""


def readable_after(wait: Callable[[], object]) -> int:
    """A descriptor that becomes readable when `wait` returns in a thread; the caller closes it."""
    reader, writer = os.pipe()

    def close() -> None:
        try:
            wait()
        finally:
            os.close(writer)

    threading.Thread(target=close, daemon=True).start()
    return reader
