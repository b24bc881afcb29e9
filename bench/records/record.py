"""The outcome of one case in one round, as a result folder stores it."""

import re
from dataclasses import fields
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from snnbench.adapters.base.case import Case

SCHEMA: Literal[1] = 1

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
"""Control sequences of terminals, which a framework's message may hold."""


class Samples(BaseModel):
    """Seconds by call on three clocks; see `measure/sampling.py`."""

    model_config = ConfigDict(extra="forbid")
    wall: list[float]
    enqueue: list[float]
    device: list[float]
    at: list[float]
    began: float | None = None
    device_clock: str
    warm_up_calls: int
    warm_up_converged: bool
    stop_reason: str


class Part(BaseModel):
    """One part of a case: import, problem, build, first_call, excitation, memory, proof, the timed phases, recheck, ceilings."""

    model_config = ConfigDict(extra="forbid")
    status: str | None = None
    reason: str | None = None
    seconds: float | None = None
    samples: Samples | None = None
    floor_s: float | None = None


class Record(BaseModel):
    """The outcome of one case in one round, part by part, or the reason why there is none. SI units; unknown is null."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    schema_version: Literal[1] = Field(SCHEMA, alias="schema")
    snnbench: str
    case_id: str
    case: dict[str, Any]
    round: int
    attempt: int = 1
    done_key: str
    status: str
    reason: str | None = None
    parts: dict[str, Part] = {}
    facts: dict[str, Any] = {}
    proof: dict[str, Any] | None = None
    memory: dict[str, dict[str, int | None]] = {}
    memory_meaning: str | None = None
    host_peak_bytes: int | None = None
    ceilings: dict[str, float | None] = {}
    warnings: list[str] = []
    exit_code: int | None = None
    signal: int | None = None
    stderr_tail: str = ""
    adapter: dict[str, Any]
    environment: dict[str, Any]
    machine: dict[str, Any]
    measure: dict[str, Any]
    monitor: dict[str, Any] = {}
    started_at: str
    duration_s: float
    overhead_s: float | None = None

    @field_validator("case")
    @classmethod
    def _is_a_case(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Raises ValueError for what no run writes: sizes that are no numbers, say, which tables could not sort."""
        try:
            case = Case.from_dict(values)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a case: {error}") from None
        for each in fields(Case):
            value = getattr(case, each.name)
            if each.name in values and each.name != "neuron" and type(value) is not each.type:
                raise ValueError(f"{each.name} = {value!r} is not of type {getattr(each.type, '__name__', each.type)}")
        return values

    @property
    def typed_case(self) -> Case:
        return Case.from_dict(self.case)

    def samples(self, phase: str) -> Samples | None:
        """The samples of a phase, if it was timed."""
        part = self.parts.get(phase)
        return part.samples if part else None
