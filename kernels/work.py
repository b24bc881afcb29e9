"""The least work that a phase of a layer needs: bytes, with each array read or written once, and flops of matrix products.

`snnbench.measure.floor` adds it up for a network. The neuron's own arithmetic (a few operations for each element) is left out,
because memory takes longer on every machine.
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
