"""What workers report of a case beside its times: fields of their events and of records."""

from typing import Annotated, Any, NotRequired

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationInfo,
    with_config,
)
from typing_extensions import TypedDict

from . import (
    OMIT_NONE,
    Bytes,
    Count,
    Finite,
    Label,
    Memory,
    MemoryKind,
    Phase,
    Positive,
    Seconds,
    Share,
    StepStage,
    Text,
    Texts,
    understood,
)


@with_config(ConfigDict(extra="ignore", strict=True))
class KnownFacts(TypedDict, total=False):
    """Facts that tables read."""

    compile_s: Seconds | None
    graph_breaks: Count | None
    recompiles: Count | None
    spike_mismatch: Share | None
    input_scale: Positive | None
    output_dtype: Text | None
    state_dtype: Text | None
    backend: Text | None
    product: Text | None
    product_rate: Share | None
    native: Text | None
    batches: Count
    disk_bytes: Bytes
    host_bytes: Bytes
    device_bytes: Bytes
    cpu_s_per_sample: Seconds
    epoch_wait_s: Seconds
    epoch_train_s: Seconds
    warnings: Texts


_Fact = bool | Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)] | Finite | Text | Texts | None
_KNOWN = TypeAdapter(KnownFacts)
_ANY: TypeAdapter[Any] = TypeAdapter(Annotated[dict[Label, _Fact], Field(max_length=100)])


def _as_tables_read_them(facts: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    understood(_KNOWN, facts)
    return (
        dict(_ANY.validate_python(facts, context=info.context))
        if info.context
        else dict(understood(_ANY, facts))
    )


Facts = Annotated[dict[str, Any], AfterValidator(_as_tables_read_them)]
"""The worker's facts on a case. An adapter may add others, which no table reads."""

Weighed = dict[Memory, Bytes | None]
"""Memory of a call; see `measure/memory.py`."""


class RecordedBreakdown(TypedDict):
    """Time and memory of a step by stage and kind; see `core/breakdown.py`."""

    seconds: dict[StepStage, Seconds]
    step_s: Seconds | None
    bytes: dict[MemoryKind, Bytes]
    unknown: Text | None


class RecordedLearning(TypedDict):
    """The loss of every step on the synthetic task, and the accuracy on new samples; see
    `measure/learning.py`."""

    loss: Annotated[list[Finite], Field(max_length=1000)]
    accuracy: Share


Quartiles = Annotated[list[Seconds], Field(min_length=3, max_length=3)]


class OfRank(TypedDict):
    """A rank: its cores, the peak memory of its process, and the seconds of a step in which it
    waited for states of other ranks.

    Ranks that are devices of one process share its cores, and the other two are None. `wait_s` is
    None if no states are handed on.
    """

    cores: Count
    host_peak_bytes: Bytes | None
    wait_s: Seconds | None


class RecordedTerms(TypedDict):
    """The inputs of `measure.pipeline`, quartiles in seconds: a whole forward and backward on
    one rank, one layer's neurons, the handover of `state_bytes` and of its gradient, and the sum
    of `gradient_bytes` over all ranks."""

    whole: Quartiles
    neurons: Quartiles
    handover: Quartiles
    reduction: Quartiles
    layers: Count
    state_bytes: Bytes
    gradient_bytes: Bytes


class Distributed(TypedDict):
    """The launcher of the ranks, their backend, and each rank; `terms` if they share the time
    steps."""

    launcher: Label
    backend: Label
    ranks: Annotated[list[OfRank], Field(min_length=2, max_length=1024)]
    terms: NotRequired[RecordedTerms]


class Reported(BaseModel):
    """A worker's report on its case: fields of its events, of which the last counts while facts add
    up, and of the record. Bundles publish all of them."""

    model_config = ConfigDict(strict=True)

    facts: Facts = {}
    memory: dict[Phase, Weighed] = {}
    memory_meaning: Text | None = None
    host_peak_bytes: Bytes | None = None
    breakdown: Annotated[RecordedBreakdown | None, OMIT_NONE] = None
    learning: Annotated[RecordedLearning | None, OMIT_NONE] = None
    distributed: Annotated[Distributed | None, OMIT_NONE] = None
