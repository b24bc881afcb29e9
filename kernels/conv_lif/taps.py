"""Calls taps.cpp: the gradient by small images of any convolution on CPUs, tap by tap."""

import ctypes
import struct
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from ..build import cpp
from ..build.source import inlined
from ..linear.dense import WORK_OF_A_THREAD, checked

MOST_NUMBERS = 1 << 18
"""Numbers in the gradients by sums and by images up to which this is faster than oneDNN: they stay
in the cache."""


def takes(g: Tensor, image: torch.Size) -> bool:
    """Returns True if this is faster for g (T, B, H', W', N) by the sums of images (H, W, C)."""
    numbers = g.numel() + g.shape[:2].numel() * image.numel()
    return numbers <= MOST_NUMBERS and cpp.unusable() is None


def by_input(
    g: Tensor,
    image: torch.Size,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
) -> Tensor:
    """Returns the gradient by the images, (T, B, H, W, C), from contiguous g (T, B, H', W', N) and
    a weight (N, C, ky, kx)."""
    outputs, channels, *kernel = weight.shape
    result = g.new_empty(*g.shape[:2], *image)
    threads = min(torch.get_num_threads(), 1 + g.numel() * channels // WORK_OF_A_THREAD)
    sides = *g.shape[2:4], *image[:2], outputs, channels, *kernel, *stride, *padding
    numbers = struct.pack("=14q", threads, g.shape[:2].numel(), *sides)
    last = weight.permute(0, 2, 3, 1).contiguous()
    checked(_function()(numbers, g.data_ptr(), last.data_ptr(), result.data_ptr()))
    return result


@lru_cache
def _function():
    source = inlined(Path(__file__).with_name("taps.cpp"))
    function = cpp.library(source, ("-ffp-contract=fast",)).taps_by_images
    function.argtypes = [ctypes.c_char_p, *[ctypes.c_void_p] * 3]
    function.restype = ctypes.c_int64
    return function
