"""The backend "cpp": calls packed.cpp, compiled at its first use."""

import ctypes
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import torch

from ..build import cpp
from .storage import COUNT_BITS, TILE, BatchDelivery

GRAIN = 1 << 18
"""Bins per thread."""


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    if dtype != torch.float32:
        return "it delivers float32"
    return cpp.unusable() if device.type == "cpu" else "it runs on CPUs"


def deliver(call: BatchDelivery) -> None:
    stored, out = call.stored, call.out
    threads = min(torch.get_num_threads(), 1 + out.numel() // GRAIN)
    arrays = (call.chosen, call.shift, stored.bits, stored.starts, stored.entries, out)
    _function()(
        threads,
        *out.shape,
        stored.shape[-1],
        *(None if array is None else array.data_ptr() for array in arrays),
    )


@lru_cache
def _function() -> Callable[..., None]:
    library = cpp.kernel(
        Path(__file__).with_name("packed.cpp"), {"TILE": TILE, "COUNT_BITS": COUNT_BITS}
    )
    function = library.deliver
    function.argtypes, function.restype = [ctypes.c_int64] * 4 + [ctypes.c_void_p] * 6, None
    return function
