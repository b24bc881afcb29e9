"""The file of events that a worker writes, one JSON object a line. Adapters can write to it too, so that nothing in it is trusted
to have the right form."""

import json
from contextlib import suppress
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from ..common.texts import clean
from ..schema import (
    Breakdown,
    Bytes,
    Count,
    Environment,
    Label,
    Learning,
    Number,
    PartName,
    Phase,
    Positive,
    Seconds,
    Share,
    Status,
    Text,
    Texts,
    Weighed,
    understood,
)
from ..schema.distributed import Distributed
from ..schema.facts import Facts

SENSELESS = "its worker reported what makes no sense"
NEEDED = {
    "end": ["cpu_seconds"],
    "describe": ["adapters", "environment"],
    "calibration": ["ceilings"],
}
"""What an event must hold that somebody waits for, by its part."""

MOST_BYTES = (4 << 20, 256 << 20)
"""Of the events of a worker that runs a case, and of one that describes what may be thousands of cases."""
Rates = dict[Annotated[str, Field(pattern="^[0-9]{1,15}$")], Positive]
"""Bytes per second by the bytes that are copied."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class AllRates(_Strict):
    """The best that a device did; a record of them may be empty."""

    copy_bytes_per_s: Rates = {}
    cold_copy_bytes_per_s: Rates = {}
    matmul_flops_per_s: dict[str, Positive] = {}


class TimedKernel(_Strict):
    """What a kernel of ours took; see `measure/kernel_times.py`."""

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


class Described(_Strict):
    """What a worker says of an adapter, or only the `error` of its import."""

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


class Event(_Strict):
    """What an event holds, of all jobs; more may be in it."""

    part: PartName
    status: Status | None = None
    reason: str | None = None
    traceback: str | None = None
    seconds: Seconds | None = None
    cpu_seconds: Seconds = 0.0
    warnings: Texts = []
    facts: Facts = {}
    memory: dict[Phase, Weighed] = {}
    meaning: str | None = None
    host_peak_bytes: Bytes | None = None
    breakdown: Breakdown | None = None
    learning: Learning | None = None
    distributed: Distributed | None = None
    flops_per_s: Positive | None = None
    bytes_per_s: Positive | None = None
    rates: AllRates = AllRates()
    ceilings: AllRates = AllRates()
    kernels: list[TimedKernel] = []
    nonzero: Share = 0.0
    adapters: list[Described] = []
    environment: Environment | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if lacking := [
            name for name in NEEDED.get(self.part, ()) if name not in self.model_fields_set
        ]:
            raise ValueError(f"{lacking[0]} is missing")
        return self


EVENT = TypeAdapter(Event)


def senseless(why: str) -> dict[str, Any]:
    """The event that stands for what a worker of ours would not write."""
    return {"part": "events", "status": "error", "reason": f"{SENSELESS}: {why}"}


def read_events(written: bytes) -> list[dict[str, Any]]:
    """The events in what a worker has written. Only whole lines count: it may be killed in the middle of one."""
    return [_event(read_object(line)) for line in written.split(b"\n")[:-1]]


def _event(given: dict[str, Any] | None) -> dict[str, Any]:
    """What is known of an event, and nothing else."""
    if given is None:
        return senseless("no JSON object")
    try:
        return understood(EVENT, given).model_dump(exclude_unset=True)
    except ValueError as error:
        return senseless(str(error))


def read_object(line: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a line, its texts cleaned, and None for numbers that are not finite; None if the line holds anything
    else, which no worker of ours writes."""
    with suppress(ValueError, RecursionError):
        if isinstance(given := json.loads(line, parse_constant=lambda _: None), dict):
            return dict(clean(given))
    return None
