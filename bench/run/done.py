"""Which records of earlier runs count as done, and what a run still has to do."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from ..experiment.config import Measure
from ..experiment.order import estimate_seconds
from ..records.record import Record
from ..records.store import ResultFolder
from ..status import RETRIED
from .planning import PlannedCase


@dataclass(frozen=True)
class Left:
    """The work that is left of one planned case: its state in words, blocks to measure, and a guess of the seconds."""

    planned: PlannedCase
    state: str
    blocks: int
    seconds: float


@dataclass(frozen=True)
class Done:
    """Which records in `folder` count for a run that measures like `measure` on `machine` (of `machine_facts`)."""

    folder: ResultFolder
    measure: Measure
    machine: dict[str, Any]

    def key(self, planned: PlannedCase) -> str:
        """A hash of measuring settings, adapter files, environment and machine. A record counts only if it has the same."""
        settings = self.measure.model_dump(exclude={"blocks", "most_blocks"})
        parts = [settings, planned.adapter.source_sha256, planned.home.hash, self.machine["hash"]]
        if planned.home.image_digest is not None:
            parts.append(planned.home.image_digest)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    def result(self, planned: PlannedCase, block: int) -> Record | None:
        """The record of an earlier run for this case and block, with the same key. A failure is no result: it is tried again."""
        record = self.folder.record(planned.id, block, self.key(planned))
        return record if record and record.status not in RETRIED else None

    def left(self, planned: PlannedCase) -> Left:
        """What a run would still do for a case, further blocks that noise may call for left out. If its first block ended without
        times, the others are not measured."""
        results = [self.result(planned, block) for block in range(self.measure.blocks if self.measure.timed else 1)]
        without_times = results[0] is not None and results[0].status != "ok"
        blocks = 0 if planned.status or without_times else results.count(None)
        seconds = estimate_seconds(planned.case, blocks, self.measure.seconds_of_slots) if blocks else 0.0
        return Left(planned, planned.status or ("to do" if blocks else "done"), blocks, seconds)
