"""Launches the CUDA kernels of lif_forward.cu and lif_backward.cu, which NVRTC compiles for the tensors of a call.

One thread computes a few neighbouring sequences with the state in registers. The .cu files say what is loaded and stored,
the bytes for each element and what is assumed of strides. This module decides how many steps are loaded ahead, by the number
of bytes that must be in flight to keep the memory busy.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ...build import nvrtc
from ...spec import NeuronSpec
from ...work import CHECKPOINT_STEPS
from ..contract import Backward, Forward, neuron_macros, neuron_numbers
from ..strides import MAX_DIMS, walk

HERE = Path(__file__).parent

TYPES = {
    torch.float32: "float",
    torch.float64: "double",
    torch.float16: "LifHalf",
    torch.bfloat16: "LifBfloat",
    torch.uint8: "LifByte",
}

BYTES_IN_FLIGHT = 2_800_000
"""Bytes of loads in flight that an H200 needs to read at its full rate: 4.3 TB/s times a latency of about 650 ns."""

MANY_SEQUENCES = 65_536
"""From this number on a thread computes several neighbouring sequences, whose loads are wide; enough threads are left."""

DEPTHS = (8, 16, 32, 64)
"""Numbers of steps that the forward kernel can load ahead; each divides CHECKPOINT_STEPS or is a multiple of it."""

BUFFER_REGISTERS = 128
"""Registers, of a thread's 255, for the forward kernel's two buffers."""

SHORT_INDEX = 2**31
"""Up to this number of sequences threads count them in 32 bits."""

ABSENT, STRIDED, DENSE = 0, 1, 2

Tensors = dict[str, Tensor | None]
"""A call's tensors by name."""


@dataclass(frozen=True)
class CudaLaunch:
    """One kernel launch; its arguments are int or c_float."""

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
    """Of each tensor that is present, in the kernel's order."""
    numbers: tuple
    """The arguments after the tensors."""


PLANS: dict[tuple, LaunchPlan] = {}
"""Plans by everything that they depend on. Making a plan takes longer than a small kernel."""

MOST_PLANS = 4096

