"""The least time of a phase on a device: unavoidable work at the best measured rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from ..core.case import Case
from ..core.network import Network
from ..core.result import Array
from .work import mandatory

ALLOWED = {"cpu": 0.5, "cuda": 0.9}
"""Share of the floor below which a time is refused as implausible."""
CACHED = 4
"""A call may find much of its input in a cache, written a moment before: its bytes may move as
fast as a copy that is this many times smaller."""


@dataclass(frozen=True)
class Ceilings:
    """Best rates of a device: `copies`, bytes per second by the bytes that a copy reads and
    writes, and `products`, flops per second by number format. A repeated copy stays in a cache
    where it fits; `cold` are measured rates of copies that do not. A floor uses the faster ones,
    because a call may find its data cached."""

    copies: Mapping[int, float]
    products: Mapping[str, float]
    cold: Mapping[int, float] = field(default_factory=dict)

    @property
    def flops(self) -> float:
        """Rate of the fastest format; infinite if none was measured."""
        return max(self.products.values(), default=float("inf"))

    def bytes(self, moved: float) -> float:
        """Best rate for `moved` bytes: the fastest of all copies but the much smaller ones,
        because a smaller copy can stay nearer to the processor. Infinite if none was measured."""
        large = {size: rate for size, rate in self.copies.items() if size >= copied(moved / CACHED)}
        return max(large.values(), default=max(self.copies.values(), default=float("inf")))

    def as_dict(self) -> dict[str, dict[str, float]]:
        copies, cold = (
            {str(size): rate for size, rate in rates.items()} for rates in (self.copies, self.cold)
        )
        rates_by_kind = {"copy_bytes_per_s": copies, "matmul_flops_per_s": dict(self.products)}
        return rates_by_kind | ({"cold_copy_bytes_per_s": cold} if cold else {})

    @classmethod
    def from_dict(cls, rates: Mapping[str, Mapping[str, float]]) -> "Ceilings":
        """The inverse of `as_dict`."""
        kinds = ("copy_bytes_per_s", "cold_copy_bytes_per_s")
        copies, cold = (
            {int(size): rate for size, rate in rates.get(kind, {}).items()} for kind in kinds
        )
        return cls(copies, rates["matmul_flops_per_s"], cold)


@dataclass(frozen=True)
class Judged:
    """The floor of a phase in seconds, and the reason why its time is implausible, or None."""

    floor_s: float
    reason: str | None


def copied(moved: float) -> int:
    """Size of the copy that stands for `moved` bytes: the power of two below, from 8 KiB to 2
    GiB."""
    return 1 << min(max(int(moved).bit_length() - 1, 13), 31)


def nonzero_share(inputs: Sequence[Array]) -> float:
    """Least share of nonzero values in an input (see `mandatory`)."""
    return min(np.count_nonzero(x) / x.size for x in inputs)


def shortest(slots: Sequence[Mapping[str, Any]], device_clock: str) -> float:
    """Least median of a phase's clocks. Device events are bound by the floor as the wall time
    is."""
    clocks = ("wall", "device", "device_warm") if device_clock == "events" else ("wall",)
    measured = ([slot[clock] for slot in slots if slot.get(clock) is not None] for clock in clocks)
    return min(median(seconds) for seconds in measured if seconds)


def judge_times(
    case: Case, network: Network, ceilings: Ceilings, nonzero: float, medians: Mapping[str, float]
) -> dict[str, Judged]:
    """Judges median times in seconds by phase. `nonzero`: see `mandatory`."""
    floors = {phase: floor(case, network, phase, ceilings, nonzero) for phase in medians}
    return {
        phase: Judged(floors[phase], implausible(case, seconds, floors[phase]))
        for phase, seconds in medians.items()
    }


def floor(case: Case, network: Network, phase: str, ceilings: Ceilings, nonzero: float) -> float:
    """Returns the least seconds of a call of `phase`."""
    work = mandatory(case, network, phase, nonzero)
    return max(work.bytes / ceilings.bytes(work.bytes), work.flops / ceilings.flops)


def implausible(case: Case, seconds: float, least: float) -> str | None:
    """Returns the reason why a median of `seconds` is implausible given the floor `least`, or
    None."""
    allowed = ALLOWED[case.device_type]
    if seconds < allowed * least:
        return (
            f"{seconds:.3e} s is below {allowed:g} of the floor of {least:.3e} s: "
            "the work cannot have been done"
        )
    return None
