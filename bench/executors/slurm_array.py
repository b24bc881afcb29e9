"""An experiment as one array job of SLURM: each task runs a part of it, `snnbench run --shard 2/4`, on its own node.

All that must outlive the command that submits lies in the result folder: `job.sh` and `experiment.toml`, which no later edit
changes, `slurm.json` with the job's number, `parts/N` with what each part finds, `log/N.log` with what it says.
"""

import hashlib
import json
import os
import shlex
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from ..common.files import exclusive, write_atomically
from ..common.mistakes import ConfigError
from ..experiment.slurm import Slurm
from ..schema import Count, Name, Size, read_as
from .slurm import Job, SlurmFails, Task, submitted, with_comment

SHORTEST_S, LONGEST_S, GROWTH = 2.0, 30.0, 1.25
"""Seconds between two questions to SLURM: clusters refuse those who ask often."""
PATIENCE_S = 60.0
"""That the command waits for another that is submitting the same, and that cancelled tasks have to end."""
TRIES = 3
"""Questions that SLURM may leave without an answer before anything is submitted."""


class State(BaseModel):
    """`slurm.json`. `collected`: the job's records were merged after it had ended."""

    model_config = ConfigDict(extra="forbid", strict=True)
    job: Count
    cluster: Name | None = None
    parts: Size
    collected: bool = False


STATE = TypeAdapter(State)


@dataclass(frozen=True)
class Wanted:
    """What a folder is to hold: a config byte for byte, further arguments of `run`, and how it is submitted."""

    config: bytes
    arguments: Sequence[str]
    slurm: Slurm
    fresh: bool = False


