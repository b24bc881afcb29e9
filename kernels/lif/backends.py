"""Chooses the backend of the neuron: the best for the device, or the requested one.

Each backend's module has `forward(call)`, `backward(call)`, `unavailable(device, dtype)` and
WRITES_PARTS, True if it writes `Backward.grad_parts`.
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
    # The host launches `cuda` in a third of Triton's time, which dominates small calls.
    best={"cpu": ("cpp", "reference"), "cuda": ("cuda", "triton", "reference")},
)
module, unavailable = BACKENDS.module, BACKENDS.unavailable


@torch.compiler.assume_constant_result
def choose(device_type: str, dtype: torch.dtype, requested: str | None = None) -> str:
    """Returns `Backends.choose`; warns unless the type is float64, which only the reference
    runs."""
    return BACKENDS.choose(device_type, dtype, requested, warn=dtype != torch.float64)
