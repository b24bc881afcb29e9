"""Stores spikes in few bytes: eight 0/1 spikes in a byte, or one byte for each count."""

import ctypes
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from .build import cpp

LARGEST_COUNT = 255
SPIKES_PER_THREAD = 1 << 16


def packed_like(spikes: Tensor, most: int) -> Tensor:
    """Returns an unwritten tensor of the shape of `pack(spikes, most)`."""
    size = spikes.shape[-1]
    return spikes.new_empty(
        (*spikes.shape[:-1], -(-size // 8) if most == 1 else size), dtype=torch.uint8
    )


def pack(spikes: Tensor, most: int) -> Tensor:
    """Packs spikes (…, K), whole numbers from 0 to `most`, into uint8.

    Returns (…, ⌈K/8⌉) for `most` = 1: the first of eight spikes is the lowest bit, and zeros fill
    the last byte. Returns one byte for each count, (…, K), for `most` > 1.
    """
    if most > 1:
        return spikes.to(torch.uint8)
    if _compiled(spikes):
        stored = packed_like(spikes, most)
        _call("pack", spikes, stored)
        return stored
    fired = spikes != 0
    padded = torch.nn.functional.pad(fired, (0, -fired.shape[-1] % 8)).unflatten(-1, (-1, 8))
    stored = padded[..., 0].to(torch.uint8)
    for bit in range(1, 8):
        stored |= padded[..., bit].to(torch.uint8) << bit
    return stored


def unpack(stored: Tensor, most: int, out: Tensor) -> None:
    """Inverts `pack`: writes all of `out` (…, K), of any number type."""
    if most > 1:
        out.copy_(stored)
        return
    if _compiled(out):
        return _call("unpack", out, stored.contiguous())
    count = out.shape[-1]
    for bit in range(min(8, count)):
        every_eighth = out[..., bit::8]
        every_eighth.copy_((stored[..., : every_eighth.shape[-1]] >> bit) & 1)


def _compiled(spikes: Tensor) -> bool:
    """Returns True if bits.cpp can pack such spikes."""
    supported = (
        spikes.device.type == "cpu" and spikes.dtype == torch.float32 and spikes.is_contiguous()
    )
    return supported and spikes.shape[-1] % 8 == 0 and cpp.unusable() is None


def _call(name: str, spikes: Tensor, stored: Tensor) -> None:
    threads = min(torch.get_num_threads(), 1 + spikes.numel() // SPIKES_PER_THREAD)
    first, second = (spikes, stored) if name == "pack" else (stored, spikes)
    getattr(_library(), name)(threads, spikes.numel(), first.data_ptr(), second.data_ptr())


@lru_cache
def _library() -> ctypes.CDLL:
    library = cpp.kernel(Path(__file__).with_name("bits.cpp"), {})
    for function in (library.pack, library.unpack):
        function.argtypes, function.restype = (
            [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p],
            None,
        )
    return library
