"""The judge of cases that deliver data: every batch must hold the frames of its recordings, element by element."""

from functools import lru_cache
from pathlib import Path
from random import getrandbits
from typing import Any

import numpy as np

from ..core.case import Case
from ..core.datasets import form_of
from ..data.epoch import Epoch
from ..data.reading import opened
from ..data.recordings import Recordings
from ..measure.epochs import batches_of, epoch_of, watched_by
from ..measure.phases import Draw
from ..proof.frames import batches_proved, stage_of, wrong_with
from ..proof.framing import Asked, Framing

Event = dict[str, Any]


def framing_of(case: Case) -> Framing:
    """How the events of the case's recordings become frames."""
    return Framing(form_of(case.dataset), case.time_steps)


def prove_data(delivery: Any, case: Case, folder: Path) -> list[Event]:
    """Events on an epoch through `delivery`, the worker's, in an order that nobody has had yet."""
    wanted, name = batches_proved(case), stage_of(case)
    epoch = epoch_of(case, Draw(0, getrandbits(62), 0, 0)).first(wanted * case.batch)
    delivery.start(epoch.numbers, epoch.shifts)
    reason, batches = None, 0
    while reason is None and (batch := delivery.next_batch()) is not None:
        if batches == wanted:
            reason = f"more than {wanted} batches of {case.batch} were delivered for {len(epoch.numbers)} recordings"
            break
        reason = _wrong(
            case, folder, epoch.part(batches, case.batch), batches, *map(np.asarray, batch)
        )
        batches += 1
    if reason is None and batches < wanted:
        reason = f"{batches} batches of {case.batch} were delivered for {len(epoch.numbers)} recordings, not {wanted}"
    found = [] if reason is None else [reason]
    sizes = {"time_steps": case.time_steps, "batch": case.batch}
    unknown: dict[str, Any] = {
        "errors": {},
        "wrong_decisions": None,
        "grad_error": None,
        "firing_rate": None,
    }
    stage = {"name": name, "passed": not found, "findings": found, **sizes, **unknown}
    proof = {
        "passed": not found,
        "reason": reason and f"{name}: {reason}",
        "loosened": [],
        "stages": [stage],
    }
    status = {"status": "check_failed" if found else "ok", "reason": proof["reason"]}
    return [{"part": "proof", **status, "proof": proof}]


def recheck_data(told: dict[str, Any], case: Case, folder: Path, draw: Draw) -> list[Event]:
    """Events on the batch that is left of a timed epoch."""
    reason, wanted = None, batches_of(case)
    if told["batches"] != wanted:
        reason = f"a timed epoch had {told['batches']} batches, not {wanted}"
    else:
        arrays = (np.asarray(told[name]) for name in ("frames", "labels"))
        number = watched_by(case, draw)
        reason = _wrong(
            case, folder, epoch_of(case, draw).part(number, case.batch), number, *arrays
        )
    events: list[Event] = [{"part": "recheck", "status": "ok"}]
    refused = {"part": "step", "status": "check_failed", "reason": f"a timed epoch: {reason}"}
    return [*events, refused] if reason else events


def _wrong(
    case: Case, folder: Path, part: Epoch, number: int, frames: np.ndarray, labels: np.ndarray
) -> str | None:
    recordings = _recordings(case.dataset, folder, case.samples)
    shifts = part.shifts or [0] * len(part.numbers)
    asked = Asked(
        [recordings.one(one) for one in part.numbers], recordings.labels[part.numbers], shifts
    )
    wrong = wrong_with(framing_of(case), asked, frames, labels)
    return wrong and f"batch {number + 1}: {wrong}"


@lru_cache(maxsize=1)
def _recordings(dataset: str, folder: Path, samples: int) -> Recordings:
    return opened(dataset, folder, samples)
