"""The judge of delivered data: every batch must equal the frames of its recordings."""

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
from ..measure.epochs import batches_of, epoch_of
from ..measure.phases import Draw
from ..proof.frames import batches_proved, stage_of, wrong_with
from ..proof.framing import Asked, Framing

Event = dict[str, Any]


def framing_of(case: Case) -> Framing:
    """Returns the framing of the case's recordings."""
    return Framing(form_of(case.dataset), case.time_steps)


def prove_data(delivery: Any, case: Case, folder: Path) -> list[Event]:
    """Returns events on two epochs of the worker's `delivery`, each in a new random order. The
    second is short, and its last batch incomplete: batches, shifts and an order that were kept of
    the first show there."""
    wanted, name = batches_proved(case), stage_of(case)
    reason = _wrong_epoch(delivery, case, folder, wanted * case.batch)
    if reason is None:
        recordings = min(2 * case.batch - 1, case.samples)
        reason = _wrong_epoch(delivery, case, folder, recordings)
        reason = reason and f"in a later epoch, of {recordings} recordings: {reason}"
    findings = [] if reason is None else [reason]
    sizes = {"time_steps": case.time_steps, "batch": case.batch}
    unknown: dict[str, Any] = {
        "errors": {},
        "wrong_decisions": None,
        "grad_error": None,
        "firing_rate": None,
    }
    stage = {"name": name, "passed": not findings, "findings": findings, **sizes, **unknown}
    proof = {
        "passed": not findings,
        "reason": reason and f"{name}: {reason}",
        "loosened": [],
        "stages": [stage],
    }
    status = {"status": "check_failed" if findings else "ok", "reason": proof["reason"]}
    return [{"part": "proof", **status, "proof": proof}]


def _wrong_epoch(delivery: Any, case: Case, folder: Path, recordings: int) -> str | None:
    """Returns the fault of an epoch of so many `recordings`, or None."""
    epoch = epoch_of(case, Draw(0, getrandbits(62), 0, 0)).first(recordings)
    delivery.start(epoch.numbers, epoch.shifts)
    batches, wanted = 0, recordings // case.batch
    while (batch := delivery.next_batch()) is not None:
        if batches == wanted:
            return (
                f"more than {wanted} batches of {case.batch} were delivered "
                f"for {recordings} recordings"
            )
        part = epoch.part(batches, case.batch)
        batches += 1
        if reason := _wrong(case, folder, part, batches - 1, *map(np.asarray, batch)):
            return reason
        if not delivery.is_unchanged():
            return f"batch {batches} was written over before the next one was asked for"
    if batches < wanted:
        return (
            f"{batches} batches of {case.batch} were delivered "
            f"for {recordings} recordings, not {wanted}"
        )
    return None


def recheck_data(result: dict[str, Any], case: Case, folder: Path, draw: Draw) -> list[Event]:
    """Returns events on a batch of a timed epoch, the one with the number in `result`."""
    reason, wanted = None, batches_of(case)
    if result["batches"] != wanted:
        reason = f"a timed epoch had {result['batches']} batches, not {wanted}"
    elif (number := result["number"]) not in range(wanted):
        reason = f"batch {number} of {wanted} was handed over"
    else:
        arrays = (np.asarray(result[name]) for name in ("frames", "labels"))
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
        [recordings.one(number) for number in part.numbers], recordings.labels[part.numbers], shifts
    )
    wrong = wrong_with(framing_of(case), asked, frames, labels)
    return wrong and f"batch {number + 1}: {wrong}"


@lru_cache(maxsize=1)
def _recordings(dataset: str, folder: Path, samples: int) -> Recordings:
    return opened(dataset, folder, samples)
