"""Facts that workers report of a case beside its times."""

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationInfo, with_config
from typing_extensions import TypedDict

from . import Bytes, Count, Finite, Label, Positive, Seconds, Share, Text, Texts, understood


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
