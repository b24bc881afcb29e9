"""Reads the events that a worker writes, one JSON object a line.

Adapters can write to the file too, so its form is checked.
"""

import json
from contextlib import suppress
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from ..common.texts import clean
from ..schema import (
    Bytes,
    Count,
    Label,
    Number,
    PartName,
    Positive,
    RecordedEnvironment,
    Seconds,
    Share,
    Status,
    Text,
    Texts,
    understood,
)
from ..schema.reported import Reported

SENSELESS = "its worker sent an invalid report"
NEEDED = {
    "end": ["cpu_seconds"],
    "describe": ["adapters", "environment"],
    "calibration": ["ceilings"],
}
"""Required fields of an event by its part."""

MOST_BYTES = (4 << 20, 256 << 20)
"""Limits for the events of a worker that runs a case, and of one that describes adapters."""
Rates = dict[Annotated[str, Field(pattern="^[0-9]{1,15}$")], Positive]
"""Bytes per second by the number of copied bytes."""


class _StrictEvent(BaseModel):
    model_config = ConfigDict(strict=True)


class AllRates(_StrictEvent):
    """The best rates of a device."""

    copy_bytes_per_s: Rates = {}
    cold_copy_bytes_per_s: Rates = {}
    matmul_flops_per_s: dict[str, Positive] = {}


class TimedKernel(_StrictEvent):
    """The time of one of our kernels; see `measure/kernel_times.py`."""

    name: Label
    spelling: Label
    format: Label
    shape: Annotated[list[Count], Field(min_length=3, max_length=3)]
    bytes: Bytes = 0
    flops: Number = 0.0
    warm_s: Seconds | None = None
    cold_s: Seconds | None = None
    warm_share: Number | None = None
    cold_share: Number | None = None
    reason: Text | None = None


class Described(_StrictEvent):
    """The description of an adapter, or only the `error` of its import."""

    model_config = ConfigDict(extra="allow")
    reference: str
    name: str = ""
    version: str | None = None
    missing: list[str] = []
    constructions: Annotated[list[str], Field(min_length=1)] = ["default"]
    modes: list[str] = []
    devices: list[str] = []
    loads_data: bool = False
    refusal: str | None = None
    neurons: dict[str, str | None] = {}
    source_sha256: str | None = None
    closure: dict[str, str] = {}
    refusals: dict[str, str] = {}
    error: str | None = None


class Event(Reported):
    """The known fields of an event, for all jobs; others are dropped."""

    part: PartName
    status: Status | None = None
    reason: str | None = None
    traceback: str | None = None
    seconds: Seconds | None = None
    cpu_seconds: Seconds = 0.0
    warnings: Texts = []
    flops_per_s: Positive | None = None
    bytes_per_s: Positive | None = None
    rates: AllRates = AllRates()
    ceilings: AllRates = AllRates()
    kernels: list[TimedKernel] = []
    nonzero: Share = 0.0
    adapters: list[Described] = []
    environment: RecordedEnvironment | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if lacking := [
            name for name in NEEDED.get(self.part, ()) if name not in self.model_fields_set
        ]:
            raise ValueError(f"{lacking[0]} is missing")
        return self


EVENT = TypeAdapter(Event)


def senseless(why: str) -> dict[str, Any]:
    """The event that replaces a malformed one."""
    return {"part": "events", "status": "error", "reason": f"{SENSELESS}: {why}"}


def read_events(written: bytes) -> list[dict[str, Any]]:
    """Returns the events in whole lines: a worker may be killed while it writes one."""
    return [_event(read_object(line)) for line in written.split(b"\n")[:-1]]


def _event(fields: dict[str, Any] | None) -> dict[str, Any]:
    if fields is None:
        return senseless("no JSON object")
    try:
        return understood(EVENT, fields).model_dump(exclude_unset=True)
    except ValueError as error:
        return senseless(str(error))


def read_object(line: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a line, with cleaned texts and None for NaN; None if it has none."""
    with suppress(ValueError, RecursionError):
        value = json.loads(line, parse_constant=lambda _: None)
        if isinstance(value, dict):
            return dict(clean(value))
    return None
