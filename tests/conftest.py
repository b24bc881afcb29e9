"""What several tests share: the real command in a temporary folder, and adapters that need no framework."""

import csv
import json
import os

# Before anything imports NumPy or torch: test processes share few cores, and threads that wait for each other cost minutes.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# As in a worker: a precompiled header takes longer than all that a test compiles.
os.environ |= {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}

import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.paths import FAULTY

# What a shell starts in the background ignores Ctrl-C, and so would the commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

COMMAND = Path(sys.executable).with_name("snnbench")

ODD = 'neurons = [97]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]\n'
SHORT = 'rounds = 1\nbudget = "40ms"\ntimeout = "60s"\nthreads = 1\n'


@dataclass
class Result:
    """How a command ended and what lies in its result folder."""

    exit_code: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def records(self) -> list[dict]:
        return [json.loads(path.read_text()) for path in sorted((self.folder / "records").glob("*.json"))]

    def record(self, framework: str) -> dict:
        (found,) = [record for record in self.records if record["case"]["framework"] == framework]
        return found

    @property
    def rows(self) -> list[dict]:
        with open(self.folder / "results.csv", newline="") as stream:
            return list(csv.DictReader(stream))

    @property
    def message(self) -> str:
        """The only line on stderr."""
        (line,) = self.stderr.splitlines()
        return line


class Snnbench:
    """Runs the installed command; `notes` is a folder that adapters find in SNNBENCH_TEST_NOTES."""

    def __init__(self, folder: Path):
        self.folder, self.notes = folder, folder / "notes"
        self.notes.mkdir()
        own = {"SNNBENCH_TEST_NOTES": str(self.notes), "SNNBENCH_ENVIRONMENTS": str(folder / "environments")}
        self.environment = {**os.environ, **own}

    def config(self, framework, adapters=(), grid="", measure="", name="odd") -> Path:
        """A config of one odd case per framework; `adapters` are `file.py:Class` in tests/faulty_adapters."""
        references = [f"{FAULTY / reference}" for reference in adapters]
        path = self.folder / f"{name}.toml"
        grid = f"[grid]\nframework = {json.dumps(framework)}\n{ODD if 'neurons' not in grid else ''}{grid}\n"
        overridden = {line.split(" =")[0] for line in measure.splitlines()}
        kept = [line for line in SHORT.splitlines() if line.split(" =")[0] not in overridden]
        measure = "\n".join(["[measure]", *kept, measure])
        path.write_text(f"name = {json.dumps(name)}\nadapters = {json.dumps(references)}\n{grid}{measure}\n")
        return path

    def start(self, *arguments) -> subprocess.Popen:
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, process: subprocess.Popen, out: str = "out", timeout: float = 180) -> Result:
        stdout, stderr = process.communicate(timeout=timeout)
        return Result(process.returncode, stdout, stderr, self.folder / out)

    def __call__(self, *arguments, out: str = "out") -> Result:
        return self.end(self.start(*arguments), out)

    def run(self, config: Path, *arguments, out: str = "out") -> Result:
        return self("run", "--config", config, "--out", out, *arguments, out=out)


@pytest.fixture
def snnbench(tmp_path) -> Snnbench:
    return Snnbench(tmp_path)


@pytest.fixture(scope="module")
def snnbench_module(tmp_path_factory) -> Snnbench:
    """For a run that the tests of one file look at together."""
    return Snnbench(tmp_path_factory.mktemp("snnbench"))
