"""Launches the Triton kernel once for a batch, on CUDA devices, or in Triton's interpreter on the CPU.

Triton looks at every argument of a launch to find the compiled kernel, which takes the host longer than the device takes for a
batch. Here the kernel is kept for calls of a kind.
"""

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import torch

from ...lif.triton.launch import DTYPES
from ...lif.triton.launch import unavailable as triton_unavailable
from ..storage import Delivery
from .kernels import deliver_kernel

ENTRIES, WARPS = 128, 4
"""Entries that are added at once: a tile of SSC at 4 ms and 100 channels has about as many."""

WIDEST = 16
"""Neighbouring bins of which Triton may know that they begin at a multiple of their number."""

OPTIONS = {"num_warps": WARPS, "enable_fp_fusion": False}


@dataclass(frozen=True)
class Ready:
    """A kernel that Triton has compiled for calls of one kind, and the arguments that follow their tensors."""

    compiled: Any
    numbers: tuple[int, ...]


_ready: dict[tuple, Ready] = {}


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    if dtype not in DTYPES:
        return "it delivers float32, float16 or bfloat16"
    return triton_unavailable(device, dtype)


def deliver(call: Delivery) -> None:
    given, device = tensors(call), call.out.device
    grid = (len(call.chosen) * call.stored.tiles, 1, 1)
    with _current(device):
        key = kind(call)
        if ready := _ready.get(key):
            ready.compiled[grid](*given, *ready.numbers)
            return
        compiled = deliver_kernel[grid](*given, *numbers(call), **OPTIONS)
        if compiled is not None:  # the interpreter compiles nothing
            _ready[key] = Ready(compiled, numbers(call))


def tensors(call: Delivery) -> tuple[torch.Tensor | None, ...]:
    """The kernel's first arguments."""
    stored = call.stored
    return call.chosen, call.shift, stored.bits, stored.starts, stored.entries, call.out


def numbers(call: Delivery) -> tuple[int, ...]:
    """The kernel's other arguments."""
    stored = call.stored
    group = math.gcd(stored.bins, WIDEST)
    return len(stored.bits), stored.bins // group, stored.shape[-1], group, ENTRIES


def kind(call: Delivery) -> tuple:
    """What a compiled kernel and its numbers depend on: Triton compiles for types, for tensors that are None, for addresses that
    are multiples of 16, and for numbers."""
    stored = call.stored
    lie = tuple(None if tensor is None else tensor.data_ptr() % 16 == 0 for tensor in tensors(call))
    return call.out.device, call.out.dtype, len(stored.bits), stored.bins, stored.shape[-1], lie


def _current(device: torch.device) -> contextlib.AbstractContextManager:
    """Makes a GPU the current one, which takes time, unless it is."""
    if device.type != "cuda" or device.index == torch.cuda.current_device():
        return contextlib.nullcontext()
    return torch.cuda.device(device)
