"""The file of events that a worker writes, one JSON object a line. Adapters can write to it too, so that nothing in it is trusted
to have the right form."""

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ..status import STATUSES
from ..texts import clean

if TYPE_CHECKING:
    Status = str
else:  # a type checker cannot read a Literal that is computed
    Status = Literal[STATUSES]

SENSELESS = {"part": "events", "status": "error", "reason": "its worker reported what makes no sense"}
"""Stands for an event of another form."""
MOST_BYTES = (4 << 20, 256 << 20)
"""Of the events of a worker that runs a case, and of one that describes what may be thousands of cases."""


class Event(BaseModel):
    """What an event holds, of all jobs; more may be in it."""

    model_config = ConfigDict(strict=True)
    part: str
    status: Status | None = None
    reason: str | None = None
    traceback: str | None = None
    seconds: float | None = None
    floor_s: float | None = None
    cpu_seconds: float = 0.0
    warnings: list[str] = []
    facts: dict[str, Any] = {}
    memory: dict[str, dict[str, int | None]] = {}
    meaning: str | None = None
    host_peak_bytes: int | None = None
    flops_per_s: float | None = None
    bytes_per_s: float | None = None
    rates: dict[str, dict[str, float]] = {}
    nonzero: dict[str, float] = {}


def read_events(written: bytes) -> list[dict[str, Any]]:
    """The events in what a worker has written. Only whole lines count: it may be killed in the middle of one."""
    return [_event(read_object(line)) for line in written.split(b"\n")[:-1]]


def _event(given: dict[str, Any] | None) -> dict[str, Any]:
    with suppress(ValidationError):
        Event.model_validate(given)
        return given or SENSELESS
    return SENSELESS


def read_object(line: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a line, its texts cleaned; None if it holds anything else, which no worker of ours writes."""
    with suppress(ValueError, RecursionError):
        if isinstance(given := json.loads(line), dict):
            return dict(clean(given))
    return None
