"""Launches the Triton kernel once for a batch, on CUDA devices or in Triton's interpreter.

Triton inspects every argument of a launch, which takes the host longer than a batch takes the
device. This module caches the compiled kernel for each kind of call.
"""

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import torch

from ...lif.triton.launch import DTYPES
from ...lif.triton.launch import unavailable as triton_unavailable
from ..storage import BatchDelivery
from .kernels import deliver_kernel

ENTRIES, WARPS = 128, 4
"""Entries that are added at once: about a tile of SSC at 4 ms and 100 channels."""

WIDEST = 16
"""Most neighbouring bins that Triton may treat as aligned."""

OPTIONS = {"num_warps": WARPS, "enable_fp_fusion": False}


@dataclass(frozen=True)
class Ready:
    """A kernel compiled for calls of one kind, and its arguments after the tensors."""

    compiled: Any
    numbers: tuple[int, ...]


_ready: dict[tuple, Ready] = {}


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    if dtype not in DTYPES:
        return "it delivers float32, float16 or bfloat16"
    return triton_unavailable(device, dtype)


def deliver(call: BatchDelivery) -> None:
    arrays, device = tensors(call), call.out.device
    grid = (len(call.chosen) * call.stored.tiles, 1, 1)
    with _current(device):
        key = kind(call)
        if ready := _ready.get(key):
            ready.compiled[grid](*arrays, *ready.numbers)
            return
        compiled = deliver_kernel[grid](*arrays, *numbers(call), **OPTIONS)
        if compiled is not None:  # the interpreter compiles nothing
            _ready[key] = Ready(compiled, numbers(call))


def tensors(call: BatchDelivery) -> tuple[torch.Tensor | None, ...]:
    """Returns the kernel's first arguments."""
    stored = call.stored
    return call.chosen, call.shift, stored.bits, stored.starts, stored.entries, call.out


def numbers(call: BatchDelivery) -> tuple[int, ...]:
    """Returns the kernel's other arguments."""
    stored = call.stored
    group = math.gcd(stored.bins, WIDEST)
    return len(stored.bits), stored.bins // group, stored.shape[-1], group, ENTRIES


def kind(call: BatchDelivery) -> tuple:
    """Returns the key of a compiled kernel: types, absent tensors, alignment to 16 bytes, and
    numbers."""
    stored = call.stored
    lie = tuple(None if tensor is None else tensor.data_ptr() % 16 == 0 for tensor in tensors(call))
    return call.out.device, call.out.dtype, len(stored.bits), stored.bins, stored.shape[-1], lie


def _current(device: torch.device) -> contextlib.AbstractContextManager:
    """Makes a GPU current unless it is already: switching takes time."""
    if device.type != "cuda" or device.index == torch.cuda.current_device():
        return contextlib.nullcontext()
    return torch.cuda.device(device)
