"""A record's fields on ranks that computed its case together."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from . import Bytes, Count, Label, Seconds

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
