"""The backends of the neuron, and which of them runs a call: the best for its device, or the one requested by name."""

import importlib
import warnings
from functools import lru_cache
from types import ModuleType

import torch

BACKENDS = {"cpu": ("cpp", "reference"), "cuda": ("triton", "cuda", "reference")}
"""By device type, the best first."""

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
    if requested is None:
        best, *others = BACKENDS.get(device_type, ("reference",))
        reason = unavailable(best, device_type, dtype)
        chosen = best if not reason else next(name for name in others if not unavailable(name, device_type, dtype))
        if chosen == "reference" != best and dtype != torch.float64:
            warnings.warn(f"the fused neuron runs as plain torch: {reason}", stacklevel=2)
        return chosen
    if requested not in MODULES:
        raise ValueError(f"backend = {requested!r} is not one of {', '.join(MODULES)}")
    if reason := unavailable(requested, device_type, dtype):
        raise RuntimeError(f"backend {requested!r} cannot run {str(dtype).removeprefix('torch.')} on {device_type}: {reason}")
    return requested
