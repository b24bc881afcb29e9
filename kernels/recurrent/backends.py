"""Chooses the backend of the recurrent layer, as `lif.backends` does for the neuron.

Each backend's module has `forward(call)`, `backward(call)`, `unavailable(device, dtype)` and
`bits_like(currents)`, an unwritten tensor for the saved spikes.
"""

import torch

from ..backends import Backends

BACKENDS = Backends(
    "the fused recurrent layer runs",
    __package__,
    modules={"reference": ".reference", "cpp": ".launch"},
    best={"cpu": ("cpp", "reference")},
)
module, unavailable = BACKENDS.module, BACKENDS.unavailable


@torch.compiler.assume_constant_result
def choose(device_type: str, dtype: torch.dtype, requested: str | None = None) -> str:
    """Returns `Backends.choose`; warns unless the type is float64, which only the reference
    runs."""
    return BACKENDS.choose(device_type, dtype, requested, warn=dtype != torch.float64)
