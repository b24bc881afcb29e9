"""Records in a file what a job computes, so that the next job knows if this one was killed.

A case that needs more memory than the job has kills the job before there is a record, and the next
job likewise. The next job therefore reads what ran last; after the second time that case ends as a
record.
"""

import json
import os
import re
from collections.abc import Collection, Iterable
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter

from ..schema import Count, Name, read_as
from .record import Record
from .store import ResultFolder

DIED_TWICE = "the job died twice in this case"
JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
"""Environment variables with a job's number."""
NO_JOB = "none"


class _Deaths(BaseModel, extra="forbid", strict=True):
    """The number of times the job died while a case ran `alone`, and beside `others` of its
    group."""

    alone: Count = 0
    others: Count = 0


class _RunningFile(BaseModel, extra="forbid", strict=True):
    job: Name
    now: Annotated[list[Name], Field(max_length=10_000)] = []
    died: dict[Name, _Deaths] = {}


FILE = TypeAdapter(_RunningFile)


class Running:
    """`running.json` of a result folder, from the start of a run in a batch job to its end.

    With `fresh`, earlier deaths do not count.
    """

    def __init__(self, folder: ResultFolder, fresh: bool = False):
        self.folder = folder
        jobs = (os.environ.get(name, "") for name in JOBS)
        job = next((job for job in jobs if re.match(r"\w", job, re.ASCII)), NO_JOB)
        self._file = _RunningFile(job=job, died={} if fresh else _deaths(folder))
        self.mark([], 0)

    def mark(self, case_ids: Iterable[str], block: int) -> None:
        """Writes that these cases run from now on."""
        self._file.now = [_name(case_id, block) for case_id in case_ids]
        if self._file.job != NO_JOB or self.folder.running.exists():
            self.folder.write(
                self.folder.running, json.dumps(self._file.model_dump(), indent=1) + "\n"
            )

    def died_twice(self, case_id: str, block: int) -> bool:
        """Returns whether the case is to blame: alone twice, or alone after two deaths beside
        others."""
        deaths = self._of(case_id, block)
        return deaths.alone >= 2 or (deaths.others >= 2 and deaths.alone >= 1)

    def apart(self, case_ids: Iterable[str], block: int) -> Collection[str]:
        """Returns the cases that must run alone: the job died twice beside others, so the cause
        is unknown."""
        return {case_id for case_id in case_ids if self._of(case_id, block).others >= 2}

    def end(self) -> None:
        """Removes the file at the end of the run."""
        self.folder.running.unlink(missing_ok=True)

    def _of(self, case_id: str, block: int) -> _Deaths:
        return self._file.died.get(_name(case_id, block), _Deaths())


def is_final(record: Record) -> bool:
    """Returns whether a failure is not retried, because it would kill the next job as well."""
    return record.status == "crash" and record.reason == DIED_TWICE


def _deaths(folder: ResultFolder) -> dict[str, _Deaths]:
    """Returns the deaths of earlier jobs, the last one included. An unreadable file counts as
    none."""
    try:
        file = read_as(FILE, folder.running)
    except (ValueError, OSError):
        return {}
    # An interactive kill is not counted against any case.
    for name in file.now if file.job != NO_JOB else []:
        deaths = file.died.setdefault(name, _Deaths())
        if len(file.now) == 1:
            deaths.alone += 1
        else:
            deaths.others += 1
    return file.died


def _name(case_id: str, block: int) -> str:
    return f"{case_id}-{block}"
