"""Launches lif_forward.cu and lif_backward.cu, which NVRTC compiles for the tensors of a call.

One thread computes a few neighbouring sequences with the state in registers. The .cu files document
loads, stores, bytes for each element and assumptions on strides. This module chooses how many steps
are loaded ahead, by the bytes that must be in flight to keep the memory busy.
"""

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch

from ...build import nvrtc
from ...spec import NeuronSpec
from ..contract import CHECKPOINT_STEPS, Call, Forward, neuron_macros, neuron_numbers
from ..strides import walk

HERE = Path(__file__).parent

TYPES = {
    torch.float32: "float",
    torch.float64: "double",
    torch.float16: "LifHalf",
    torch.bfloat16: "LifBfloat",
    torch.uint8: "LifByte",
}

BYTES_IN_FLIGHT = 2_800_000
"""Bytes in flight for an H200's full rate: 4.3 TB/s times a latency of about 650 ns."""

MANY_SEQUENCES = 65_536
"""Sequences from which on threads compute several neighbours by wide loads; enough threads
remain."""

DEPTHS = (8, 16, 32, 64)
"""Steps that the forward kernel can load ahead: divisors or multiples of CHECKPOINT_STEPS."""

BUFFER_REGISTERS = 128
"""Registers, of a thread's 255, for the forward kernel's two buffers."""

SHORT_INDEX = 2**31
"""Most sequences that threads count in 32 bits."""

ABSENT, STRIDED, DENSE = 0, 1, 2

WRITES_PARTS = True


class Kind(NamedTuple):
    """Properties of a tensor that a plan depends on."""

    dtype: torch.dtype
    strides: tuple[int, ...]
    misaligned: int
    """Address modulo 16."""


@dataclass(frozen=True)
class CudaLaunch:
    """One kernel launch; arguments are int or c_float."""

    program: nvrtc.CudaProgram
    grid: int
    block: int
    arguments: tuple
    device: torch.device


@dataclass(frozen=True)
class LaunchPlan:
    """A launch without the tensors' addresses."""

    program: nvrtc.CudaProgram
    grid: int
    block: int
    strides: tuple[tuple[int, ...], ...]
    """Strides beside time of each present tensor, in the kernel's order."""
    numbers: tuple
    """The arguments after the tensors."""


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    if device.type != "cuda":
        return "it needs a CUDA device"
    if dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return "it computes in float32"
    if not torch.cuda.is_available():
        return "torch finds no CUDA device"
    if torch.cuda.get_device_capability(device) < (8, 0):
        return "it needs compute capability 8.0"
    return nvrtc.unavailable()


def run(call: Call, launch: Callable[[CudaLaunch], None] = nvrtc.launch) -> None:
    launch(prepare(call))


forward = backward = run


def prepare(call: Call) -> CudaLaunch:
    tensors, next_part = call.tensors(), []
    if (parts := tensors.get("grad_parts")) is not None:
        tensors["grad_parts"], next_part = parts[0], [parts.stride(0)]
    kinds = tuple(
        (name, None if t is None else Kind(t.dtype, t.stride(), t.data_ptr() % 16))
        for name, t in tensors.items()
    )
    plan = make_plan(
        call.spec, call.currents.shape, kinds, bits=isinstance(call, Forward) and call.bits
    )
    present = [t for t in tensors.values() if t is not None]
    addressed = [
        n
        for t, strides in zip(present, plan.strides, strict=True)
        for n in (t.data_ptr(), *strides)
    ]
    return CudaLaunch(
        plan.program,
        plan.grid,
        plan.block,
        (*addressed, *next_part, *plan.numbers),
        call.currents.device,
    )


@lru_cache(maxsize=4096)
def make_plan(
    spec: NeuronSpec, shape: torch.Size, kinds: tuple[tuple[str, Kind | None], ...], bits: bool
) -> LaunchPlan:
    """Returns the plan for tensors of these kinds, cached: planning takes longer than a small
    kernel."""
    call = CudaCall(spec, shape, dict(kinds), bits)
    return call.forward_plan(bits) if "spikes" in call.kinds else call.backward_plan()


def forward_width(sequences: int, wide: bool, bits: bool) -> int:
    """Returns neighbouring sequences per thread: 8 with `bits`, 4 for many sequences with `wide`
    loads, else 1."""
    if bits:
        return 8
    return 4 if wide and sequences >= MANY_SEQUENCES else 1


