"""Launches workers, sends them orders, and collects their events and how they ended."""

import errno
import json
import os
import re
import select
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from ..common.files import naming, own_folder
from ..common.texts import clean
from ..core.network import TEXTS
from ..core.text_limits import TAIL_BYTES
from .events import MOST_BYTES, read_events, read_object
from .executor import CannotStart, Ending, Executor
from .local import LocalExecutor
from .variables import worker_environment

MOST_ANSWER_BYTES = 1 << 20
"""Limit of one answer; arrays are exchanged as files."""
MEMORY_POLL_S = 0.25
"""Seconds between two checks of a worker's memory while the harness waits for it."""
CUT_WORD = re.compile(r"\A\S{1,512}(?=\s)")
"""The first word of a cut text. It is dropped: it may be a part of a path with a user's name."""
APART_MEMORY_BYTES = 16 * 2**30
"""Memory limit of a worker outside a run."""
HARNESS_S = 600.0
"""Least seconds for each piece of work of the harness, such as the oracle's free run."""
FAREWELL_S = 120.0
"""Least seconds for the end of a worker, in which the harness measures the best rates of the
device."""


class NoAnswerInTime(RuntimeError):
    """A worker was stopped before it had answered."""


@dataclass
class Outcome(Ending):
    """How a worker ended, with its events and the end of its output.

    `fault` says why the harness ended the worker early. `duration_s` holds the `judged_s` seconds
    in which the judge computed.
    """

    fault: str | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    output_tail: str = ""
    duration_s: float = 0.0
    judged_s: float = 0.0

    @property
    def complete(self) -> bool:
        """True if the worker reported its end."""
        return bool(self.events) and self.events[-1]["part"] == "end"

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time of the worker and its children; None if the worker did not report its end."""
        return self.events[-1]["cpu_seconds"] if self.complete else None

    def answer(self, part: str) -> dict[str, Any]:
        """Returns the event named `part`.

        Raises NoAnswerInTime if there is none and the worker was stopped, else RuntimeError with
        the last line of its output.
        """
        for event in self.events:
            if event["part"] == part:
                return event
        if self.timed_out:
            raise NoAnswerInTime(f"the worker gave no answer within {self.duration_s:.0f} s")
        lines = self.output_tail.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else "the worker gave no answer")


@dataclass(frozen=True)
class Surroundings:
    """Where and within which limits a worker runs.

    The worker's folder is made in `scratch`; `shared` are further folders that its job names.
    `timeout` is in seconds. `variables` are added to its environment.
    """

    scratch: Path
    timeout: float
    memory_bytes: int = APART_MEMORY_BYTES
    variables: dict[str, str] = field(default_factory=dict)
    executor: Executor = field(default_factory=LocalExecutor)
    shared: Sequence[Path] = ()


class Launched:
    """A running worker: `python -m snnbench.worker VERB JOB`. Raises CannotStart.

    The timeout counts only while the harness waits for this worker: workers that are alive
    together take turns. `job` is written as JSON. The worker's folder, named after `name`, is
    removed at the end; the worker and the judge exchange arrays in its subfolder `arrays`. Events
    and pipes are opened before the worker starts, so that it cannot harm the harness by what it
    does to its folder.
    """

    def __init__(
        self, verb: str, job: dict[str, Any], surroundings: Surroundings, name: str = ""
    ) -> None:
        self.timeout = self.seconds_left = surroundings.timeout
        self.duration_s, self.judged_s = 0.0, 0.0
        self.timed_out, self.unread = False, b""
        self.fault: str | None = None
        self.most_bytes = MOST_BYTES[verb == "describe"]
        self.open: list[int] = []
        with naming(surroundings.scratch):
            surroundings.scratch.mkdir(parents=True, exist_ok=True)
            self.folder = Path(
                tempfile.mkdtemp(prefix=f"{name or verb}-", dir=surroundings.scratch)
            )
        try:
            job_file = self._make_files(job, surroundings)
            # -P: a file in the current folder that is named like a framework must not hide it.
            self.running = surroundings.executor.start(
                ["-P", "-m", "snnbench.worker", verb, str(job_file)],
                {**surroundings.variables, "TMPDIR": str(self.folder / "temporary")},
                [self.folder, *surroundings.shared],
                surroundings.memory_bytes,
            )
        except BaseException:
            self._clear()
            raise

    def _make_files(self, job: dict[str, Any], surroundings: Surroundings) -> Path:
        names = ("events", "orders", "answers", "arrays", "temporary")
        paths = {name: self.folder / name for name in names}
        self.arrays, job_file = paths["arrays"], self.folder / "job.json"
        with naming(self.folder):
            for name in ("arrays", "temporary"):
                paths[name].mkdir()
            for name in ("orders", "answers"):
                os.mkfifo(paths[name])
            self.events = self._opened(paths["events"], os.O_RDONLY | os.O_CREAT | os.O_EXCL)
            # Opened for reading and writing, a pipe neither blocks nor ends with the worker.
            pipe_flags = os.O_RDWR | os.O_NONBLOCK
            self.orders = self._opened(paths["orders"], pipe_flags)
            self.answers = self._opened(paths["answers"], pipe_flags)
            harness = {
                "parent": surroundings.executor.parent_pid,
                "memory_bytes": surroundings.memory_bytes,
                "networks": TEXTS,
            }
            job_file.write_text(
                json.dumps({**job, **harness, **{name: str(path) for name, path in paths.items()}})
            )
        return job_file

    def _opened(self, path: Path, flags: int) -> int:
        self.open.append(os.open(path, flags, 0o600))
        return self.open[-1]

    def order(
        self, order: dict[str, Any], stop_after: float | None = None, judged: bool = False
    ) -> dict[str, Any] | None:
        """Sends an order and returns the answer; tells the worker to stop after `stop_after` s.
        `judged`: the stop order asks for the result of the last call."""
        start = time.monotonic()
        is_sent = self._send(order)
        if is_sent and stop_after is not None:
            answered = self._ready(start, self.answers, select.POLLIN, stop_after)
            self.spend(time.monotonic() - start)
            is_sent = answered or self._send({"stop": True, "judged": judged})
        return self.answer() if is_sent else None

    def _send(self, order: dict[str, Any]) -> bool:
        unwritten, start = json.dumps(order).encode() + b"\n", time.monotonic()
        while unwritten and self._ready(start, self.orders, select.POLLOUT):
            with suppress(BlockingIOError):  # the worker can fill its own pipes
                unwritten = unwritten[os.write(self.orders, unwritten) :]
        self.spend(time.monotonic() - start)
        return not unwritten

    def answer(self) -> dict[str, Any] | None:
        """Waits for the next answer and returns it.

        Returns None if the worker has ended, is out of time or answers too much. Raises OSError
        if the disk was full while harness code in the worker wrote: no case is to blame.
        """
        start = time.monotonic()
        while b"\n" not in self.unread and self._ready(start, self.answers, select.POLLIN):
            with suppress(BlockingIOError):  # the worker can read its own pipes
                self.unread += os.read(self.answers, 1 << 16)
            if len(self.unread) > MOST_ANSWER_BYTES:
                self.fault = f"its worker gave an answer of more than {MOST_ANSWER_BYTES >> 20} MiB"
                self.unread = b""
                break
        self.spend(time.monotonic() - start)
        line, newline, self.unread = self.unread.partition(b"\n")
        answer = (read_object(line) or {}) if newline else None
        if answer and "no_room" in answer:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder.parent))
        return answer

    def farewell(self) -> None:
        """Orders the worker to end, and waits until it has done so. A worker that is not yet out
        of time has FAREWELL_S, for the harness measures in it now."""
        self.seconds_left = max(self.seconds_left, FAREWELL_S)
        self.order({"end": True})

    def spend(self, seconds: float) -> None:
        """Subtracts `seconds` from the time that this worker has left."""
        self.seconds_left, self.duration_s = self.seconds_left - seconds, self.duration_s + seconds

    def note_judging(self, seconds: float) -> None:
        """Notes `seconds` in which the judge computed for this worker, which lose it no time."""
        self.duration_s, self.judged_s = self.duration_s + seconds, self.judged_s + seconds

    def _ready(self, start: float, pipe: int, event: int, most: float = inf) -> bool:
        """Waits until `event` occurs on a pipe; False if it does not.

        That is when the worker has ended, is out of time (counted from `start`), or `most` seconds
        have passed. A timeout is final: what the worker still sends comes too late.
        """
        poll = select.poll()
        poll.register(pipe, event)
        poll.register(self.running.fileno(), select.POLLIN)
        while not (self.fault or self.timed_out):
            remaining = min(self.seconds_left, most) - (time.monotonic() - start)
            pause_ms = min(max(remaining, 0.0), MEMORY_POLL_S) * 1e3
            ready = [descriptor for descriptor, _ in poll.poll(pause_ms)]
            if ready:
                return pipe in ready
            if remaining <= 0:
                self.timed_out = self.seconds_left <= most
                break
            self.running.enforce_memory_limit()
        return False

    def end(self) -> Outcome:
        """Ends the worker, if it has not ended, and returns how it ended."""
        try:
            ending = self.running.end(self.timed_out)
            written = os.fstat(self.events).st_size
            if written > self.most_bytes:
                self.fault = f"its worker reported more than {self.most_bytes >> 20} MiB"
                written = 0
            return Outcome(
                **vars(ending),
                fault=self.fault,
                events=read_events(os.pread(self.events, written, 0)),
                output_tail=self._output_tail(),
                duration_s=self.duration_s,
                judged_s=self.judged_s,
            )
        except CannotStart as error:
            return not_started(error)
        finally:
            self._clear()

    def _output_tail(self) -> str:
        tail = self.running.output.tail
        text = tail.decode("utf-8", "replace")
        text = CUT_WORD.sub("…", text) if len(tail) == TAIL_BYTES else text
        return str(clean(text.replace(str(self.folder), "SCRATCH")))

    def _clear(self) -> None:
        for descriptor in self.open:
            os.close(descriptor)
        shutil.rmtree(self.folder, ignore_errors=True)


def not_started(error: CannotStart) -> Outcome:
    """The outcome of a worker if its environment, image or engine vanished during a run."""
    failed: dict[str, Any] = {"part": "import", "status": "env_error", "reason": str(error)}
    return Outcome(
        exit_code=127, events=[failed, {"part": "end", "cpu_seconds": 0.0}], output_tail=str(error)
    )


def launch(verb: str, job: dict[str, Any], surroundings: Surroundings) -> Outcome:
    """Launches a worker that gives no answers and waits for its end."""
    try:
        launched = Launched(verb, job, surroundings)
    except CannotStart as error:
        return not_started(error)
    try:
        launched.answer()
    finally:
        outcome = launched.end()
    return outcome


def launch_apart(
    verb: str,
    job: dict[str, Any],
    device: str,
    timeout: float,
    executor: Executor = LocalExecutor(),
) -> Outcome:
    """Launches a worker outside a run, with all cores, and with GPUs unless `device` is the CPU."""
    variables = worker_environment(device, 0)
    with scratch_apart() as scratch:
        surroundings = Surroundings(scratch, timeout, variables=variables, executor=executor)
        return launch(verb, job, surroundings)


def scratch_apart() -> AbstractContextManager[Path]:
    """A temporary folder for workers outside a run."""
    return own_folder(Path(tempfile.gettempdir()))
