"""Calls channels.cpp: the functions of `statistics` for contiguous currents (T, B, C, …) on CPUs.

torch needs some sixty calls for them, each as slow as the neuron of a small network.
"""

import ctypes
import struct
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from ..build import cpp
from ..lif.cpu.launch import GRAIN, TYPES
from ..lif.strides import MAX_DIMS


def takes(currents: Tensor, channel_dim: int) -> bool:
    """Returns True if these functions support such currents."""
    supported = (
        currents.device.type == "cpu"
        and currents.dtype in TYPES
        and currents.is_contiguous()
        and currents.numel() > 0
    )
    return (
        supported
        and currents.dim() > 2
        and channel_dim in (2, 2 - currents.dim())
        and cpp.unusable() is None
    )


def statistics(x: Tensor, channel_dim: int) -> tuple[Tensor, Tensor]:
    """Returns mean and biased variance (C,), float32."""
    mean, variance = _room(x, x.shape[2]), _room(x, x.shape[2])
    threads = min(torch.get_num_threads(), 1 + x.numel() // GRAIN)
    size = size_of(threads, x.shape[0] * x.shape[1], x.shape[2], x.shape[3:].numel())
    library(x.dtype).norm_statistics(size, *_addresses(x, mean, variance))
    return mean, variance


def rows(
    x: Tensor,
    channel_dim: int,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
) -> tuple[Tensor, ...]:
    """Returns scale, shift and mean, expanded to one step of x."""
    rows_of_channels, weight, bias = _room(x, 3, 1, *x.shape[2:]), _plain(weight), _plain(bias)
    arrays = _addresses(mean, variance, weight, bias, rows_of_channels)
    size = size_of(1, 1, x.shape[2], x.shape[3:].numel())
    library(x.dtype).norm_rows(size, *arrays, epsilon)
    return rows_of_channels.expand(-1, *x.shape[1:]).unbind()


def gradients(
    x: Tensor,
    channel_dim: int,
    errors: Tensor,
    by_current: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    epsilon: float,
    needed: bool,
) -> tuple[Tensor | None, ...]:
    """Returns the results of `statistics.gradients`, from contiguous sums."""
    by_weight, by_bias, weight = _room(x, x.shape[2]), _room(x, x.shape[2]), _plain(weight)
    mixed = _room(x, 2, 1, *x.shape[2:]) if needed else None
    arrays = _addresses(errors, by_current, variance, weight, by_weight, by_bias, mixed)
    threads = min(torch.get_num_threads(), 1 + errors.numel() // GRAIN)
    size = size_of(threads, x.shape[1], x.shape[2], x.shape[3:].numel())
    library(x.dtype).norm_gradients(size, *arrays, epsilon, x.numel() / x.shape[2])
    return (
        by_weight,
        by_bias,
        *((None, None) if mixed is None else mixed.expand(-1, *x.shape[1:]).unbind()),
    )


def _room(x: Tensor, *shape: int) -> Tensor:
    return x.new_empty(shape, dtype=torch.float32)  # independent of torch's default type and device


def _plain(parameter: Tensor | None) -> Tensor | None:
    return None if parameter is None else parameter.to(torch.float32).contiguous()


def _addresses(*arrays: Tensor | None) -> list[int | None]:
    return [None if array is None else array.data_ptr() for array in arrays]


@lru_cache(maxsize=4096)
def size_of(threads: int, outer: int, channels: int, inner: int, repeats: int = 1) -> bytes:
    """Returns the struct Size."""
    return struct.pack("=5q", threads, outer, channels, inner, repeats)


@lru_cache
def library(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the compiled functions for currents of a type."""
    compiled = cpp.kernel(
        Path(__file__).with_name("channels.cpp"),
        {"NORM_CURRENT": TYPES[dtype], "LIF_DIMS": MAX_DIMS},
    )
    size, array, number = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_float
    kinds = {
        "norm_statistics": [size, *[array] * 3],
        "norm_rows": [size, *[array] * 5, number],
        "norm_mix": [size, *[array] * 5],
        "norm_gradients": [size, *[array] * 7, number, ctypes.c_double],
    }
    for name, arguments in kinds.items():
        function = getattr(compiled, name)
        function.argtypes, function.restype = arguments, None
    return compiled