def forward_depth(sequences: int, item_bytes: int, width: int, steps: int) -> int:
    """Returns steps to load ahead: the fewest with BYTES_IN_FLIGHT that registers and steps
    allow."""
    registers = max(1, width * item_bytes // 4)
    fitting = [
        depth
        for depth in DEPTHS
        if 2 * depth * registers <= BUFFER_REGISTERS and depth < 2 * max(steps, DEPTHS[0])
    ]
    enough = [depth for depth in fitting if sequences * item_bytes * depth >= BYTES_IN_FLIGHT]
    return enough[0] if enough else fitting[-1]


def backward_shape(sequences: int, wide: bool, item_bytes: list[int]) -> tuple[int, bool]:
    """Returns neighbouring sequences per thread, and True if the next chunk is loaded ahead.

    `item_bytes` are the element sizes of the currents and of each loaded gradient. Two neighbours
    of a short type make one wide load. Loading ahead helps few sequences only: with many, other
    threads of a processor compute meanwhile. Registers limit both: a chunk takes CHECKPOINT_STEPS
    for each register of a step.
    """
    many = sequences >= MANY_SEQUENCES
    registers = {width: sum(max(1, width * size // 4) for size in item_bytes) for width in (1, 2)}
    width = 2 if wide and many and item_bytes[0] == 2 and registers[2] <= 2 else 1
    return width, not many and registers[1] <= 2


def block_size(threads: int) -> int:
    """Returns threads per block: small blocks spread few threads over an H200's 132 processors."""
    return 32 if threads <= 132 * 128 else 128


class CudaCall:
    """A call's tensors and strides, from which a plan follows."""

    def __init__(
        self, spec: NeuronSpec, shape: torch.Size, kinds: dict[str, Kind | None], bits: bool
    ):
        self.spec, self.shape, self.names = spec, shape, kinds.keys()
        self.kinds = {name: kind for name, kind in kinds.items() if kind is not None}
        strides = tuple((name, kind.strides) for name, kind in self.kinds.items())
        self.sizes, self.strides = walk(shape[1:], strides, "currents", keep_last=bits)
        self.sequences = math.prod(self.sizes)

    def forward_plan(self, bits: bool) -> LaunchPlan:
        wide = not bits and self.dense("currents", 4) and self.dense("spikes", 4)
        width = forward_width(self.sequences, wide, bits)
        depth = forward_depth(
            self.sequences, self.kinds["currents"].dtype.itemsize, width, self.shape[0]
        )
        return self.plan(
            "lif_forward",
            width,
            {"LIF_BITS": int(bits), "LIF_DEPTH": depth},
            strided="spikes" if bits else "",
        )

    def backward_plan(self) -> LaunchPlan:
        item_bytes = [
            self.kinds[name].dtype.itemsize
            for name in ("currents", "grad_spikes", "grad_trace")
            if name in self.kinds
        ]
        width, ahead = backward_shape(self.sequences, self.dense("currents", 2), item_bytes)
        # 4 blocks of 128 threads on each of 132 processors are one wave of 65,536 sequences, with
        # 128 registers per thread.
        few_values = len(item_bytes) <= 2 and self.kinds.keys().isdisjoint(
            ("mix_error", "sum_by_current", "grad_parts")
        )
        light = width == 1 and few_values and block_size(self.groups(width)) == 128
        macros = {"LIF_AHEAD": int(ahead), "LIF_BLOCKS": 4 if light else 1}
        return self.plan("lif_backward", width, macros, strided="grad_parts")

    def dense(self, name: str, width: int) -> bool:
        """Returns True if one aligned access reaches `width` neighbours of the last dim."""
        (dtype, _, misaligned), strides = self.kinds[name], self.strides[name]
        alignment = min(16, width * dtype.itemsize)
        steps = (misaligned, *(stride * dtype.itemsize for stride in strides[:-1]))
        in_line = self.sizes[-1] % width == 0 and strides[-1] == 1
        return width == 1 or (in_line and all(step % alignment == 0 for step in steps))

    def groups(self, width: int) -> int:
        """Returns the threads if each computes `width` neighbours of the last dim."""
        return self.sequences // self.sizes[-1] * -(-self.sizes[-1] // width)

    def plan(self, kernel: str, width: int, macros: dict, strided: str) -> LaunchPlan:
        """Adds the macros of neuron and tensors; the tensor `strided` is never accessed as
        dense."""
        groups = self.groups(width)
        block = block_size(groups)
        macros = {
            **macros,
            **neuron_macros(self.spec),
            **{
                "LIF_BLOCK": block,
                "LIF_WIDTH": width,
                "LIF_CHUNK": CHECKPOINT_STEPS,
                "LIF_DIMS": len(self.sizes),
            },
            "LIF_INDEX": "unsigned" if self.sequences <= SHORT_INDEX else "long long",
            "LIF_PARTIAL": int(self.sizes[-1] % width > 0),
            **{f"LIF_{name.upper()}": ABSENT for name in self.names},
        }
        strides = []
        for name, kind in self.kinds.items():
            stepped = len(kind.strides) == len(self.shape)
            dense = stepped and name != strided and width > 1 and self.dense(name, width)
            macros[f"LIF_{name.upper()}"] = DENSE if dense else STRIDED
            macros[f"LIF_TYPE_{name.upper()}"] = TYPES[kind.dtype]
            if stepped:
                macros[f"{name}_step"] = f"{self.strides[name][0]}LL"
            strides.append(self.strides[name][1:])
        numbers = (
            self.shape[0],
            groups,
            *self.sizes,
            *map(ctypes.c_float, neuron_numbers(self.spec)),
        )
        program = nvrtc.CudaProgram(HERE / f"{kernel}.cu", tuple(macros.items()))
        return LaunchPlan(program, -(-groups // block), block, tuple(strides), numbers)
