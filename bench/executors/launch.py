"""Launches one worker and says how it ended: the events that it reported, the end of its output, and how long it took."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from .executor import CannotStart, Ending, Executor
from .local import LocalExecutor
from .surroundings import worker_environment

TAIL_BYTES = 4096
"""Of a worker's output, in a record."""
APART_MEMORY_BYTES = 16 * 2**30
"""That a worker outside a run may use."""


@dataclass
class Outcome(Ending):
    """How a worker ended, the events that it reported, and the end of its output."""

    events: list[dict[str, Any]] = field(default_factory=list)
    output_tail: str = ""
    duration_s: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether the worker came to its end."""
        return bool(self.events) and self.events[-1]["part"] == "end"

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time of the worker and of what it started; None if it did not come to its end."""
        return self.events[-1]["cpu_seconds"] if self.complete else None

    def answer(self, part: str) -> dict[str, Any]:
        """The event named `part`. Raises RuntimeError with the worker's last line of output if there is none."""
        for event in self.events:
            if event["part"] == part:
                return event
        raise RuntimeError((self.output_tail.strip().splitlines() or ["the worker gave no answer"])[-1])


def launch(
    verb: str,
    job: dict[str, Any],
    scratch: Path,
    timeout: float,
    memory_bytes: int,
    variables: dict[str, str],
    executor: Executor = LocalExecutor(),
    shared: Sequence[Path] = (),
) -> Outcome:
    """Have `executor` run `python -m snnbench.worker VERB` to its end or to `timeout` seconds.

    `job` is what the worker is given, as JSON; `variables` are its environment variables. `scratch` is made for this worker and
    always removed afterwards; `shared` are other folders that the job names. A worker that cannot be started gives an
    outcome with the status env_error: an environment, an image or an engine may vanish during a run.
    """
    scratch.mkdir(parents=True)
    try:
        events, output, job_file = scratch / "events", scratch / "output", scratch / "job.json"
        job = {**job, "parent": executor.parent, "memory_bytes": memory_bytes, "events": str(events)}
        job_file.write_text(json.dumps(job))
        # -P: a user's file named like a framework, in the current folder, must not hide the framework.
        arguments = ["-P", "-m", "snnbench.worker", verb, str(job_file)]
        start = time.monotonic()
        ending = executor.run(arguments, {**variables, "TMPDIR": str(scratch)}, output, [scratch, *shared], timeout, memory_bytes)
        duration = time.monotonic() - start
        return Outcome(**vars(ending), events=_read_events(events), output_tail=_output_tail(output), duration_s=duration)
    except CannotStart as error:
        failed: dict[str, Any] = {"part": "import", "status": "env_error", "reason": str(error)}
        return Outcome(exit_code=127, events=[failed, {"part": "end", "cpu_seconds": 0.0}], output_tail=str(error))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):
            scratch.parent.rmdir()


def launch_apart(verb: str, job: dict[str, Any], device: str, timeout: float, executor: Executor = LocalExecutor()) -> Outcome:
    """Launch a worker outside a run, with all cores. It sees GPUs unless `device` is the CPU. Scratch folders that killed
    commands left behind are removed."""
    folders = Path(tempfile.gettempdir()) / f"snnbench-{os.getuid()}"
    for folder in folders.glob("*"):
        if not (folder.name.isdigit() and psutil.pid_exists(int(folder.name))):
            shutil.rmtree(folder, ignore_errors=True)
    scratch = folders / str(os.getpid()) / verb
    try:
        return launch(verb, job, scratch, timeout, APART_MEMORY_BYTES, worker_environment(device, 0), executor)
    finally:
        with suppress(OSError):
            folders.rmdir()


def _read_events(path: Path) -> list[dict[str, Any]]:
    """Only whole lines: a worker may be killed in the middle of one."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _output_tail(path: Path) -> str:
    """The last 4 KiB of output, with `~` for the user's home folder and `SCRATCH` for the worker's."""
    with open(path, "rb") as stream:
        stream.seek(max(path.stat().st_size - TAIL_BYTES, 0))
        text = stream.read().decode("utf-8", "replace")
    return text.replace(str(Path.home()), "~").replace(str(path.parent), "SCRATCH")
