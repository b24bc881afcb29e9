"""Convolutions of spikes that skip zeros, for float32 images (T, B, H, W, C) on CPUs: calls
windows.cpp.

Spikes become fields of bits, a field for each pixel and 64 channels. The fields of a window select
rows of the weight as those of a linear layer do (`linear.launch`): one by one ("event") or by
tables of partial sums ("table"). Other images, and many counts above one, are convolved densely.
Products 0·∞ and 0·NaN are skipped, where a dense convolution is NaN.
"""

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from ..build import cpp
from ..linear import dense, record
from ..linear.dense import checked

COUNTS = (1, 3)
"""Largest counts that are tried."""
DENSE_FROM = 0.6
"""Share of the additions of a dense convolution from which on that one is faster."""
LEAST_CHANNELS, LEAST_WEIGHT = 8, 2048
"""Channels and numbers of a weight below which collecting windows takes longer than a dense
convolution."""
FIELDS = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}
"""Types of a field by its bits."""
PIXELS_OF_A_THREAD = 1 << 12
Pair = tuple[int, ...]


@dataclass(frozen=True)
class Spikes:
    """Spikes (T, B, H, W, C) as fields (power of two and 64 channels, T, B, H·W).

    `fields` is None while autograd holds them.
    """

    fields: Any
    image: tuple[int, int]
    channels: int
    counts: int
    share: float
    """Share of set bits."""

    def of(self, fields: Tensor | None) -> Self:
        """Returns the same with these fields."""
        return replace(self, fields=fields)

    def part(self, steps: slice, items: slice) -> Self:
        """Returns some of the images; the share stays that of all."""
        return self.of(self.fields[:, steps, items])

    def sums(self, weight: Tensor, stride: Pair, padding: Pair) -> Tensor:
        """Returns the convolution (T, B, H', W', N) with a weight (N, C, ky, kx)."""
        call = self._call("conv_forward", record.TABLES_FROM, weight, stride, padding)
        sums = weight.new_empty(*self.fields.shape[1:3], *call.places, len(weight))
        call(self.fields, weight.permute(0, 2, 3, 1).contiguous(), sums)
        return sums

    def by_weight(self, g: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> Tensor:
        """Returns the gradient by the weight (N, C, ky, kx), of which no number is read, from that
        by the sums, g (T, B, H', W', N), contiguous."""
        gradient = weight.new_empty(len(weight), *weight.shape[2:], self.channels)
        call = self._call("conv_backward", record.TABLES_FROM_BACKWARD, weight, stride, padding)
        call(self.fields, g, gradient)
        return gradient.permute(0, 3, 1, 2)

    def _call(
        self, name: str, tables_from: float, weight: Tensor, stride: Pair, padding: Pair
    ) -> "_Call":
        kind = self.fields.dtype, self.counts, self.share > tables_from, torch.get_num_threads()
        shapes = self.fields.shape, self.fields.stride(), self.image, self.channels, weight.shape
        return _call(name, *shapes, stride, padding, *kind)


def spikes_of(x: Tensor, weight: Tensor, most: int) -> Spikes | None:
    """Returns the spikes of x (T, B, H, W, C), contiguous or a view of contiguous (T, B, C, H, W);
    None if a dense convolution with the weight is faster, or x holds anything else.

    `most` is the largest number in x, 0 if unknown. Records the choice.
    """
    worth = weight.shape[1] >= LEAST_CHANNELS and weight.numel() >= LEAST_WEIGHT
    counts = [count for count in COUNTS if worth and count >= most]
    spikes = next((found for count in counts if (found := _packed(x, count))), None)
    if spikes is not None:
        additions = min(spikes.share, record.TABLES_FROM) * spikes.counts.bit_length()
        spikes = spikes if additions < DENSE_FROM else None
    counted = 1 if spikes is None else spikes.counts
    ran = record.of((x.shape[:4].numel(), 1, x.shape[4]), len(weight), counted)
    ran.ones = -1 if spikes is None else round(spikes.share * x.numel() * counted.bit_length())
    return spikes


def _packed(x: Tensor, counts: int) -> Spikes | None:
    numbers, shape, dtype = _packing(x.shape, x.is_contiguous(), counts, torch.get_num_threads())
    fields = x.new_empty(shape, dtype=dtype)
    ones = _library(64).conv_pack(numbers, x.data_ptr(), fields.data_ptr())
    if ones < 0:
        return None
    share = ones / (x.numel() * counts.bit_length())
    return Spikes(fields, (x.shape[2], x.shape[3]), x.shape[4], counts, share)


@lru_cache(maxsize=4096)
def _packing(
    x: torch.Size, last: bool, counts: int, threads: int
) -> tuple[bytes, tuple[int, ...], torch.dtype]:
    """Returns the struct Image of x (T, B, H, W, C), in memory with its channels `last` or else
    (T, B, C, H, W), and shape and type of its fields."""
    steps, batch, height, width, channels = x
    bits = next(bits for bits in FIELDS if bits >= min(channels, 64))
    pixels, parts = x[:4].numel(), counts.bit_length() * -(-channels // 64)
    threads = min(threads, 1 + pixels // PIXELS_OF_A_THREAD)
    of_image = 0 if last else height * width
    numbers = struct.pack("=6q", threads, pixels, channels, counts, bits // 8, of_image)
    return numbers, (parts, steps, batch, height * width), FIELDS[bits]


@dataclass(frozen=True)
class _Call:
    """A compiled function, its packed numbers, and height and width of the sums."""

    function: Callable[..., int]
    numbers: bytes
    window: bytes
    places: tuple[int, ...]

    def __call__(self, *arrays: Tensor) -> None:
        addresses = [array.data_ptr() for array in arrays]
        checked(self.function(self.numbers, self.window, *addresses))


@lru_cache(maxsize=4096)
def _call(
    name, fields, strides, image, channels, weight, stride, padding, type_, counts, tables, threads
):
    _, steps, items, _ = fields
    outputs, _, *kernel = weight
    sides = zip(image, kernel, stride, padding, strict=True)
    places = tuple((side + 2 * pad - size) // apart + 1 for side, size, apart, pad in sides)
    rows, inputs = steps * items * places[0] * places[1], channels * kernel[0] * kernel[1]
    threads = min(threads, 1 + rows * inputs * outputs // dense.WORK_OF_A_THREAD)
    numbers = struct.pack(
        "=9qdq4f", threads, rows, 1, inputs, outputs, counts, outputs, outputs, 1,
        -1.0 if tables else 2.0, 0, *[1.0] * 4,
    )  # fmt: skip
    pairs = image, kernel, stride, padding, places
    packed = struct.pack(
        "=16q", channels, *(n for pair in pairs for n in pair), *strides[:3], items, type_.itemsize
    )
    block = next(block for block in (16, 32, 64) if block >= min(outputs, 64))
    return _Call(getattr(_library(block), name), numbers, packed, places)


@lru_cache
def _library(block: int) -> ctypes.CDLL:
    macros = {
        "LINEAR_FORWARD": 1,
        "LINEAR_BACKWARD": 1,
        "LINEAR_NEURON": 0,
        "LINEAR_BLOCK": block,
        **dict.fromkeys(("LINEAR_INPUT", "LINEAR_WEIGHT", "LINEAR_SPIKE", "LINEAR_SUM"), "float"),
    }
    library = cpp.kernel(Path(__file__).with_name("windows.cpp"), macros)
    array, numbers, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64
    kinds = {
        "conv_pack": [numbers, array, array],
        "conv_forward": [numbers, numbers, array, array, array],
        "conv_backward": [numbers, numbers, array, array, array],
    }
    for name, arguments in kinds.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, number
    return library
