"""Launches workers, gives them orders, and says how they ended: what they reported, their last output, how long it took."""

import json
import os
import select
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from ..texts import clean
from .events import read_events, read_object
from .executor import CannotStart, Ending, Executor
from .local import LocalExecutor
from .surroundings import worker_environment

TAIL_BYTES = 4096
"""Of a worker's output, in a record."""
LONGEST_POLL_MS = 2**31 - 1
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


class Launched:
    """A worker that was started: `python -m snnbench.worker VERB`. It has `timeout` seconds, of which only those count in which
    somebody waits for it: a worker that lives with others computes nothing meanwhile.

    `job` is what the worker is given, as JSON; `variables` are its environment variables. `scratch` is made for this worker and
    always removed afterwards; in it lies `arrays`, a folder through which a worker and the judge exchange arrays. `shared` are
    other folders that the job names. Raises CannotStart.
    """

    def __init__(
        self,
        verb: str,
        job: dict[str, Any],
        scratch: Path,
        timeout: float,
        memory_bytes: int,
        variables: dict[str, str],
        executor: Executor = LocalExecutor(),
        shared: Sequence[Path] = (),
    ):
        self.scratch, self.seconds_left, self.timed_out, self.duration_s = scratch, timeout, False, 0.0
        scratch.mkdir(parents=True)
        try:
            self.events, self.output, self.arrays = scratch / "events", scratch / "output", scratch / "arrays"
            self.arrays.mkdir()
            orders, answers, job_file = scratch / "orders", scratch / "answers", scratch / "job.json"
            for pipe in (orders, answers):
                os.mkfifo(pipe)
            # Opened for both ways, they neither wait for the worker nor end with it.
            self.orders, self.answers = os.open(orders, os.O_RDWR), os.open(answers, os.O_RDWR)
            self.unread = b""
            ways = {"events": self.events, "orders": orders, "answers": answers, "arrays": self.arrays}
            places = {name: str(path) for name, path in ways.items()}
            job_file.write_text(json.dumps({**job, "parent": executor.parent, "memory_bytes": memory_bytes, **places}))
            # -P: a user's file named like a framework, in the current folder, must not hide the framework.
            arguments = ["-P", "-m", "snnbench.worker", verb, str(job_file)]
            given = {**variables, "TMPDIR": str(scratch)}
            self.running = executor.start(arguments, given, self.output, [scratch, *shared], memory_bytes)
        except BaseException:
            self._clear()
            raise

    def order(self, order: dict[str, Any]) -> dict[str, Any] | None:
        """Give an order, and wait for the answer to it."""
        os.write(self.orders, json.dumps(order).encode() + b"\n")
        return self.answer()

    def answer(self) -> dict[str, Any] | None:
        """Wait for the next answer. None: the worker has ended, or has no time left."""
        start = time.monotonic()
        try:
            while b"\n" not in self.unread:
                ready = self._ready(self.seconds_left - (time.monotonic() - start))
                self.timed_out = not ready
                if self.answers in ready:
                    self.unread += os.read(self.answers, 1 << 16)
                else:
                    return None
        finally:
            self.spend(time.monotonic() - start)
        line, _, self.unread = self.unread.partition(b"\n")
        return read_object(line) or {}

    def spend(self, seconds: float) -> None:
        """Take so many seconds from those that the worker has: somebody else computed for it."""
        self.seconds_left, self.duration_s = self.seconds_left - seconds, self.duration_s + seconds

    def _ready(self, seconds: float) -> list[int]:
        """Of the answers and the worker's end, what there is within so many seconds; answers first."""
        poll = select.poll()
        for descriptor in (self.answers, self.running.fileno()):
            poll.register(descriptor, select.POLLIN)
        return [descriptor for descriptor, _ in poll.poll(min(max(seconds, 0.0) * 1e3, LONGEST_POLL_MS))]

    def end(self) -> Outcome:
        """End the worker, if it has not ended, and say how it ended."""
        try:
            ending = self.running.end(self.timed_out)
            tail = _output_tail(self.output)
            return Outcome(**vars(ending), events=read_events(self.events), output_tail=tail, duration_s=self.duration_s)
        except CannotStart as error:
            return not_started(error)
        finally:
            self._clear()

    def _clear(self) -> None:
        for descriptor in (getattr(self, name, None) for name in ("orders", "answers")):
            if descriptor is not None:
                os.close(descriptor)
        shutil.rmtree(self.scratch, ignore_errors=True)
        with suppress(OSError):
            self.scratch.parent.rmdir()


def not_started(error: CannotStart) -> Outcome:
    """The outcome of a worker that could not be started: an environment, an image or an engine may vanish during a run."""
    failed: dict[str, Any] = {"part": "import", "status": "env_error", "reason": str(error)}
    return Outcome(exit_code=127, events=[failed, {"part": "end", "cpu_seconds": 0.0}], output_tail=str(error))


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
    """Launch a worker that gives no answers, and wait for its end; the arguments are those of `Launched`."""
    try:
        launched = Launched(verb, job, scratch, timeout, memory_bytes, variables, executor, shared)
    except CannotStart as error:
        return not_started(error)
    try:
        launched.answer()
    finally:
        outcome = launched.end()
    return outcome


def launch_apart(verb: str, job: dict[str, Any], device: str, timeout: float, executor: Executor = LocalExecutor()) -> Outcome:
    """Launch a worker outside a run, with all cores. It sees GPUs unless `device` is the CPU."""
    with scratch_apart() as scratch:
        return launch(verb, job, scratch / verb, timeout, APART_MEMORY_BYTES, worker_environment(device, 0), executor)


@contextmanager
def scratch_apart() -> Iterator[Path]:
    """The folder of this command's workers outside a run. Those that killed commands left behind are removed."""
    folders = Path(tempfile.gettempdir()) / f"snnbench-{os.getuid()}"
    for folder in folders.glob("*"):
        if not (folder.name.isdigit() and psutil.pid_exists(int(folder.name))):
            shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folders / str(os.getpid())
    finally:
        for folder in (folders / str(os.getpid()), folders):
            with suppress(OSError):
                folder.rmdir()


def _output_tail(path: Path) -> str:
    """The last 4 KiB of output, cleaned, with `SCRATCH` for the worker's folder."""
    with open(path, "rb") as stream:
        stream.seek(max(path.stat().st_size - TAIL_BYTES, 0))
        text = stream.read().decode("utf-8", "replace")
    return str(clean(text.replace(str(path.parent), "SCRATCH")))
