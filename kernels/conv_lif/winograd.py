"""Calls winograd.cpp: the gradient by the images of a 3 × 3 convolution of stride 1 or 2 on CPUs.

Its rounding error in float32 exceeds that of direct sums; `tests/kernels/conv_lif/test_winograd.py`
bounds it. Spikes never depend on it.
"""

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

MOST_WORK = 0.6
"""Largest share of the direct products for which the transforms are worth their time: small images
and few channels fill their tiles badly."""
COLUMNS = 32
"""Channels of dense.cpp's tile, at most."""
LEAST_TILES, WEIGHT_OF_A_TILE = 28, 1 << 13
"""Tiles, and tiles for so many numbers of the weight, for which its transform is worth its time."""


def takes(
    g: Tensor,
    image: Sequence[int],
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
) -> bool:
    """Returns True if this is faster for g (T, B, H', W', N) by the sums of images of this height
    and width and a weight (N, C, 3, 3)."""
    if tuple(weight.shape[2:]) != (3, 3) or cpp.unusable() is not None:
        return False
    if tuple(stride) == (2, 2) and tuple(padding) == (1, 1):
        tiles = -(-image[0] // 8) * -(-image[1] // 8)
        products, direct = 81 * tiles, 9 * g.shape[2:4].numel()
    elif max(stride) == 1 and max(padding) <= 2:
        tiles = -(-image[0] // 4) * -(-image[1] // 4)
        products, direct = 36 * tiles, 9 * image[0] * image[1]
    else:
        return False
    channels = weight.shape[1]
    filled = channels / (-(-channels // COLUMNS) * COLUMNS)
    least = max(LEAST_TILES, weight.numel() // WEIGHT_OF_A_TILE)
    return products <= MOST_WORK * filled * direct and tiles * g.shape[:2].numel() >= least


def by_input(
    g: Tensor,
    image: Sequence[int],
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
) -> Tensor:
    """Returns the gradient by the images, (T, B, H, W, C), from contiguous g (T, B, H', W', N) and
    a weight (N, C, 3, 3), where `takes` is True."""
    outputs, channels = weight.shape[:2]
    result = g.new_empty(*g.shape[:2], *image, channels)
    work = g.numel() * channels
    numbers = struct.pack(
        "=11q",
        min(torch.get_num_threads(), 1 + work // WORK_OF_A_THREAD),
        g.shape[:2].numel(),
        *g.shape[2:4],
        *image,
        outputs,
        channels,
        stride[0],
        *(2 - side if stride[0] == 1 else 0 for side in padding),
    )
    last = weight.permute(0, 2, 3, 1).contiguous()
    checked(_function()(numbers, g.data_ptr(), last.data_ptr(), result.data_ptr()))
    return result


@lru_cache
def _function():
    source = inlined(Path(__file__).with_name("winograd.cpp"))
    function = cpp.library(source, ("-ffp-contract=fast",)).winograd_by_images
    function.argtypes = [ctypes.c_char_p, *[ctypes.c_void_p] * 3]
    function.restype = ctypes.c_int64
    return function
