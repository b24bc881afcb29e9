"""The backends of the neuron, and which of them runs a call: the best for its device, or the one requested by name."""

import importlib
from functools import lru_cache
from types import ModuleType

import torch

from .. import choice

BACKENDS = {"cpu": ("cpp", "reference"), "cuda": ("cuda", "triton", "reference")}
"""By device type, the best first. A launch of `cuda` takes the host a third of Triton's time, which is what a call of few numbers
takes; in large calls it does not matter."""

MODULES = {"reference": ".reference", "cpp": ".cpu.launch", "triton": ".triton.launch", "cuda": ".cuda.launch"}
"""The module of each backend."""


@lru_cache
def module(name: str) -> ModuleType:
    """The module of a backend: `forward(call)`, `backward(call)`, WRITES_PARTS (whether it writes `Backward.grad_parts`) and
    `unavailable(device, dtype)`, why it cannot run tensors of a device and type, in words for the user; None if it can."""
    return importlib.import_module(MODULES[name], __package__)


@lru_cache
def unavailable(name: str, device_type: str, dtype: torch.dtype) -> str | None:
    """The backend's own reason, or the package that is missing."""
    try:
        return module(name).unavailable(torch.device(device_type), dtype)
    except ImportError as error:
        return f"{error.name} is not installed"


@torch.compiler.assume_constant_result
def choose(device_type: str, dtype: torch.dtype, requested: str | None = None) -> str:
    """The backend that runs: `requested`, or the first of BACKENDS that is available. Raises ValueError if `requested` is unknown
    and RuntimeError, with the reason, if it cannot run."""
    return choice.choose(
        "the fused neuron runs",
        BACKENDS.get(device_type, ("reference",)),
        MODULES,
        lambda name: unavailable(name, device_type, dtype),
        requested,
        cannot=f"{str(dtype).removeprefix('torch.')} on {device_type}",
        warn=dtype != torch.float64,
    )
