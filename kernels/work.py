"""Work that a phase of a layer cannot avoid: bytes, each array read or written once, and flops of matrix products.

The report's roofline column and the tests of the kernels take their numbers from here. The neuron's own arithmetic (a
few operations an element) is left out: memory takes longer on every machine.
"""

from dataclasses import dataclass

CHECKPOINT_STEPS = 32
"""Our kernels keep the neuron's state every so many steps and recompute potentials from there in the backward pass."""


@dataclass(frozen=True)
class Work:
    """Floating-point operations of matrix products, and bytes read or written once."""

    flops: float
    bytes: float

    def __add__(self, other: "Work") -> "Work":
        return Work(self.flops + other.flops, self.bytes + other.bytes)


def neuron_forward(time_steps: int, sequences: int, size: int, spike_size: int | None = None, kept: bool = False) -> Work:
    """Currents of `size` bytes in, spikes of `spike_size` (default: the same) out; `kept`: and states for backward."""
    elements = time_steps * sequences
    return Work(0, elements * (size + (spike_size or size)) + kept * _checkpoints(time_steps, sequences))


def neuron_backward(time_steps: int, sequences: int, size: int, gradient_size: int | None = None, kept: bool = False) -> Work:
    """Currents and gradients of spikes (`gradient_size`) in, gradients of currents out; `kept`: and states in."""
    elements = time_steps * sequences
    return Work(0, elements * (2 * size + (gradient_size or size)) + kept * _checkpoints(time_steps, sequences))


def _checkpoints(time_steps: int, sequences: int) -> int:
    return -(-time_steps // CHECKPOINT_STEPS) * sequences * 4


def product(rows: int, inner: int, outer: int) -> Work:
    """Flops of one matrix product; which of its operands come from memory depends on what surrounds it."""
    return Work(2.0 * rows * inner * outer, 0)
