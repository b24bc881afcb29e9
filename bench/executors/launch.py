"""Launches workers, gives them orders, and says how they ended: what they reported, their last output, how long it took."""

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
from ..workloads.own import texts
from .events import MOST_BYTES, read_events, read_object
from .executor import TAIL_BYTES, CannotStart, Ending, Executor
from .local import LocalExecutor
from .surroundings import worker_environment

MOST_ANSWER_BYTES = 1 << 20
"""Of one answer: arrays are files."""
LOOKS_S = 0.25
"""How often the memory of a worker is looked at while somebody waits for it."""
CUT_WORD = re.compile(r"\A\S{1,512}(?=\s)")
"""What a cut text begins with: it may be a part of a path that names somebody."""
APART_MEMORY_BYTES = 16 * 2**30
"""That a worker outside a run may use."""


class NoAnswerInTime(RuntimeError):
    """A worker was stopped before it had answered."""


@dataclass
class Outcome(Ending):
    """How a worker ended, the events that it reported, and the end of its output. `fault` is in words why it was ended before its
    time, if it was."""

    fault: str | None = None
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
        """The event named `part`. Raises RuntimeError with the worker's last line of output if there is none, NoAnswerInTime if
        it was stopped."""
        for event in self.events:
            if event["part"] == part:
                return event
        if self.timed_out:
            raise NoAnswerInTime(f"the worker gave no answer within {self.duration_s:.0f} s")
        raise RuntimeError(
            (self.output_tail.strip().splitlines() or ["the worker gave no answer"])[-1]
        )


