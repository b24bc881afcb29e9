"""Launches the Triton kernel once for a batch, on CUDA devices, or in Triton's interpreter on the CPU."""

import math

import torch

from ...lif.triton.launch import DTYPES, TritonLaunch
from ...lif.triton.launch import unavailable as triton_unavailable
from ..storage import Delivery
from .kernels import deliver_kernel

ENTRIES, WARPS = 128, 4
"""Entries that are added at once: a tile of SSC at 4 ms and 100 channels has about as many."""

WIDEST = 16
"""Neighbouring bins of which Triton may know that they begin at a multiple of their number."""


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    if dtype not in DTYPES:
        return "it delivers float32, float16 or bfloat16"
    return triton_unavailable(device, dtype)


def deliver(call: Delivery) -> None:
    launch(call)(call.out.device)


def launch(call: Delivery) -> TritonLaunch:
    stored = call.stored
    group = math.gcd(stored.bins, WIDEST)
    arguments = {
        **{"chosen": call.chosen, "shift": call.shift},
        **{"bits": stored.bits, "starts": stored.starts, "entries": stored.entries, "out": call.out},
        **{"recordings": len(stored.bits), "groups": stored.bins // group, "channels": stored.shape[-1]},
        **{"GROUP": group, "ENTRIES": ENTRIES, "num_warps": WARPS, "enable_fp_fusion": False},
    }
    return TritonLaunch(deliver_kernel, len(call.chosen) * stored.tiles, arguments)
