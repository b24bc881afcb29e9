"""Chooses the backend that delivers batches of packed frames.

Each backend's module has `deliver(call)` and `unavailable(device, dtype)`.
"""

import torch

from ..backends import Backends

BACKENDS = Backends(
    "packed frames are delivered",
    __package__,
    modules={"reference": ".reference", "cpp": ".compiled", "triton": ".triton.launch"},
    best={"cpu": ("cpp", "reference"), "cuda": ("triton", "reference")},
)
module, unavailable = BACKENDS.module, BACKENDS.unavailable


def choose(device_type: str, dtype: torch.dtype, requested: str | None = None) -> str:
    """Returns `Backends.choose`; warns for float32 alone, which every other backend delivers."""
    return BACKENDS.choose(device_type, dtype, requested, warn=dtype == torch.float32)