class Launched:
    """A worker that was started: `python -m snnbench.worker VERB`. It has `timeout` seconds, of which only those count in which
    somebody waits for it: a worker that lives with others computes nothing meanwhile.

    `job` is what the worker is given, as JSON; `variables` are its environment variables. Its folder is made in `scratch`, with a
    name that begins with `name`, and always removed afterwards; `arrays` in it is where a worker and the judge exchange arrays.
    `shared` are other folders that the job names. Raises CannotStart.

    What the worker does to its folder touches nobody else: events and pipes are open here from the beginning.
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
        name: str = "",
    ):
        self.seconds_left, self.timed_out, self.duration_s, self.unread = timeout, False, 0.0, b""
        self.fault: str | None = None
        self.most_bytes = MOST_BYTES[verb == "describe"]
        self.open: list[int] = []
        with naming(scratch):
            scratch.mkdir(parents=True, exist_ok=True)
            self.folder = Path(tempfile.mkdtemp(prefix=f"{name or verb}-", dir=scratch))
        try:
            with naming(self.folder):
                places = {
                    what: self.folder / what
                    for what in ("events", "orders", "answers", "arrays", "temporary")
                }
                self.arrays, job_file = places["arrays"], self.folder / "job.json"
                for place in (self.arrays, places["temporary"]):
                    place.mkdir()
                for pipe in ("orders", "answers"):
                    os.mkfifo(places[pipe])
                self.events = self._opened(places["events"], os.O_RDONLY | os.O_CREAT | os.O_EXCL)
                # Opened for both ways, they neither wait for the worker nor end with it.
                self.orders, self.answers = (
                    self._opened(places[pipe], os.O_RDWR | os.O_NONBLOCK)
                    for pipe in ("orders", "answers")
                )
                given = {"parent": executor.parent, "memory_bytes": memory_bytes} | {
                    what: str(at) for what, at in places.items()
                }
                job_file.write_text(json.dumps({**job, **given, "networks": texts()}))
            # -P: a user's file named like a framework, in the current folder, must not hide the framework.
            arguments = ["-P", "-m", "snnbench.worker", verb, str(job_file)]
            # The adapter may do to its temporary folder what it likes.
            surroundings = {**variables, "TMPDIR": str(places["temporary"])}
            self.running = executor.start(
                arguments, surroundings, [self.folder, *shared], memory_bytes
            )
        except BaseException:
            self._clear()
            raise

    def _opened(self, path: Path, how: int) -> int:
        self.open.append(os.open(path, how, 0o600))
        return self.open[-1]

    def order(
        self, order: dict[str, Any], stop_after: float | None = None
    ) -> dict[str, Any] | None:
        """Give an order, and wait for the answer to it. After so many seconds the worker is told to stop what it does for it."""
        given, start = self._gave(order), time.monotonic()
        if given and stop_after is not None:
            answered = self._ready(start, self.answers, select.POLLIN, stop_after)
            self.spend(time.monotonic() - start)
            given = answered or self._gave({"stop": True})
        return self.answer() if given else None

    def _gave(self, order: dict[str, Any]) -> bool:
        unwritten, start = json.dumps(order).encode() + b"\n", time.monotonic()
        while unwritten and self._ready(start, self.orders, select.POLLOUT):
            with suppress(BlockingIOError):  # the worker can write to its own pipes
                unwritten = unwritten[os.write(self.orders, unwritten) :]
        self.spend(time.monotonic() - start)
        return not unwritten

    def answer(self) -> dict[str, Any] | None:
        """Wait for the next answer. None: the worker has ended, has no time left, or answers more than anybody asked for.
        Raises OSError if it found the disk full when the harness wrote: that is nobody's case."""
        start = time.monotonic()
        while b"\n" not in self.unread and self._ready(start, self.answers, select.POLLIN):
            with suppress(BlockingIOError):  # and read from them
                self.unread += os.read(self.answers, 1 << 16)
            if len(self.unread) > MOST_ANSWER_BYTES:
                self.fault, self.unread = (
                    f"its worker gave an answer of more than {MOST_ANSWER_BYTES >> 20} MiB",
                    b"",
                )
                break
        self.spend(time.monotonic() - start)
        line, newline, self.unread = self.unread.partition(b"\n")
        answer = (read_object(line) or {}) if newline else None
        if answer and "no_room" in answer:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder.parent))
        return answer

    def spend(self, seconds: float) -> None:
        """Take so many seconds from those that the worker has: somebody else computed for it."""
        self.seconds_left, self.duration_s = self.seconds_left - seconds, self.duration_s + seconds

    def _ready(self, start: float, pipe: int, event: int, most: float = inf) -> bool:
        """Wait until `event` can be had of a pipe; False if the worker has ended before, or has no time left since `start`, or
        if `most` seconds are over. Who was out of time once stays so: what it does while it waits for its end comes too late."""
        poll = select.poll()
        poll.register(pipe, event)
        poll.register(self.running.fileno(), select.POLLIN)
        while not (self.fault or self.timed_out):
            left = min(self.seconds_left, most) - (time.monotonic() - start)
            ready = [descriptor for descriptor, _ in poll.poll(min(max(left, 0.0), LOOKS_S) * 1e3)]
            if ready:
                return pipe in ready
            if left <= 0:
                self.timed_out = self.seconds_left <= most
                break
            self.running.check_memory()
        return False

    def end(self) -> Outcome:
        """End the worker, if it has not ended, and say how it ended."""
        try:
            ending = self.running.end(self.timed_out)
            written = os.fstat(self.events).st_size
            if written > self.most_bytes:
                self.fault, written = (
                    f"its worker reported more than {self.most_bytes >> 20} MiB",
                    0,
                )
            events = read_events(os.pread(self.events, written, 0))
            tail = self.running.output.tail
            text = tail.decode("utf-8", "replace")
            text = CUT_WORD.sub("…", text) if len(tail) == TAIL_BYTES else text
            text = str(clean(text.replace(str(self.folder), "SCRATCH")))
            return Outcome(
                **vars(ending),
                fault=self.fault,
                events=events,
                output_tail=text,
                duration_s=self.duration_s,
            )
        except CannotStart as error:
            return not_started(error)
        finally:
            self._clear()

    def _clear(self) -> None:
        for descriptor in self.open:
            os.close(descriptor)
        shutil.rmtree(self.folder, ignore_errors=True)


def not_started(error: CannotStart) -> Outcome:
    """The outcome of a worker that could not be started: an environment, an image or an engine may vanish during a run."""
    failed: dict[str, Any] = {"part": "import", "status": "env_error", "reason": str(error)}
    return Outcome(
        exit_code=127, events=[failed, {"part": "end", "cpu_seconds": 0.0}], output_tail=str(error)
    )


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


def launch_apart(
    verb: str,
    job: dict[str, Any],
    device: str,
    timeout: float,
    executor: Executor = LocalExecutor(),
) -> Outcome:
    """Launch a worker outside a run, with all cores. It sees GPUs unless `device` is the CPU."""
    with scratch_apart() as scratch:
        return launch(
            verb, job, scratch, timeout, APART_MEMORY_BYTES, worker_environment(device, 0), executor
        )


def scratch_apart() -> AbstractContextManager[Path]:
    """A folder for workers outside a run."""
    return own_folder(Path(tempfile.gettempdir()))
