"""What starts workers: processes of this machine (`processes.py`) or containers (`containers.py`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class CannotStart(Exception):
    """A worker could not be started; the text says why."""


@dataclass
class Ending:
    """How a worker ended: its exit code or signal, and why it was stopped, if it was."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    host_ran_out: bool = False


class Executor(Protocol):
    """Equal executors give workers the same surroundings; they may be keys."""

    parent: int | None
    """The process that a worker dies with, None if it cannot see it."""

    def run(
        self,
        arguments: list[str],
        variables: dict[str, str],
        scratch: Path,
        shared: list[Path],
        timeout: float,
        memory_bytes: int,
    ) -> Ending:
        """Run Python with `arguments` to its end or to `timeout` seconds, then end everything that it started.

        Its output goes to `scratch / "output"` as it comes. `shared` are folders beside `scratch` that it reads and writes.
        Raises CannotStart.
        """

    def facts(self) -> dict[str, Any]:
        """What a record should say of it beyond what an environment says of itself."""

    def inherited(self) -> dict[str, str]:
        """Variables of the user's that change what frameworks do and that workers see."""

    def advice(self, environment) -> str:
        """What to do if workers in another environment give no answer."""

    def at_home(self, environment) -> tuple["Executor | None", str | None]:
        """The executor for workers in another environment (of `environments.py`), or why there can be none."""
