"""What is done: which records of earlier runs count, and what is left of a plan."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from ..experiment.config import Measure
from ..experiment.order import estimate_seconds
from ..records.record import Record
from ..records.store import ResultFolder
from ..status import RETRIED
from .planned_case import PlannedCase


def counts(record: Record | None) -> bool:
    """Whether a record is a result, and not a failure that the next run tries again."""
    return record is not None and record.status not in RETRIED


@dataclass(frozen=True)
class Left:
    """What is left of one planned case: its state in words, rounds to measure, and a guess of the seconds."""

    planned: PlannedCase
    state: str
    rounds: int
    seconds: float


@dataclass(frozen=True)
class Done:
    """Which records in `folder` count for a run that measures like `measure` on `machine` (of `machine_facts`)."""

    folder: ResultFolder
    measure: Measure
    machine: dict[str, Any]

    def key(self, planned: PlannedCase) -> str:
        """Hash of what a finished record must share with this run to count: settings, adapter file, environment, machine."""
        settings = self.measure.model_dump(exclude={"rounds"})
        parts = [settings, planned.adapter.source_sha256, planned.home.hash, self.machine["hash"]]
        if planned.home.image_digest is not None:
            parts.append(planned.home.image_digest)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    def record(self, planned: PlannedCase, round: int) -> Record | None:
        """What an earlier run recorded for this case and round, if it can be read and is comparable."""
        return self.folder.record(planned.id, round, self.key(planned))

    def over(self, planned: PlannedCase) -> bool:
        """Whether no round is to be measured any more because the first one said why there are no times."""
        first = self.record(planned, 0)
        return first is not None and first.status != "ok" and counts(first)

    def left(self, planned: PlannedCase) -> Left:
        """What a run would still do for a case."""
        done = sum(counts(self.record(planned, round)) for round in range(self.measure.rounds))
        over = planned.status is not None or self.over(planned)
        rounds = 0 if over else self.measure.rounds - done
        seconds = estimate_seconds(planned.case, rounds, self.measure.budget * self.measure.timed) if rounds else 0.0
        return Left(planned, planned.status or ("to do" if rounds else "done"), rounds, seconds)
