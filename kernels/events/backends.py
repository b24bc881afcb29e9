"""The backends that deliver batches of packed frames, and which of them runs a call."""

import importlib
from functools import lru_cache
from types import ModuleType

import torch

from .. import choice

BACKENDS = {"cpu": ("cpp", "reference"), "cuda": ("triton", "reference")}
"""By device type, the best first."""

MODULES = {"reference": ".reference", "cpp": ".compiled", "triton": ".triton.launch"}
"""The module of each backend."""


@lru_cache
def module(name: str) -> ModuleType:
    """The module of a backend: `deliver(call)`, and `unavailable(device, dtype)`, why it cannot deliver batches of a type on a
    device, in words for the user; None if it can."""
    return importlib.import_module(MODULES[name], __package__)


@lru_cache
def unavailable(name: str, device_type: str, dtype: torch.dtype) -> str | None:
    """The backend's own reason, or the package that is missing."""
    try:
        return module(name).unavailable(torch.device(device_type), dtype)
    except ImportError as error:
        return f"{error.name} is not installed"


def choose(device_type: str, dtype: torch.dtype, requested: str | None = None) -> str:
    """The backend that runs: `requested`, or the first of BACKENDS that is available. Raises ValueError if `requested` is unknown
    and RuntimeError, with the reason, if it cannot run."""
    return choice.choose(
        "packed frames are delivered",
        BACKENDS.get(device_type, ("reference",)),
        MODULES,
        lambda name: unavailable(name, device_type, dtype),
        requested,
        cannot=f"{str(dtype).removeprefix('torch.')} on {device_type}",
        warn=dtype == torch.float32,
    )
