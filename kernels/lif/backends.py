"""The backends of the neuron, and which of them runs a call: the best for its device, or the one requested by name.

The module of each has `forward(call)`, `backward(call)`, WRITES_PARTS (whether it writes `Backward.grad_parts`) and
`unavailable(device, dtype)`.
"""

import torch

from ..backends import Backends

BACKENDS = Backends(
    "the fused neuron runs",
    __package__,
    modules={
        "reference": ".reference",
        "cpp": ".cpu.launch",
        "triton": ".triton.launch",
        "cuda": ".cuda.launch",
    },
    # A launch of `cuda` takes the host a third of Triton's time, which is what a call of few numbers takes; in large calls it
    # does not matter.
    best={"cpu": ("cpp", "reference"), "cuda": ("cuda", "triton", "reference")},
)
module, unavailable = BACKENDS.module, BACKENDS.unavailable


@torch.compiler.assume_constant_result
def choose(device_type: str, dtype: torch.dtype, requested: str | None = None) -> str:
    """As `Backends.choose`; where float64 goes is no surprise."""
    return BACKENDS.choose(device_type, dtype, requested, warn=dtype != torch.float64)
