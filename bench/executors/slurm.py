"""SLURM by its own commands: sbatch, squeue and scancel. No accounting is needed, and no other library."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..common.mistakes import ConfigError
from ..common.texts import clean, cut

LONGEST_S = 120.0
"""That SLURM has for an answer; a busy controller takes many seconds."""
ENDED = frozenset(
    (
        "COMPLETED",
        "FAILED",
        "CANCELLED",
        "TIMEOUT",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "BOOT_FAIL",
        "DEADLINE",
        "PREEMPTED",
        "REVOKED",
    )
)
"""States of a task that will not run again; in any other it may."""
OF_USERS = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT")
"""Variables of SLURM that are not those of a job, in which this command may run: its limits are not those of the new one."""
FORGOTTEN = "Invalid job id"
"""What squeue says of a job that ended more than MinJobAge ago."""


class SlurmFails(Exception):
    """A command of SLURM failed; the text is what it said."""


@dataclass(frozen=True)
class Task:
    """One task of an array job: its number, its state, why SLURM says so, and its node, if it has one."""

    number: int
    state: str
    reason: str
    node: str

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    def __str__(self) -> str:
        """`pending (Resources)`, `running on n1`, `failed (NonZeroExitCode) on n2`."""
        why = f" ({self.reason})" if self.reason not in ("", "None") else ""
        return (
            self.state.lower().replace("_", " ") + why + (f" on {self.node}" if self.node else "")
        )


@dataclass(frozen=True)
class Job:
    """A job by its number and, where SLURM has several, its cluster."""

    number: int
    cluster: str = ""

    def __str__(self) -> str:
        return f"job {self.number}" + (f" of {self.cluster}" if self.cluster else "")

    @property
    def _where(self) -> list[str]:
        return ["--clusters", self.cluster] if self.cluster else []

    def tasks(self) -> list[Task] | None:
        """All tasks that SLURM still knows; None if it has forgotten the job. Raises SlurmFails."""
        command = [
            "squeue",
            *self._where,
            "-h",
            "-r",
            "-t",
            "all",
            "-j",
            str(self.number),
            "-o",
            "%i|%T|%r|%N",
        ]
        try:
            lines = answer_of(command).splitlines()
        except SlurmFails as error:
            if FORGOTTEN in str(error):
                return None
            raise
        found = (re.fullmatch(r"\d+_(\d+)\|([A-Z_]+)\|(.*)\|(.*)", line.strip()) for line in lines)
        return [Task(int(each[1]), each[2], each[3], each[4]) for each in found if each]

    def cancel(self) -> None:
        """Raises SlurmFails. A job that has ended may be cancelled."""
        answer_of(["scancel", *self._where, str(self.number)])


def submitted(script: Path, options: Sequence[str], tasks: int, comment: str, log: Path) -> Job:
    """Submit an array job. Raises ConfigError if SLURM refuses it."""
    own = [
        "--parsable",
        f"--array=1-{tasks}",
        f"--comment={comment}",
        f"--output={log}/%a.log",
        "--open-mode=append",
    ]
    try:
        answer = answer_of(["sbatch", "--requeue", *options, *own, str(script)])
    except SlurmFails as error:
        raise ConfigError(f"SLURM refuses the job: {error}") from None
    found = re.fullmatch(r"(\d+)(?:;(\S+))?", (answer.strip().splitlines() or [""])[-1])
    if not found:
        raise ConfigError(f"sbatch gave no job's number: {cut(clean(answer), 200)}")
    return Job(int(found[1]), found[2] or "")


def with_comment(comment: str) -> Job | None:
    """This user's job of that comment which has not ended; the newest. Raises SlurmFails."""
    lines = answer_of(["squeue", "-h", "-u", str(os.getuid()), "-o", "%F|%k"]).splitlines()
    found = [line.split("|", 1)[0].strip() for line in lines if line.split("|", 1)[1:] == [comment]]
    return Job(max(map(int, found))) if found else None


def answer_of(command: Sequence[str]) -> str:
    """What a command of SLURM says. Raises SlurmFails with what it complains of, ConfigError where there is none."""
    own = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith("SLURM_") or name in OF_USERS
    }
    try:
        ended = subprocess.run(
            command,
            env=own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            errors="replace",
        )
    except FileNotFoundError:
        raise ConfigError(
            f"--executor slurm: there is no {command[0]} here; start it where jobs are submitted"
        ) from None
    except subprocess.TimeoutExpired:
        raise SlurmFails(f"{command[0]} gives no answer") from None
    if ended.returncode:
        said = [
            re.sub(rf"^{command[0]}: (error: )?", "", line.strip())
            for line in ended.stderr.splitlines()
            if line.strip()
        ]
        text = "; ".join(said) or f"it exits with {ended.returncode}"
        raise SlurmFails(f"{command[0]}: {cut(clean(text), 400)}")
    return ended.stdout
