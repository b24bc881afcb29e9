"""An experiment as one array job of SLURM: each task runs one part on its node.

Only sbatch, squeue and scancel are called; many clusters have no accounting. Everything that must
outlive the submitting command lies in the result folder: `job.sh` and `experiment.toml`, which
no later edit changes, `slurm.json` with the job's number, `parts/N` and `log/N.log`.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..common.files import exclusive, write_atomically
from ..common.mistakes import ConfigError, in_words
from ..common.texts import clean, cut
from ..schema import parsed

COMMAND_TIMEOUT_S = 120.0
"""Time limit of a command of SLURM: a busy controller takes many seconds."""
POLL_S, MOST_POLL_S, POLL_GROWTH = 2.0, 30.0, 1.25
"""Pauses between two calls of squeue: clusters refuse clients that call it often."""
PATIENCE_S = 60.0
"""Longest wait for another command that submits the same, and for cancelled tasks to end."""
USER_VARIABLES = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT")
"""The variables of SLURM that commands keep. Others are limits of the job they are called from."""


class SlurmError(Exception):
    """A command of SLURM failed; the text is its message."""


@dataclass
class ArrayJob:
    """The array job of a result folder. Its tasks run `snnbench run` on a copy of `config`.

    `number` is None before it is submitted. `collected`: it has ended, all parts are merged.
    """

    folder: Path
    parts: int
    config: bytes
    arguments: Sequence[str]
    options: Sequence[str] = ()
    prelude: str = ""
    fresh: bool = False
    number: int | None = None
    cluster: str | None = None
    collected: bool = False

    def __post_init__(self) -> None:
        self.folder = self.folder.absolute()
        self.script, self.state = self.folder / "job.sh", self.folder / "slurm.json"
        self.config_copy = self.folder / "experiment.toml"
        self.part_folders = [self.folder / "parts" / str(n) for n in range(1, self.parts + 1)]
        # The job is found by its comment if a kill came between sbatch and `slurm.json`.
        digest = hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()
        self.comment = f"snnbench:{digest[:12]}"

    def recorded(self) -> set[str]:
        """File names of the records of all parts."""
        return {path.name for part in self.part_folders for path in part.glob("records/[!.]*.json")}

    def start(self, make_folder: Callable[[], None], is_complete: Callable[[], bool]) -> bool:
        """Attaches to this folder's job, or submits one; returns True if it attached.

        A job that has ended is attached to if all parts are complete and not yet merged. Raises
        ConfigError if nothing can be submitted; then a new folder is removed.
        """
        is_new = not self.folder.exists()
        make_folder()
        advice = "another command is submitting there; wait for it or choose another --out"
        busy = ConfigError(f"{self.folder}: {advice}")
        try:
            with exclusive(self.folder / "submit.lock", busy, PATIENCE_S):
                return self._attach(is_complete) or self._submit()
        except ConfigError:
            if is_new and not self.state.exists():
                shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _spare_files(self) -> None:
        """Raises ConfigError if a file that is not of a job would be replaced."""
        written = {self.config_copy: self.config, self.script: self._script_text().encode()}
        for path, content in written.items():
            if path.exists() and not self.state.exists() and path.read_bytes() != content:
                fault = f"has another {path.name}, which is not replaced"
                raise ConfigError(f"{self.folder}: {fault}; choose another --out")

    def _attach(self, is_complete: Callable[[], bool]) -> bool:
        self._load()
        records = {record.name for record in self.folder.glob("records/[!.]*.json")}
        if foreign := sorted(records - self.recorded()):
            fault = f"has records of another run, such as {foreign[0]}"
            raise ConfigError(f"{self.folder}: {fault}; choose another --out")
        try:
            if not self.tasks():
                return self.number is not None and not self.collected and is_complete()
        except SlurmError as error:
            raise ConfigError(f"SLURM does not say whether this runs already: {error}") from None
        texts = self.config_copy.read_bytes(), self.script.read_text()
        if texts != (self.config, self._script_text()):
            fault = f"job {self.number} runs there, of another config or other options"
            advice = f"wait for it, scancel {self.number}, or choose another --out"
            raise ConfigError(f"{self.folder}: {fault}; {advice}")
        return True

    def write(self) -> None:
        """Writes the script and the copy of the config; submits nothing and needs no SLURM. Raises
        ConfigError if a file that is not of a job would be replaced."""
        self._spare_files()
        (self.folder / "log").mkdir(exist_ok=True)
        write_atomically(self.config_copy, self.config)
        write_atomically(self.script, self._script_text())

    def _submit(self) -> bool:
        self.write()
        array = [f"--array=1-{self.parts}", f"--comment={self.comment}", "--open-mode=append"]
        options = [*self.options, "--parsable", *array, f"--output={self.folder}/log/%a.log"]
        try:
            answer = call("sbatch", "--requeue", *options, str(self.script))
        except SlurmError as error:
            raise ConfigError(f"SLURM refuses the job: {error}") from None
        match = re.search(r"^(\d+)(?:;(\S+))?\s*\Z", answer, re.MULTILINE)
        if not match:
            raise ConfigError(f"sbatch gave no job's number: {cut(clean(answer), 200)}")
        self._save(int(match[1]), match[2])
        return False

    def _script_text(self) -> str:
        run = ["run", "--config", str(self.config_copy), *self.arguments]
        command = shlex.join([installed_command(), *run])
        task = f'--shard "$SLURM_ARRAY_TASK_ID/{self.parts}"'
        out = f'--out {shlex.quote(str(self.folder / "parts"))}/"$SLURM_ARRAY_TASK_ID"'
        # A part that SLURM starts again continues. exec: SLURM's signals reach the command itself.
        fresh = ' $([ "${SLURM_RESTART_COUNT:-0}" != 0 ] || echo --fresh)' * self.fresh
        remark = "# One part of an experiment; elsewhere than on SLURM set SLURM_ARRAY_TASK_ID."
        lines = ["#!/bin/bash", remark, "set -e", *self.prelude.splitlines()]
        return "\n".join([*lines, f"exec {command} {task} {out}{fresh}", ""])

    def _load(self) -> None:
        try:
            state = parsed(self.state.read_bytes()) if self.state.exists() else {}
            if not isinstance(state, dict):
                raise ValueError("it must be an object, in braces")
            self.number, self.cluster = state.get("job"), state.get("cluster")
            self.collected, parts = state.get("collected", False), int(state.get("parts") or 0)
        except (ValueError, TypeError, OSError) as error:
            text = f"cannot be read: {in_words(error)}; remove it if no job of this folder runs"
            raise ConfigError(f"{self.state}: {text}") from None
        if parts not in (0, self.parts):
            advice = f"set slurm.parts = {parts} or choose another --out"
            raise ConfigError(f"{self.folder}: was begun with slurm.parts = {parts}; {advice}")

    def _save(self, number: int | None, cluster: str | None, collected: bool = False) -> None:
        self.number, self.cluster, self.collected = number, cluster, collected
        state = {"job": number, "cluster": cluster, "parts": self.parts, "collected": collected}
        write_atomically(self.state, json.dumps(state, indent=1) + "\n")

    def mark_collected(self) -> None:
        self._save(self.number, self.cluster, True)

    def tasks(self) -> list[str]:
        """The states of the tasks that have not ended: `running on n1`. Raises SlurmError."""
        states = []
        columns = ["-u", str(os.getuid()), "-o", "%F|%T|%r|%N|%k"]
        for line in call("squeue", *self._cluster, "-h", "-r", *columns).splitlines():
            number, state, reason, node, comment = [*line.strip().split("|", 4), *[""] * 4][:5]
            if comment == self.comment and number != str(self.number):
                self._save(int(number), self.cluster)
            if number == str(self.number):
                words = [state.lower().replace("_", " ")]
                words += [f"({reason})"] * (reason not in ("", "None"))
                states.append(" ".join([*words, *[f"on {node}"] * bool(node)]))
        return states

    def follow(self) -> Iterator[str]:
        """Yields a line about the tasks until all have ended; squeue may fail meanwhile."""
        pause = POLL_S
        while True:
            try:
                if not (counts := Counter(self.tasks())):
                    return
                yield ", ".join(f"{count} {state}" for state, count in counts.items())
            except SlurmError as error:
                yield f"no answer, asking again: {error}"
            time.sleep(pause)
            pause = min(MOST_POLL_S, pause * POLL_GROWTH)

    def cancel(self) -> bool:
        """Cancels the job; False if tasks are left after a minute or SLURM does not answer."""
        deadline = time.monotonic() + PATIENCE_S
        try:
            if self.tasks():
                call("scancel", *self._cluster, str(self.number))
            while self.tasks() and time.monotonic() < deadline:
                time.sleep(0.5)
            return not self.tasks()
        except SlurmError:
            return False

    @property
    def _cluster(self) -> list[str]:
        return ["--clusters", self.cluster] if self.cluster else []


def call(*command: str) -> str:
    """Returns the output of a command of SLURM.

    Raises SlurmError with its message, ConfigError if the command does not exist.
    """
    variables = {
        name: value
        for name, value in os.environ.items()
        if name[:6] != "SLURM_" or name in USER_VARIABLES
    }
    try:
        ended = subprocess.run(
            command, capture_output=True, env=variables, timeout=COMMAND_TIMEOUT_S
        )
    except FileNotFoundError:
        advice = f"there is no {command[0]} here; start it where jobs are submitted"
        raise ConfigError(f"--executor slurm: {advice}") from None
    except subprocess.TimeoutExpired:
        raise SlurmError(f"{command[0]} gives no answer") from None
    if ended.returncode:
        lines = ended.stderr.decode(errors="replace").strip().splitlines()
        lines = [re.sub(rf"^{command[0]}: (error: )?", "", line) for line in lines]
        text = "; ".join(lines) or f"it exits with {ended.returncode}"
        raise SlurmError(f"{command[0]}: {cut(clean(text), 400)}")
    return ended.stdout.decode(errors="replace")


def installed_command() -> str:
    """The path of this installation's `snnbench`, which the nodes must see too."""
    for path in (Path(sys.argv[0]).absolute(), Path(sysconfig.get_path("scripts"), "snnbench")):
        if path.name == "snnbench" and os.access(path, os.X_OK):
            return str(path)
    fault = "found no command snnbench that a job could start; install it: pip install snnbench"
    raise ConfigError(f"--executor slurm: {fault}")
