"""The outcome of one case in one block, as a result folder stores it."""

import marshal
import re
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from .. import schema
from ..common.mistakes import LARGEST_SEED, MOMENT, shown
from ..common.texts import clean
from ..core.case import CASE_FIELDS, PHASES, Case, ranked_phase
from ..core.status import worst
from ..experiment.config import Grid
from ..schema import OMIT_NONE
from ..schema.reported import Reported
from ..workloads.user_network import REFERENCE

SCHEMA: Literal[2] = 2
COMMIT = r"^[0-9a-f]{40,64}(-dirty)?$"
NAMES = ("framework", "construction", "mode", "workload")


def _is_a_case(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the case unchanged. Raises ValueError if no config can have it; names are free
    texts."""
    _typed(marshal.dumps(values, 2))
    return values


@lru_cache(maxsize=1 << 16)
def _typed(written: bytes) -> tuple[Case, str]:
    """Returns a case and its id. Cached: in a set each case has a record of every block."""
    values: dict[str, Any] = marshal.loads(written)
    if unknown := sorted(values.keys() - {*CASE_FIELDS}):
        raise ValueError(f"{unknown[0]} is unknown")
    for name in ("framework", *(["neuron"] if "dataset" not in values else [])):
        if name not in values:
            raise ValueError(f"{name} is missing")
    if values.get("neuron") == {}:
        raise ValueError("neuron = {}: must be native or have a reset")
    try:
        Grid.model_validate(
            {
                name: [value]
                for name, value in values.items()
                if name in Grid.model_fields and name not in NAMES
            }
        )
        case = Case.from_dict(values)
    except ValidationError as error:
        raise ValueError(schema.fault(error)) from None
    except (TypeError, OverflowError) as error:
        raise ValueError(f"not a case: {error}") from None
    if case.network is not None and not (
        type(case.network) is str and re.match(REFERENCE, case.network)
    ):
        raise ValueError(
            f"network = {shown(case.network)}: must look like braille@9f1c0a37d2b84e65"
        )
    for name in NAMES:
        if (
            type(text := getattr(case, name)) is not str
            or not 0 < len(text) <= 200
            or clean(text) != text
        ):
            raise ValueError(f"{name} = {shown(text)}: must be a short text, in quotes")
    if type(case.seed) is not int or not 0 <= case.seed <= LARGEST_SEED:
        raise ValueError(f"seed = {shown(case.seed)}: must be a whole number of at least 0")
    return case, case.id


class _StrictRecord(BaseModel, extra="forbid", strict=True, populate_by_name=True):
    pass


class Slot(_StrictRecord):
    """Calls of one phase in one pass, in seconds.

    `wall`, `enqueue` and `device` are medians over all calls, `low` and `high` quartiles of the
    wall time; `samples` are the wall times of some calls, evenly chosen. On a device with events
    `device` is of calls on memory outside the cache, `device_warm` of calls on the same memory,
    both without the host; None if unknown. `began` is `time.perf_counter`, one clock for all
    processes of a machine; `elapsed` is the time between the harness's order and the answer.
    `disturbed` says what spoilt the slot, None if nothing did.
    """

    in_pass: schema.Count = Field(alias="pass")
    began: schema.Number
    calls: Annotated[int, Field(gt=0, lt=1 << 31)]
    wall: schema.Time
    low: schema.Time
    high: schema.Time
    enqueue: schema.Seconds
    device: schema.Seconds | None
    device_warm: Annotated[schema.Seconds | None, OMIT_NONE] = None
    samples: list[schema.Time]
    elapsed: schema.Seconds | None = None
    disturbed: schema.Text | None = None


class Timing(_StrictRecord):
    """The slots of a phase in the order of their passes; see `measure/slots.py`.

    `beyond`: a pass showed that the case takes more than so many times as long as the fastest, and
    timing stopped. `energy_j`: joules of a call, of what `energy_of` names, by the machine's own
    counter; None if it has none.
    """

    device_clock: schema.Label
    warm_up_calls: schema.Count
    beyond: Annotated[schema.Time | None, OMIT_NONE] = None
    slots: list[Slot]
    energy_j: Annotated[schema.Positive | None, OMIT_NONE] = None
    energy_of: Annotated[schema.Text | None, OMIT_NONE] = None

    @model_validator(mode="after")
    def _knows_its_clock(self) -> Self:
        if self.device_clock == "process" and None in self.column("device"):
            raise ValueError("a slot's device is null: must be the CPU time of a call")
        return self

    def column(self, name: str) -> list[Any]:
        """Returns one value of every slot."""
        return [getattr(slot, name) for slot in self.slots]


class RecordedPart(_StrictRecord):
    """One part of a case: import, problem, build, first_call, excitation, memory, proof, the
    timed phases, recheck, ceilings."""

    status: schema.Status | None = None
    reason: schema.Text | None = None
    seconds: schema.Seconds | None = None
    timing: Timing | None = None
    floor_s: schema.Seconds | None = None


class RecordedCase(_StrictRecord):
    """The case and the block of a record, and how the case ended, part by part."""

    schema_version: Literal[2] = Field(SCHEMA, alias="schema")
    snnbench: schema.Label
    git_commit: Annotated[str | None, Field(pattern=COMMIT), OMIT_NONE] = None
    case_id: schema.CaseId
    case: Annotated[dict[str, Any], AfterValidator(_is_a_case)]
    set: schema.SetName
    block: Annotated[int, Field(ge=0, lt=1000)]
    live_set: schema.LiveSet | None = None
    attempt: schema.Count = 1
    done_key: schema.DoneKey
    recordings: Annotated[schema.Label | None, OMIT_NONE] = None
    status: schema.Status
    reason: schema.Text | None = None
    traceback: schema.Text | None = None
    parts: dict[schema.PartName, RecordedPart] = {}
    proof: schema.RecordedProof | None = None


class Record(Reported, RecordedCase):
    """The outcome of one case in one block, part by part, or the reason why it failed. SI units;
    unknown is null.

    A block is one set of fresh processes. `live_set` names the processes that were alive together:
    their slots of one pass were measured within the same second or so. `set` names the result
    folder, in which blocks are numbered. `recordings` identifies the content that a case of data
    read; it is not known if it is missing. `git_commit` is that of snnbench's checkout. `traceback`
    begins at the first line of the adapter's file. A record is refused if its parts contradict it,
    or if `case_id` is not that of its case.
    """

    ceilings: schema.Ceilings = {}
    warnings: schema.Texts = []
    exit_code: Annotated[int, Field(gt=-(1 << 31), lt=1 << 32)] | None = None
    signal: schema.Count | None = None
    stderr_tail: schema.Text = ""
    adapter: Annotated[schema.RecordedAdapter, schema.SHARED]
    environment: Annotated[schema.RecordedEnvironment, schema.SHARED]
    machine: Annotated[schema.Machine, schema.SHARED]
    measure: Annotated[schema.Settings, schema.SHARED]
    monitor: schema.Monitored = {}
    started_at: Annotated[str, Field(pattern=MOMENT)]
    duration_s: schema.Seconds
    overhead_s: schema.Number | None = None

    @model_validator(mode="after")
    def _does_not_contradict_itself(self) -> Self:
        if self.case_id != (expected := _typed(marshal.dumps(self.case, 2))[1]):
            raise ValueError(f"case_id = {self.case_id!r}: the case's own is {expected}")
        for name, part in self.parts.items():
            if part.status and worst([self.status, part.status]) != self.status:
                raise ValueError(
                    f"status = {self.status!r}: the part {name} ended as {part.status}"
                )
        if self.proof and self.proof["passed"] != all(
            stage["passed"] for stage in self.proof["stages"]
        ):
            raise ValueError("proof.passed: its stages say something else")
        return self

    @property
    def typed_case(self) -> Case:
        return _typed(marshal.dumps(self.case, 2))[0]

    @property
    def beyond(self) -> float | None:
        """How many times the fastest's time it was shown to exceed, if timing stopped early."""
        timing = self.timing(self.ranked)
        return timing.beyond if timing else None

    @property
    def ranked(self) -> str:
        """The phase by which the case is ranked."""
        phases, rank_by = self.measure.get("phases", PHASES), self.measure.get("rank_by")
        return ranked_phase(self.case.get("workload", ""), phases, rank_by)

    @property
    def is_last(self) -> bool:
        """True if a run measures the case in no further block: it has no times, or was stopped
        early."""
        return self.status != "ok" or self.beyond is not None

    @property
    def file_name(self) -> str:
        return file_name(self.case_id, self.block, self.done_key)

    def cores(self, phase: str) -> int | None:
        """Returns the number of the worker's cores if the device clock of a phase is the CPU time
        of its process; None if it is not, or if the phase was not timed."""
        timing = self.timing(phase)
        if timing is None or timing.device_clock != "process":
            return None
        return int(self.measure["threads"] or self.machine.get("usable_threads") or 1)

    def timing(self, phase: str) -> Timing | None:
        """Returns the timing of a phase, None if it was not timed."""
        part = self.parts.get(phase)
        return part.timing if part else None


def file_name(case_id: str, block: int, done_key: str) -> str:
    """Returns the name of a record's file."""
    return f"{case_id}-{block}-{done_key}.json"


RECORD = TypeAdapter(Record)
