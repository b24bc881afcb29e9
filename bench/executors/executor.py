"""The protocol of what starts workers: as processes of this machine (`local.py`) or as containers (`docker.py`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self


class CannotStart(Exception):
    """A worker could not be started; the text says why."""


@dataclass
class Ending:
    """How a worker ended. `timed_out`: it was stopped; `host_ran_out`: the kernel killed it for want of memory."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    host_ran_out: bool = False


@dataclass(frozen=True)
class OwnEnvironment:
    """An environment made for the frameworks of `adapters`. `image`: a container image that holds them in its own Python, if
    there is one; `lacking`: why no worker can run in it on this machine, None if one can."""

    name: str
    adapters: tuple[str, ...]
    image: str | None
    python: Path
    lacking: str | None


class Executor(Protocol):
    """Equal executors give workers the same surroundings. They can be hashed."""

    @property
    def parent(self) -> int | None:
        """The process that a worker dies with; None if the worker cannot see it."""

    def run(
        self, arguments: list[str], variables: dict[str, str], output: Path, writes: list[Path], timeout: float, memory_bytes: int
    ) -> Ending:
        """Run Python with `arguments` to its end or to `timeout` seconds, then end everything that it started. Its output goes
        to the file `output` as it comes; `writes` are the folders that it reads and writes. Raises CannotStart."""

    def facts(self) -> dict[str, Any]:
        """Facts for records about where workers run, beyond those that workers report themselves."""

    def inherited(self) -> dict[str, str]:
        """The user's environment variables that workers see and that change what frameworks do."""

    def advice(self, environment: OwnEnvironment) -> str:
        """Advice for the user if workers in `environment` give no answer."""

    def at_home(self, environment: OwnEnvironment) -> Self:
        """The executor for workers in `environment`. Raises CannotStart if there can be none."""
