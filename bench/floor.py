"""The least time a phase can take on a device: mandatory work over measured ceilings."""

from dataclasses import dataclass

from snnbench.adapters.base import Case

BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "amp-bf16": 2}
ALLOWED = {"cpu": 0.5, "cuda": 0.9}
"""A time below this share of the floor is refused as implausible."""


@dataclass(frozen=True)
class Work:
    """What no implementation can avoid: floating-point operations, and bytes read or written once."""

    flops: float
    bytes: float

    def __add__(self, other: "Work") -> "Work":
        return Work(self.flops + other.flops, self.bytes + other.bytes)


@dataclass(frozen=True)
class Ceilings:
    """Best rates measured on the device: flops per second in the fastest format, bytes per second of a copy."""

    flops: float
    bytes: float


def mandatory(case: Case, phase: str) -> Work:
    """Work of one call of `phase`. Spikes between layers could stay on chip, so only the outer borders count."""
    size = BYTES[case.precision]
    border = case.time_steps * case.batch * case.neurons * size
    if case.workload == "lif":
        forward, backward = Work(0, 2 * border), Work(0, 3 * border)
    else:
        product = 2.0 * case.time_steps * case.batch * case.neurons**2
        weights = case.layers * case.neurons**2 * size
        input_products = case.layers - 1 + case.input_grad
        forward = Work(case.layers * product, weights + 2 * border)
        reads = weights * (input_products > 0) + 2 * border
        backward = Work((case.layers + input_products) * product, reads + weights + border * case.input_grad)
    return {"forward": forward, "inference": forward, "backward": backward, "step": forward + backward}[phase]


def floor(case: Case, phase: str, ceilings: Ceilings) -> float:
    """Seconds below which no call of `phase` can end."""
    work = mandatory(case, phase)
    return max(work.bytes / ceilings.bytes, work.flops / ceilings.flops if work.flops else 0.0)


def implausible(case: Case, seconds: float, least: float) -> str | None:
    """Why a median time of `seconds` cannot be true given the floor `least`, or None."""
    allowed = ALLOWED[case.device.split(":")[0]]
    if seconds < allowed * least:
        return f"{seconds:.3e} s is below {allowed:g} of the floor of {least:.3e} s: the work cannot have been done"
    return None
