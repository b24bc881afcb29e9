"""Copies of images between channels first and channels last: calls layouts.cpp, which is several
times as fast as torch's copies."""

import ctypes
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from ..build import cpp

OF_A_THREAD = 1 << 16
"""Numbers per thread."""


def pixels_last(x: Tensor) -> Tensor:
    """Returns (T, B, H, W, C) of (T, B, C, H, W), copied unless memory has that order."""
    pixels = x.permute(0, 1, 3, 4, 2)
    if pixels.is_contiguous() or not _takes(x):
        return pixels.contiguous()
    return _turned(x, x.shape[2], x.shape[3:].numel()).view(pixels.shape)


def channels_first(pixels: Tensor) -> Tensor:
    """Returns contiguous (T, B, C, H, W) of (T, B, H, W, C), copied unless memory has that
    order."""
    images = pixels.permute(0, 1, 4, 2, 3)
    if images.is_contiguous() or not _takes(pixels):
        return images.contiguous()
    return _turned(pixels, pixels.shape[2:4].numel(), pixels.shape[4]).view(images.shape)


def _takes(x: Tensor) -> bool:
    plain = x.dtype == torch.float32 and x.device.type == "cpu" and x.is_contiguous()
    return plain and x.numel() > 0 and cpp.unusable() is None


def _turned(x: Tensor, rows: int, columns: int) -> Tensor:
    """Returns images (columns, rows) of images (rows, columns)."""
    out, threads = torch.empty_like(x), min(torch.get_num_threads(), 1 + x.numel() // OF_A_THREAD)
    images = x.shape[:2].numel()
    _function()(threads, images, rows, columns, x.data_ptr(), out.data_ptr())
    return out


@lru_cache
def _function():
    function = cpp.kernel(Path(__file__).with_name("layouts.cpp"), {}).turn
    function.argtypes, function.restype = [ctypes.c_int64] * 4 + [ctypes.c_void_p] * 2, None
    return function
