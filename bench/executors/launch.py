"""Has one worker started, and says how it ended: the events that it reported, its output, its time."""

import json
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from .executor import CannotStart, Ending, Executor
from .local import LocalExecutor

TAIL = 4096


@dataclass
class Outcome(Ending):
    """How a worker ended, the events that it reported, and the end of its output."""

    events: list[dict] = field(default_factory=list)
    output_tail: str = ""
    duration_s: float = 0.0

    @property
    def complete(self) -> bool:
        return bool(self.events) and self.events[-1]["part"] == "end"

    @property
    def cpu_seconds(self) -> float | None:
        return self.events[-1]["cpu_seconds"] if self.complete else None

    def answer(self, part: str) -> dict:
        """The event of a worker that was asked one thing. Raises RuntimeError with its last words if it did not answer."""
        for event in self.events:
            if event["part"] == part:
                return event
        raise RuntimeError(self.output_tail.strip().splitlines()[-1] if self.output_tail.strip() else "the worker gave no answer")


def launch(
    verb: str,
    job: dict,
    scratch: Path,
    timeout: float,
    memory_bytes: int,
    environment: dict[str, str],
    executor: Executor = LocalExecutor(),
    shared: list[Path] = (),
) -> Outcome:
    """Have `executor` run `python -m snnbench.worker VERB` to its end or to `timeout` seconds.

    `scratch` is made for this worker and removed afterwards, whatever happens; `shared` are the folders that the job names
    beside it. A worker that cannot be started gives an outcome with the status env_error: an environment, an image or an
    engine may vanish while a run is using it.
    """
    scratch.mkdir(parents=True)
    try:
        return _launch(verb, job, scratch, timeout, memory_bytes, environment, executor, shared)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):
            scratch.parent.rmdir()


@contextmanager
def temporary_scratch():
    """A folder for workers outside a run. What a killed command left behind is removed by the next one."""
    everyone = Path(tempfile.gettempdir()) / f"snnbench-{os.getuid()}"
    mine = everyone / str(os.getpid())
    if everyone.is_dir():
        for folder in everyone.iterdir():
            if not (folder.name.isdigit() and psutil.pid_exists(int(folder.name))):
                shutil.rmtree(folder, ignore_errors=True)
    try:
        yield mine
    finally:
        shutil.rmtree(mine, ignore_errors=True)
        with suppress(OSError):
            everyone.rmdir()


def _launch(verb, job, scratch, timeout, memory_bytes, environment, executor, shared):
    events, output, job_file = scratch / "events", scratch / "output", scratch / "job.json"
    job = {**job, "parent": executor.parent, "memory_bytes": memory_bytes, "events": str(events)}
    job_file.write_text(json.dumps(job))
    # -P: a user's file named like a framework, in the current folder, must not hide the framework.
    arguments = ["-P", "-m", "snnbench.worker", verb, str(job_file)]
    start = time.monotonic()
    try:
        ending = executor.run(arguments, {**environment, "TMPDIR": str(scratch)}, scratch, list(shared), timeout, memory_bytes)
    except CannotStart as error:
        said = [{"part": "import", "status": "env_error", "reason": str(error)}, {"part": "end", "cpu_seconds": 0.0}]
        return Outcome(exit_code=127, events=said, output_tail=str(error))
    duration = time.monotonic() - start
    return Outcome(**vars(ending), events=_read_events(events), output_tail=_tail(output), duration_s=duration)


def _read_events(path: Path) -> list[dict]:
    """Whole lines only: a killed worker may have been in the middle of one."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _tail(path: Path) -> str:
    """The last 4 KiB of output, the user's home folder taken out."""
    with open(path, "rb") as stream:
        stream.seek(max(path.stat().st_size - TAIL, 0))
        text = stream.read().decode("utf-8", "replace")
    return text.replace(str(Path.home()), "~").replace(str(path.parent), "SCRATCH")