class ArrayRun:
    """The array job of a result folder, which need not be there yet.

        run = ArrayRun(Path("results/local/mine"), wanted, parts=4)
        attached = run.start(make_folder, lambda: False)
        run.wait(show)

    Every method raises ConfigError for what the user can put right.
    """

    def __init__(self, folder: Path, wanted: Wanted, parts: int):
        self.folder, self.wanted, self.count = folder.absolute(), wanted, parts
        self.script, self.config, self.state_file = (
            self.folder / name for name in ("job.sh", "experiment.toml", "slurm.json")
        )
        self.logs = self.folder / "log"
        self.job: Job | None = None

    @property
    def number(self) -> int | None:
        """The job's, once there is one."""
        return self.job.number if self.job else None

    @property
    def parts(self) -> list[Path]:
        """The result folders of all parts."""
        return [self.folder / "parts" / str(number) for number in range(1, self.count + 1)]

    def log(self, number: int) -> Path:
        return self.logs / f"{number}.log"

    def recorded(self) -> set[str]:
        """Names of the records of all parts."""
        return {path.name for part in self.parts for path in part.glob("records/[!.]*.json")}

    def start(self, make: Callable[[], None], through: Callable[[], bool]) -> bool:
        """Submit the job, unless there is one that has not ended, or one that has and is not collected yet, whose parts came
        `through`. `make` makes the folder where it is not there; if nothing can be submitted, it goes again. Returns whether the
        job was there before."""
        made = not self.folder.exists()
        make()
        busy = ConfigError(
            f"{self.folder}: another command is submitting there; wait for it or choose another --out"
        )
        try:
            with exclusive(self.folder / "submit.lock", busy, PATIENCE_S):
                return self._found(through) or self._submit()
        except ConfigError:
            if made and not self.script.exists():
                shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def wait(
        self, show: Callable[[list[Task], str], None], sleep: Callable[[float], None] = time.sleep
    ) -> list[Task]:
        """Wait until every task has ended, and return what SLURM says of them then, nothing if it has forgotten them. `show` is
        told the tasks again and again, or what SLURM says instead of an answer, which is no end."""
        pause = SHORTEST_S
        while True:
            try:
                tasks = self._job.tasks()
                if tasks is None or all(task.ended for task in tasks):
                    return tasks or []
                show(tasks, "")
            except SlurmFails as error:
                show([], str(error))
            sleep(pause)
            pause = min(LONGEST_S, pause * GROWTH)

    def cancel(self, sleep: Callable[[float], None] = time.sleep) -> bool:
        """End the job and wait until no task is left; False if some are after a minute, or SLURM does not answer."""
        with suppress(SlurmFails):
            self.job = job = self.job or with_comment(self._comment)
            if job is None:
                return True
            job.cancel()
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end:
                with suppress(SlurmFails):
                    tasks = job.tasks()
                    if tasks is None or all(task.ended for task in tasks):
                        return True
                sleep(0.5)
        return False

    def note_collected(self) -> None:
        self._write(self._job, collected=True)

    @property
    def _job(self) -> Job:
        assert self.job is not None, "start() was not called"
        return self.job

    @property
    def _comment(self) -> str:
        """By which the job is found where a kill came between sbatch and `slurm.json`."""
        return f"snnbench:{hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:12]}"

    def _state(self) -> State | None:
        if not self.state_file.exists():
            return None
        try:
            return read_as(STATE, self.state_file)
        except (ValueError, OSError) as error:
            raise ConfigError(
                f"{self.state_file}: cannot be read: {error}; remove it if no job of this folder runs"
            ) from None

    def _found(self, through: Callable[[], bool]) -> bool:
        """Whether there is a job to attach to, or to collect."""
        state = self._state()
        if state and state.parts != self.count:
            parts = f"{state.parts} part{'s' * (state.parts > 1)}"
            raise ConfigError(
                f"{self.folder}: was begun in {parts}; set slurm.parts = {state.parts} or choose another --out"
            )
        if unknown := sorted(
            {path.name for path in self.folder.glob("records/[!.]*.json")} - self.recorded()
        ):
            raise ConfigError(
                f"{self.folder}: has records of another run, such as {unknown[0]}; choose another --out"
            )
        if job := self._alive(state):
            self._must_be_the_same(job)
            self._take(job)
        elif state and not state.collected and through():
            self.job = Job(state.job, state.cluster or "")
        return self.job is not None

    def _alive(self, state: State | None) -> Job | None:
        """The job of this folder that has not ended. SLURM must answer: nothing is submitted twice."""
        for tries_left in reversed(range(TRIES)):
            try:
                if state:
                    job = Job(state.job, state.cluster or "")
                    if any(not task.ended for task in job.tasks() or []):
                        return job
                return with_comment(self._comment)
            except SlurmFails as error:
                if not tries_left:
                    raise ConfigError(
                        f"SLURM does not say whether this runs already: {error}"
                    ) from None
                time.sleep(SHORTEST_S)
        return None

    def _must_be_the_same(self, job: Job) -> None:
        """Whoever attaches wants what runs."""
        texts = self.config.read_bytes(), self.script.read_text()
        if texts != (self.wanted.config, self._script()):
            why = f"{job} runs there, of another config or other options"
            raise ConfigError(
                f"{self.folder}: {why}; wait for it, scancel {job.number}, or choose another --out"
            )

    def _submit(self) -> bool:
        self.logs.mkdir(exist_ok=True)
        before = {
            path: path.read_bytes() if path.exists() else None
            for path in (self.config, self.script)
        }
        write_atomically(self.config, self.wanted.config)
        write_atomically(self.script, self._script())
        try:
            job = submitted(
                self.script, self.wanted.slurm.options, self.count, self._comment, self.logs
            )
        except ConfigError:
            for path, content in before.items():
                if content is None:
                    path.unlink()
                else:
                    write_atomically(path, content)
            with suppress(OSError):
                self.logs.rmdir()  # if it is empty
            raise
        self._take(job)
        return False

    def _take(self, job: Job) -> None:
        self.job = job
        self._write(job)

    def _write(self, job: Job, collected: bool = False) -> None:
        state = State(
            job=job.number, cluster=job.cluster or None, parts=self.count, collected=collected
        )
        write_atomically(self.state_file, json.dumps(state.model_dump(), indent=1) + "\n")

    def _script(self) -> str:
        """What each task runs. `exec`: so the signals of SLURM reach the command itself."""
        arguments = ["run", "--config", str(self.config), *self.wanted.arguments]
        part = f'--shard "$SLURM_ARRAY_TASK_ID/{self.count}" --out {shlex.quote(str(self.folder / "parts"))}/"$SLURM_ARRAY_TASK_ID"'
        # A part that is started once more goes on.
        fresh = ' $([ "${SLURM_RESTART_COUNT:-0}" != 0 ] || echo --fresh)' * self.wanted.fresh
        return "\n".join(
            [
                "#!/bin/bash",
                "# One part of an experiment; written by snnbench run --executor slurm. Elsewhere: give SLURM_ARRAY_TASK_ID.",
                "set -e",
                *self.wanted.slurm.prelude.splitlines(),
                f"exec {shlex.join([str(own_command()), *arguments])} {part}{fresh}",
                "",
            ]
        )


def own_command() -> Path:
    """Where this installation's `snnbench` lies, which the nodes must see too."""
    places = [Path(sys.argv[0]).absolute(), Path(sysconfig.get_path("scripts")) / "snnbench"]
    found = [path for path in places if path.name == "snnbench" and os.access(path, os.X_OK)]
    if not found:
        raise ConfigError(
            "--executor slurm: found no command snnbench that a job could start; install it: pip install snnbench"
        )
    return found[0]
