"""The least work that a phase of a layer needs: bytes, with each array read or written once, and flops of matrix products.

The report's roofline column and the tests of the kernels take their numbers from here. The neuron's own arithmetic (a few
operations for each element) is left out, because memory takes longer on every machine.
"""

from dataclasses import dataclass

CHECKPOINT_STEPS = 32
"""Our kernels save the neuron's state every so many time steps. The backward pass recomputes potentials from there."""


@dataclass(frozen=True)
class Work:
    """Floating-point operations of matrix products, and bytes read or written once."""

    flops: float
    bytes: float

    def __add__(self, other: "Work") -> "Work":
        return Work(self.flops + other.flops, self.bytes + other.bytes)


def neuron_forward(time_steps: int, sequences: int, size: int, spike_size: int | None = None, checkpoints: bool = False) -> Work:
    """Reads currents of `size` bytes each and writes spikes of `spike_size` bytes (default: `size`).

    With `checkpoints` it also writes the states that the backward pass of our kernels starts from.
    """
    elements = time_steps * sequences
    return Work(0, elements * (size + (spike_size or size)) + checkpoints * _checkpoint_bytes(time_steps, sequences))


def neuron_backward(
    time_steps: int, sequences: int, size: int, gradient_size: int | None = None, checkpoints: bool = False
) -> Work:
    """Reads currents of `size` bytes and gradients of spikes of `gradient_size` bytes, writes gradients of currents.

    With `checkpoints` it also reads the saved states.
    """
    elements = time_steps * sequences
    return Work(0, elements * (2 * size + (gradient_size or size)) + checkpoints * _checkpoint_bytes(time_steps, sequences))


def _checkpoint_bytes(time_steps: int, sequences: int) -> int:
    return -(-time_steps // CHECKPOINT_STEPS) * sequences * 4


def product(rows: int, inner: int, outer: int) -> Work:
    """Flops of one matrix product. Its bytes depend on which operands are still in cache, so the caller adds them."""
    return Work(2.0 * rows * inner * outer, 0)