WRITES_PARTS = True
"""This backend writes `Backward.grad_parts`."""


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why this backend cannot run on the device, in words for the user; None if it can."""
    if device.type != "cuda":
        return "it needs a CUDA device"
    if dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return "it computes in float32"
    if not torch.cuda.is_available():
        return "torch finds no CUDA device"
    if torch.cuda.get_device_capability(device) < (8, 0):
        return "it needs compute capability 8.0"
    return nvrtc.unavailable()


def forward(call: Forward, launch: Callable[[CudaLaunch], None] = nvrtc.launch) -> None:
    launch(prepare_forward(call))


def backward(call: Backward, launch: Callable[[CudaLaunch], None] = nvrtc.launch) -> None:
    launch(prepare_backward(call))


def prepare_forward(call: Forward) -> CudaLaunch:
    stepped = {"trace": call.trace, "checkpoints": call.checkpoints, "currents": call.currents, "spikes": call.spikes}
    inner = {"state": call.state, "scale": call.scale, "shift": call.shift, "final_state": call.final_state}
    return prepare("lif_forward", plan_forward, call.spec, call.currents, stepped, inner, call.bits)


def prepare_backward(call: Backward) -> CudaLaunch:
    writes_gradient = call.grad_currents is not None or call.grad_parts is not None
    mix = call.mix if call.mix is not None and writes_gradient else (None, None, None)
    stepped = {
        "grad_spikes": call.grad_spikes,
        "grad_trace": call.grad_trace,
        "grad_currents": call.grad_currents,
        "part": None if call.grad_parts is None else call.grad_parts[0],
        "currents": call.currents,
        "checkpoints": call.checkpoints,
    }
    inner = {
        "scale": call.scale,
        "shift": call.shift,
        "grad_final": call.grad_final,
        "center": call.center if mix[0] is not None or call.sum_by_current is not None else None,
        "mix_error": mix[0],
        "mix_current": mix[1],
        "mix_constant": mix[2],
        "grad_state": call.grad_state,
        "sum_error": call.sum_error,
        "sum_by_current": call.sum_by_current,
    }
    next_part = () if call.grad_parts is None else (call.grad_parts.stride(0),)
    return prepare("lif_backward", plan_backward, call.spec, call.currents, stepped, inner, numbers=next_part)


def prepare(
    kernel: str, make: Callable, spec: NeuronSpec, currents: Tensor, stepped: dict, inner: dict, *options, numbers: tuple = ()
) -> CudaLaunch:
    """The launch of `kernel` with tensors by name, those with time (`stepped`) and without (`inner`), then `numbers`.

    `make(CudaCall, *options)` makes the plan unless PLANS has it.
    """
    tensors = [*stepped.values(), *inner.values()]
    layouts = tuple(None if t is None else (t.dtype, t.stride(), t.data_ptr() % 16) for t in tensors)
    key = (kernel, spec, currents.shape, layouts, options, numbers)
    if key not in PLANS:
        if len(PLANS) >= MOST_PLANS:
            PLANS.clear()
        PLANS[key] = make(CudaCall(kernel, spec, stepped, inner, numbers, *options), *options)
    plan = PLANS[key]
    present = [t for t in tensors if t is not None]
    addressed = [n for t, strides in zip(present, plan.strides, strict=True) for n in (t.data_ptr(), *strides)]
    return CudaLaunch(plan.program, plan.grid, plan.block, (*addressed, *plan.numbers), currents.device)


def plan_forward(call: "CudaCall", bits: bool) -> LaunchPlan:
    wide = not bits and call.dense("currents", 4) and call.dense("spikes", 4)
    width = forward_width(call.sequences, wide, bits)
    depth = forward_depth(call.sequences, call.present("currents").element_size(), width, call.steps)
    macros = {"LIF_BITS": int(bits), "LIF_DEPTH": depth}
    return call.plan(width, macros, strided=("spikes",) if bits else ())


def plan_backward(call: "CudaCall") -> LaunchPlan:
    loaded = [call.stepped[name] for name in ("currents", "grad_spikes", "grad_trace")]
    item_bytes = [tensor.element_size() for tensor in loaded if tensor is not None]
    width, ahead = backward_shape(call.sequences, call.dense("currents", 2), item_bytes)
    # 3 blocks where registers allow 384 threads on a processor: without this bound the compiler spills to fit more.
    holds_x = call.inner["mix_error"] is not None or call.inner["sum_by_current"] is not None
    few_values = len(item_bytes) <= 2 and not holds_x and call.stepped["part"] is None
    light = width == 1 and few_values and block_size(call.groups(width)) == 128
    return call.plan(width, {"LIF_AHEAD": int(ahead), "LIF_BLOCKS": 3 if light else 1}, strided=("part",))


def forward_width(sequences: int, wide: bool, bits: bool) -> int:
    """Neighbouring sequences of a thread: those of one byte with `bits`, four if loads can be `wide` and sequences are many."""
    if bits:
        return 8
    return 4 if wide and sequences >= MANY_SEQUENCES else 1


def forward_depth(sequences: int, item_bytes: int, width: int, steps: int) -> int:
    """Steps to load ahead: the fewest with BYTES_IN_FLIGHT, within the limits of registers and time steps."""
    registers = max(1, width * item_bytes // 4)
    fitting = [depth for depth in DEPTHS if 2 * depth * registers <= BUFFER_REGISTERS and depth < 2 * max(steps, DEPTHS[0])]
    enough = [depth for depth in fitting if sequences * item_bytes * depth >= BYTES_IN_FLIGHT]
    return enough[0] if enough else fitting[-1]


def backward_shape(sequences: int, wide: bool, item_bytes: list[int]) -> tuple[int, bool]:
    """(neighbouring sequences of a thread, whether the next chunk is loaded while one is computed).

    `item_bytes` are the element sizes of the currents and of each gradient that is loaded. Two neighbours of a short type make
    one wide load. Loading a chunk ahead helps few sequences only: with many, other threads of a processor compute meanwhile.
    Both are limited by registers, of which a chunk takes CHECKPOINT_STEPS for each register that a step is loaded into.
    """
    many = sequences >= MANY_SEQUENCES
    registers = {width: sum(max(1, width * size // 4) for size in item_bytes) for width in (1, 2)}
    width = 2 if wide and many and item_bytes[0] == 2 and registers[2] <= 2 else 1
    return width, not many and registers[1] <= 2


def block_size(threads: int) -> int:
    """Threads of a block: small blocks spread few threads over all 132 processors of an H200."""
    return 32 if threads <= 132 * 128 else 128


class CudaCall:
    """A call's tensors by name and their strides, from which a plan follows."""

    def __init__(
        self, kernel: str, spec: NeuronSpec, stepped: Tensors, inner: Tensors, numbers: tuple[int, ...], keep_last: bool = False
    ):
        self.kernel, self.spec, self.stepped, self.inner, self.numbers = kernel, spec, stepped, inner, numbers
        self.steps = len(self.present("currents"))
        layout, self.strides = walk({"currents": stepped["currents"], **stepped}, inner, keep_last)
        self.sizes, self.sequences = layout.sizes, layout.count
        self.dims = max(1, MAX_DIMS - next((d for d, size in enumerate(self.sizes) if size > 1), MAX_DIMS))

    def present(self, name: str) -> Tensor:
        """A tensor with time that must not be None."""
        tensor = self.stepped[name]
        assert tensor is not None, name
        return tensor

    def dense(self, name: str, width: int) -> bool:
        """Whether `width` neighbours of the last dim always lie side by side and aligned, so that one access reaches them."""
        tensor, strides = self.present(name), self.strides[name]
        alignment = min(16, width * tensor.element_size())
        steps = (tensor.data_ptr(), *(stride * tensor.element_size() for stride in strides[:-1]))
        in_line = self.sizes[-1] % width == 0 and strides[-1] == 1
        return width == 1 or (in_line and all(step % alignment == 0 for step in steps))

    def groups(self, width: int) -> int:
        """Threads needed when each computes `width` neighbours of the last dim."""
        return self.sequences // self.sizes[-1] * -(-self.sizes[-1] // width)

    def plan(self, width: int, macros: dict, strided: tuple[str, ...] = ()) -> LaunchPlan:
        """`macros` are added to those of the neuron and the tensors; tensors named in `strided` are never read as dense."""
        groups = self.groups(width)
        block = block_size(groups)
        macros = {
            **macros,
            **neuron_macros(self.spec),
            "LIF_BLOCK": block,
            "LIF_WIDTH": width,
            "LIF_CHUNK": CHECKPOINT_STEPS,
            "LIF_DIMS": self.dims,
            "LIF_INDEX": "unsigned" if self.sequences <= SHORT_INDEX else "long long",
            "LIF_PARTIAL": int(self.sizes[-1] % width > 0),
        }
        strides = []
        for name, tensor in self.stepped.items():
            macros[f"LIF_{name.upper()}"] = ABSENT
            if tensor is not None:
                dense = name not in strided and width > 1 and self.dense(name, width)
                macros[f"LIF_{name.upper()}"] = DENSE if dense else STRIDED
                macros[f"LIF_TYPE_{name.upper()}"] = TYPES[tensor.dtype]
                strides.append((self.strides[name][0], *self.strides[name][-self.dims :]))
        for name, tensor in self.inner.items():
            macros[f"LIF_{name.upper()}"] = ABSENT if tensor is None else STRIDED
            if tensor is not None:
                strides.append(self.strides[name][-self.dims :])
        walk_numbers = (self.steps, groups, *self.sizes[-self.dims :])
        numbers = (*self.numbers, *walk_numbers, *map(ctypes.c_float, neuron_numbers(self.spec)))
        program = nvrtc.CudaProgram(HERE / f"{self.kernel}.cu", tuple(macros.items()))
        return LaunchPlan(program, -(-groups // block), block, tuple(strides), numbers)
