"""The command line in a temporary folder: in this process, which is fast, or as the installed
command, which can be killed."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from snnbench.cli import run_command
from snnbench.environments import inventory
from snnbench.environments.install import INDEX_VARIABLES
from snnbench.executors.launch import Outcome
from snnbench.executors.local import LocalExecutor
from snnbench.runner import launcher
from snnbench.runner.progress import Heartbeat

from .paths import FAULTS, FAULTY, ROOT

COMMAND = Path(sys.executable).with_name("snnbench")
MAKE_DATA = (sys.executable, ROOT / "scripts" / "make_data.py")

ODD = 'neurons = [97]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]\n'
SHORT = 'blocks = 1\nmost_blocks = 1\npasses = 1\nslot = "5ms"\ntimeout = "60s"\nthreads = 1\nphases = ["step"]\n'
ALL_PHASES = 'phases = ["forward", "backward", "step", "inference"]\n'
UNHEEDED = {"SNNBENCH_TEST_NOTES", "SNNBENCH_ENVIRONMENTS", "PYTEST_CURRENT_TEST", "COLUMNS"}
"""Variables that change nothing in what a worker answers about its environment."""


def axes(**values: object) -> list[str]:
    """Returns options of `snnbench check` and `profile`, one for each axis of the grid."""
    return [word for axis, value in values.items() for word in ("--set", f"grid.{axis}={value}")]


TINY = axes(neurons=31, time_steps=41, batch=3)
"""Options of `snnbench check` for a proof that takes a moment."""


@dataclass
class Result:
    """How a command ended and what lies in its result folder."""

    exit_code: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def records(self) -> list[dict]:
        return [
            json.loads(path.read_text())
            for path in sorted((self.folder / "records").glob("*.json"))
        ]

    def record(self, framework: str) -> dict:
        (record,) = [record for record in self.records if record["case"]["framework"] == framework]
        return record

    @property
    def rows(self) -> list[dict]:
        with open(self.folder / "results.csv", newline="") as stream:
            return list(csv.DictReader(stream))

    @property
    def message(self) -> str:
        """The only line on stderr."""
        (line,) = self.stderr.splitlines()
        return line


_ANSWERS: dict[str, str] = {}
_ENDED: dict[str, tuple[Outcome, bytes]] = {}
_ASK, _LAUNCH, _START = inventory._describe, inventory.launch_apart, launcher.launch


@contextmanager
def answers_remembered() -> Iterator[None]:
    """Asks a worker once for what it answers again: about this environment, and about adapters in
    this checkout.

    A worker takes 0.4 s to answer, with torch and JAX 4 s, and every command asks one. Files in a
    temporary folder may change between two commands, so that adapters there are asked about each
    time. Where a test listens to the questions or answers them, all are asked.
    """
    if inventory._describe is not _ASK:
        yield
        return

    def answer(inquiry, executor):
        files = [Path(text) for text in inquiry.references if "/" in text]
        here = all(path.is_relative_to(FAULTS) for path in files)
        patched = inventory.launch_apart is not _LAUNCH
        if patched or not here or type(executor) is not LocalExecutor:
            return _ASK(inquiry, executor)
        ours = {name: value for name, value in os.environ.items() if name not in UNHEEDED}
        # Without adapters the answer is that of the environment, whatever the cases.
        about = inquiry.as_dict() if inquiry.references else inquiry.environment
        key = json.dumps([about, executor.python, ours], sort_keys=True)
        if key not in _ANSWERS:
            _ANSWERS[key] = json.dumps(_ASK(inquiry, executor))
        return json.loads(_ANSWERS[key])

    inventory._describe = answer
    try:
        yield
    finally:
        inventory._describe = _ASK


@contextmanager
def helpers_remembered() -> Iterator[None]:
    """Starts an empty worker once, and one for the oracle's free run once for each problem: that
    takes 0.6 s, and most runs of tests have the same problem."""

    def started(verb, job, surroundings):
        if verb not in ("free", "null") or surroundings.executor != LocalExecutor():
            return _START(verb, job, surroundings)
        made = Path(job.get("free_run", verb))
        if made.name not in _ENDED:
            outcome = _START(verb, job, surroundings)
            if not outcome.complete:
                return outcome
            _ENDED[made.name] = outcome, made.read_bytes() if verb == "free" else b""
        outcome, content = _ENDED[made.name]
        if verb == "free":
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_bytes(content)
        return outcome

    with patch.object(launcher, "launch", started):
        yield


class Snnbench:
    """Runs the command in `folder`, with the variables of `environment`.

    Calling the object runs the command line in this process. Use `installed` for what only a
    process shows: an exit status, variables that Python reads when it starts. Use `start` and `end`
    for signals. `notes` is a folder that adapters find in SNNBENCH_TEST_NOTES.
    """

    def __init__(self, folder: Path):
        self.folder, self.notes = folder, folder / "notes"
        self.notes.mkdir()
        own = {
            "SNNBENCH_TEST_NOTES": str(self.notes),
            "SNNBENCH_ENVIRONMENTS": str(folder / "environments"),
            "COLUMNS": "180",  # room for every column of a table
        }
        ours = {
            name: value for name, value in os.environ.items() if name not in INDEX_VARIABLES
        }  # tests say where packages are from
        self.environment = {**ours, **own}

    def config(self, framework, adapters=(), grid="", measure="", name="odd") -> Path:
        """A config of one odd case per framework; `adapters` are `file.py:Class` in
        tests/faults/faulty."""
        references = [f"{FAULTY / reference}" for reference in adapters]
        path = self.folder / f"{name}.toml"
        grid = f"[grid]\nframework = {json.dumps(framework)}\n{ODD if 'neurons' not in grid else ''}{grid}\n"
        overridden = {line.split(" =")[0] for line in measure.splitlines()}
        defaults = [line for line in SHORT.splitlines() if line.split(" =")[0] not in overridden]
        measure = "\n".join(["[measure]", *defaults, measure])
        path.write_text(
            f"name = {json.dumps(name)}\nadapters = {json.dumps(references)}\n{grid}{measure}\n"
        )
        return path

    def __call__(self, *arguments, out: str | Path = "out") -> Result:
        exit_code, stdout, stderr = 0, io.StringIO(), io.StringIO()
        with self._surroundings(), redirect_stdout(stdout), redirect_stderr(stderr):
            try:
                run_command([str(argument) for argument in arguments])
            except SystemExit as ended:
                exit_code = ended.code
        return Result(exit_code, stdout.getvalue(), stderr.getvalue(), self.folder / out)

    def run(self, config: Path, *arguments, out: str | Path = "out") -> Result:
        return self("run", "--config", config, "--out", out, *arguments, out=out)

    @contextmanager
    def _surroundings(self) -> Iterator[None]:
        variables, folder = dict(os.environ), Path.cwd()
        try:
            os.environ.clear()
            os.environ.update(self.environment)
            os.chdir(self.folder)
            # A busy machine has heartbeats in what tests expect to be short.
            with answers_remembered(), patch.object(Heartbeat, "_watch", lambda heartbeat: None):
                yield
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(variables)

    def start(self, *arguments, command=(COMMAND,)) -> subprocess.Popen:
        """Starts the installed command, or another, in a process of its own."""
        return subprocess.Popen(
            [*command, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(
        self, process: subprocess.Popen, out: str | Path = "out", timeout: float = 180
    ) -> Result:
        stdout, stderr = process.communicate(timeout=timeout)
        return Result(process.returncode, stdout, stderr, self.folder / out)

    def make_data(self, *arguments) -> Result:
        """Runs scripts/make_data.py in a process of its own."""
        return self.end(self.start(*arguments, command=MAKE_DATA))

    def installed(self, *arguments, out: str | Path = "out") -> Result:
        return self.end(self.start(*arguments), out)
