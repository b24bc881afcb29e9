"""The least time a phase can take on a device: mandatory work over measured ceilings."""

from dataclasses import dataclass

from snnbench.adapters.base.case import Case
from snnbench.kernels.work import Work, neuron_backward, neuron_forward, product

BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "amp-bf16": 2}
ALLOWED = {"cpu": 0.5, "cuda": 0.9}
"""A time below this share of the floor is refused as implausible."""


@dataclass(frozen=True)
class Ceilings:
    """Best rates measured on the device: flops per second in the fastest format, bytes per second of a copy."""

    flops: float
    bytes: float


def mandatory(case: Case, phase: str) -> Work:
    """Work of one call of `phase`. Spikes between layers could stay on chip, so only the outer borders count."""
    size, sequences = BYTES[case.precision], case.batch * case.neurons
    if case.workload == "lif":
        forward = neuron_forward(case.time_steps, sequences, size)
        backward = neuron_backward(case.time_steps, sequences, size)
    else:
        border = case.time_steps * sequences * size
        products = product(case.time_steps * case.batch, case.neurons, case.neurons).flops
        weights = case.layers * case.neurons**2 * size
        input_products = case.layers - 1 + case.input_grad
        forward = Work(case.layers * products, weights + 2 * border)
        reads = weights * (input_products > 0) + 2 * border
        backward = Work((case.layers + input_products) * products, reads + weights + border * case.input_grad)
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
