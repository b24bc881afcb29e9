"""What a record says of ranks that computed its case together."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from . import Bytes, Count, Label, Seconds

Quartiles = Annotated[list[Seconds], Field(min_length=3, max_length=3)]


class OfRank(TypedDict):
    """Cores of a rank; the most memory that its process had; and the seconds of a step in which it waited for states of other
    ranks, for want of them or while they were on their way. Where all ranks are devices of one process they share its cores, and
    the other two are None, as seconds are where no states are handed on."""

    cores: Count
    host_peak_bytes: Bytes | None
    wait_s: Seconds | None


class Terms(TypedDict):
    """What `measure.pipeline` predicts from, in seconds: quartiles of a whole forward and backward on one rank, of one layer's
    neurons, of handing a state of `state_bytes` over and its gradient back, and of summing `gradient_bytes` over all ranks."""

    whole: Quartiles
    neurons: Quartiles
    handover: Quartiles
    reduction: Quartiles
    layers: Count
    state_bytes: Bytes
    gradient_bytes: Bytes


class Distributed(TypedDict):
    """Who started the ranks, what they talk by, and each of them; terms where they share the time steps."""

    launcher: Label
    backend: Label
    ranks: Annotated[list[OfRank], Field(min_length=2, max_length=1024)]
    terms: NotRequired[Terms]
