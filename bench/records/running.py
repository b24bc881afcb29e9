"""What a job is computing at the moment, in a file that it leaves behind where it is killed with all its processes.

A case that needs more memory than the job has takes the job with it, before there is any record, and the next job likewise. So
the next one reads who computed last, and after the second time that case ends as a record.
"""

import json
import os
import re
from collections.abc import Collection, Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ..schema import Count, Name, read_as
from .record import Record
from .store import ResultFolder

DIED_TWICE = "the job died twice in this case"
JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
"""Variables that hold a job's number."""
NO_JOB = "none"


class _Deaths(BaseModel):
    """How often the job died while a case computed `alone`, and beside `others` of its group."""

    model_config = ConfigDict(extra="forbid", strict=True)
    alone: Count = 0
    others: Count = 0


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    job: Name
    now: Annotated[list[Name], Field(max_length=10_000)] = []
    died: dict[Name, _Deaths] = {}


FILE = TypeAdapter(_File)


class Running:
    """`running.json` of a result folder. It is there from the beginning of a run in a batch job until the run has come to its
    end. With `fresh`, what happened before does not count."""

    def __init__(self, folder: ResultFolder, fresh: bool = False):
        self.folder = folder
        job = next(
            (
                os.environ[name]
                for name in JOBS
                if re.match(r"\w", os.environ.get(name, ""), re.ASCII)
            ),
            None,
        )
        self._file = _File(job=job or NO_JOB, died={} if fresh else _deaths(folder))
        self.now([], 0)

    def now(self, case_ids: Iterable[str], block: int) -> None:
        """These compute from now on."""
        self._file.now = [_name(case_id, block) for case_id in case_ids]
        if self._file.job != NO_JOB or self.folder.running.exists():
            self.folder.write(
                self.folder.running, json.dumps(self._file.model_dump(), indent=1) + "\n"
            )

    def died_twice(self, case_id: str, block: int) -> bool:
        """Whether this case is to blame: alone twice, or alone after it had been beside others twice."""
        deaths = self._of(case_id, block)
        return deaths.alone >= 2 or (deaths.others >= 2 and deaths.alone >= 1)

    def apart(self, case_ids: Iterable[str], block: int) -> Collection[str]:
        """Those that must be measured alone: the job died twice among them and others, and nobody knows in which."""
        return {case_id for case_id in case_ids if self._of(case_id, block).others >= 2}

    def end(self) -> None:
        """The run has come to its end."""
        self.folder.running.unlink(missing_ok=True)

    def _of(self, case_id: str, block: int) -> _Deaths:
        return self._file.died.get(_name(case_id, block), _Deaths())


def is_final(record: Record) -> bool:
    """Whether a failure is not tried again: it would take the next job with it as well."""
    return record.status == "crash" and record.reason == DIED_TWICE


def _deaths(folder: ResultFolder) -> dict[str, _Deaths]:
    """Those of earlier jobs, that of the last one included. A file that cannot be read blames nobody."""
    try:
        file = read_as(FILE, folder.running)
    except (ValueError, OSError):
        return {}
    for name in (
        file.now if file.job != NO_JOB else []
    ):  # whoever kills a command by hand blames no case
        deaths = file.died.setdefault(name, _Deaths())
        if len(file.now) == 1:
            deaths.alone += 1
        else:
            deaths.others += 1
    return file.died


def _name(case_id: str, block: int) -> str:
    return f"{case_id}-{block}"
