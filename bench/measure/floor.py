"""The least time a phase can take on a device: work that nothing can avoid, at the best rates ever measured there."""

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
"""A time below this share of the floor is refused as implausible."""
CACHED = 4
"""A call may find much of what it reads in a cache, because it was written a moment before. So its bytes may move as fast as
those of a copy that is so many times smaller."""


@dataclass(frozen=True)
class Ceilings:
    """Best rates of a device: `copies`, bytes per second by the bytes that a copy reads and writes, and `products`, flops per
    second by number format. A copy that is made again and again stays in a cache where it fits; rates of copies that do not are
    `cold`, where they were measured. A floor rests on the faster ones: a call may be as lucky."""

    copies: Mapping[int, float]
    products: Mapping[str, float]
    cold: Mapping[int, float] = field(default_factory=dict)

    @property
    def flops(self) -> float:
        """In the fastest format; infinite if none was measured."""
        return max(self.products.values(), default=float("inf"))

    def bytes(self, moved: float) -> float:
        """The rate at which `moved` bytes can move at best: of all copies but those too small to tell, because a smaller one can
        stay nearer to the processor. Infinite if none was measured."""
        large = {size: rate for size, rate in self.copies.items() if size >= copied(moved / CACHED)}
        return max(large.values(), default=max(self.copies.values(), default=float("inf")))

    def as_dict(self) -> dict[str, dict[str, float]]:
        """For events and files."""
        copies, cold = (
            {str(size): rate for size, rate in rates.items()} for rates in (self.copies, self.cold)
        )
        found = {"copy_bytes_per_s": copies, "matmul_flops_per_s": dict(self.products)}
        return found | ({"cold_copy_bytes_per_s": cold} if cold else {})

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
    """The floor of a phase in seconds, and why its time cannot be true, or None."""

    floor_s: float
    reason: str | None


def copied(moved: float) -> int:
    """The size of the copy that stands for `moved` bytes: the power of two below, at least 8 KiB and at most 2 GiB."""
    return 1 << min(max(int(moved).bit_length() - 1, 13), 31)


def nonzero_share(inputs: Sequence[Array]) -> float:
    """For `mandatory`: the least share of values other than zero that an input has."""
    return min(np.count_nonzero(x) / x.size for x in inputs)


def shortest(slots: Sequence[Mapping[str, Any]], device_clock: str) -> float:
    """The least median of a phase's clocks. The seconds of a device with events are as bound to the floor as the wall time is."""
    clocks = ("wall", "device", "device_warm") if device_clock == "events" else ("wall",)
    told = ([slot[clock] for slot in slots if slot.get(clock) is not None] for clock in clocks)
    return min(median(seconds) for seconds in told if seconds)


def judge_times(
    case: Case, network: Network, ceilings: Ceilings, nonzero: float, medians: Mapping[str, float]
) -> dict[str, Judged]:
    """By phase, the judgement of median times in seconds. `nonzero`: see `mandatory`."""
    floors = {phase: floor(case, network, phase, ceilings, nonzero) for phase in medians}
    return {
        phase: Judged(floors[phase], implausible(case, seconds, floors[phase]))
        for phase, seconds in medians.items()
    }


def floor(case: Case, network: Network, phase: str, ceilings: Ceilings, nonzero: float) -> float:
    """Seconds below which no call of `phase` can end."""
    work = mandatory(case, network, phase, nonzero)
    return max(work.bytes / ceilings.bytes(work.bytes), work.flops / ceilings.flops)


def implausible(case: Case, seconds: float, least: float) -> str | None:
    """Why a median time of `seconds` cannot be true given the floor `least`, or None."""
    allowed = ALLOWED[case.device_type]
    if seconds < allowed * least:
        return f"{seconds:.3e} s is below {allowed:g} of the floor of {least:.3e} s: the work cannot have been done"
    return None
