"""The outcome of one case in one block, as a result folder stores it."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from snnbench.adapters.base.case import Case

SCHEMA: Literal[2] = 2


class Slot(BaseModel):
    """Calls of one phase in one pass, in seconds: medians over all of them, quartiles `low` and `high` of the wall time, and
    the wall times of some (`samples`), evenly chosen. `began` is `time.perf_counter`, one clock for all processes of a machine;
    `elapsed` is what the harness saw pass from its order to the answer. `disturbed` says in words what spoilt the slot; None if
    nothing did."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    in_pass: int = Field(alias="pass")
    began: float
    calls: int
    wall: float
    low: float
    high: float
    enqueue: float
    device: float
    samples: list[float]
    elapsed: float | None = None
    disturbed: str | None = None


class Timing(BaseModel):
    """The slots of a phase in the order of their passes; see `measure/slots.py`."""

    model_config = ConfigDict(extra="forbid")
    device_clock: str
    warm_up_calls: int
    slots: Sequence[Slot]

    def column(self, name: str) -> Sequence[Any]:
        """One value of every slot. Of many cases this is fast: see `compact.py`."""
        columns = getattr(self.slots, "column", None)
        return columns(name) if columns else [getattr(slot, name) for slot in self.slots]


class Part(BaseModel):
    """One part of a case: import, problem, build, first_call, excitation, memory, proof, the timed phases, recheck, ceilings."""

    model_config = ConfigDict(extra="forbid")
    status: str | None = None
    reason: str | None = None
    seconds: float | None = None
    timing: Timing | None = None
    floor_s: float | None = None


class Record(BaseModel):
    """The outcome of one case in one block, part by part, or the reason why there is none. SI units; unknown is null.

    A block is one set of fresh processes. `live_set` names those that were alive together: of these, the slots of one pass were
    measured within the same second or so. `set` names the result folder, for which blocks are numbered. `traceback` begins at the
    first line of the adapter's own file.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    schema_version: Literal[2] = Field(SCHEMA, alias="schema")
    snnbench: str
    case_id: str
    case: dict[str, Any]
    set: str
    block: int
    live_set: str | None = None
    attempt: int = 1
    done_key: str
    status: str
    reason: str | None = None
    traceback: str | None = None
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

    def timing(self, phase: str) -> Timing | None:
        """The slots of a phase, if it was timed."""
        part = self.parts.get(phase)
        return part.timing if part else None
