"""The recurrence as CUDA kernels (lif_forward.cu, lif_backward.cu), compiled for what a call has by NVRTC through cuda-core.

One thread walks a few neighbouring sequences with the state in registers. What is loaded and stored, bytes per element
and assumptions on strides stand there; how many steps are loaded ahead is decided here, by how much memory must be
under way to keep the memory busy. Untested: no CUDA device has run this yet (the kernels' source has run on a CPU, and
their machine code has been read).
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ...build import nvrtc
from ...spec import RESETS, SURROGATES, NeuronSpec
from ...work import CHECKPOINT_STEPS
from ..contract import Backward, Forward
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
"""What must be under way to read at the full rate of an H200: 4.3 TB/s for about 650 ns."""

MANY_SEQUENCES = 65_536
"""From here on threads own neighbours: there are enough threads left, and each load is a wide one."""

DEPTHS = (8, 16, 32, 64)
"""Steps that the forward kernel may load ahead; each divides CHECKPOINT_STEPS or is a multiple of it."""

BUFFER_REGISTERS = 128
"""Of a thread's 255, what the forward kernel's two buffers may take."""

SHORT_INDEX = 2**31
"""Sequences that threads count in 32 bits."""

ABSENT, STRIDED, DENSE = 0, 1, 2


@dataclass(frozen=True)
class Launch:
    """One kernel launch: `program` is what is compiled, the kernel's name and its macros; arguments are int or c_float."""

    program: nvrtc.Program
    grid: int
    block: int
    arguments: tuple
    device: torch.device


@dataclass(frozen=True)
class Plan:
    """All of a launch but for where the tensors lie."""

    program: nvrtc.Program
    grid: int
    block: int
    strides: tuple[tuple[int, ...], ...]
    """Of each tensor that is there, in the kernel's order."""
    numbers: tuple
    """The arguments after the tensors."""

    def launch(self, tensors: list[Tensor], device: torch.device) -> Launch:
        arguments: list = []
        for tensor, strides in zip(tensors, self.strides, strict=True):
            arguments.append(tensor.data_ptr())
            arguments.extend(strides)
        return Launch(self.program, self.grid, self.block, (*arguments, *self.numbers), device)


PLANS: dict[tuple, Plan] = {}
"""By everything that a plan depends on: making one takes longer than a small kernel."""

WRITES_PARTS = True
"""Whether `Backward.grad_parts` is written."""


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why this spelling cannot run there, None if it can."""
    if device.type != "cuda":
        return "it needs a CUDA device"
    if dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return "it computes in float32"
    if not torch.cuda.is_available():
        return "torch finds no CUDA device"
    if torch.cuda.get_device_capability(device) < (8, 0):
        return "it needs compute capability 8.0"
    return nvrtc.unavailable()


def forward(call: Forward, launch: Callable[[Launch], None] = nvrtc.launch) -> None:
    launch(prepare_forward(call))


def backward(call: Backward, launch: Callable[[Launch], None] = nvrtc.launch) -> None:
    launch(prepare_backward(call))


def prepare_forward(call: Forward) -> Launch:
    stepped = {"trace": call.trace, "checkpoints": call.checkpoints, "currents": call.currents, "spikes": call.spikes}
    inner = {"state": call.state, "scale": call.scale, "shift": call.shift, "final_state": call.final_state}
    return prepare("lif_forward", plan_forward, call.spec, call.currents, stepped, inner, call.bits)


def prepare_backward(call: Backward) -> Launch:
    written = call.grad_currents is not None or call.grad_parts is not None
    mix = call.mix if call.mix is not None and written else (None, None, None)
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
    distance = () if call.grad_parts is None else (call.grad_parts.stride(0),)
    return prepare("lif_backward", plan_backward, call.spec, call.currents, stepped, inner, numbers=distance)


def prepare(
    kernel: str, make: Callable, spec: NeuronSpec, currents: Tensor, stepped: dict, inner: dict, *options, numbers: tuple = ()
) -> Launch:
    """The launch for tensors by name: of a plan that is known already, or that `make(Task, *options)` finds. `numbers` come
    after the tensors."""
    given = [*stepped.values(), *inner.values()]
    known = tuple(None if t is None else (t.dtype, t.stride(), t.data_ptr() % 16) for t in given)
    key = (kernel, spec, currents.shape, known, options, numbers)
    if key not in PLANS:
        if len(PLANS) >= 4096:
            PLANS.clear()
        PLANS[key] = make(Task(kernel, spec, stepped, inner, len(currents), numbers, *options), *options)
    return PLANS[key].launch([t for t in given if t is not None], currents.device)


def plan_forward(task: "Task", bits: bool) -> Plan:
    wide = not bits and task.dense("currents", 4) and task.dense("spikes", 4)
    width = forward_width(task.sequences, wide, bits)
    depth = forward_depth(task.sequences, task.stepped["currents"].element_size(), width, task.steps)
    macros = {"LIF_BITS": int(bits), "LIF_DEPTH": depth}
    return task.plan(width, macros, strided=("spikes",) if bits else ())


def plan_backward(task: "Task") -> Plan:
    loaded = [task.stepped[name] for name in ("currents", "grad_spikes", "grad_trace")]
    item_bytes = [tensor.element_size() for tensor in loaded if tensor is not None]
    width, ahead = backward_shape(task.sequences, task.dense("currents", 2), item_bytes)
    # Said to be 3 where registers allow 384 threads a processor: left to itself the compiler spills to fit more.
    x_is_kept = task.inner["mix_error"] is not None or task.inner["sum_by_current"] is not None
    few_values = len(item_bytes) <= 2 and not x_is_kept and task.stepped["part"] is None
    light = width == 1 and few_values and block_size(task.groups(width)) == 128
    return task.plan(width, {"LIF_AHEAD": int(ahead), "LIF_BLOCKS": 3 if light else 1}, strided=("part",))


def forward_width(sequences: int, wide: bool, bits: bool) -> int:
    """Neighbouring sequences that a thread owns: a byte's with `bits`, four if they can be loaded at once and are many."""
    if bits:
        return 8
    return 4 if wide and sequences >= MANY_SEQUENCES else 1


def forward_depth(sequences: int, item_bytes: int, width: int, steps: int) -> int:
    """Steps to load ahead: the fewest that put BYTES_IN_FLIGHT under way, as far as registers and time steps go."""
    registers = max(1, width * item_bytes // 4)
    fitting = [depth for depth in DEPTHS if 2 * depth * registers <= BUFFER_REGISTERS and depth < 2 * max(steps, DEPTHS[0])]
    enough = [depth for depth in fitting if sequences * item_bytes * depth >= BYTES_IN_FLIGHT]
    return enough[0] if enough else fitting[-1]


def backward_shape(sequences: int, wide: bool, item_bytes: list[int]) -> tuple[int, bool]:
    """(neighbours that a thread owns, whether the next chunk is loaded while one is computed).

    `item_bytes` are those of the currents and of each gradient that is loaded. Two neighbours make one load of two short
    numbers. A chunk ahead is for few sequences: with many, other threads of a processor compute meanwhile. Both as far
    as registers go, of which a chunk takes CHECKPOINT_STEPS for each that a step is loaded into.
    """
    many = sequences >= MANY_SEQUENCES
    registers = {width: sum(max(1, width * size // 4) for size in item_bytes) for width in (1, 2)}
    width = 2 if wide and many and item_bytes[0] == 2 and registers[2] <= 2 else 1
    return width, not many and registers[1] <= 2


def block_size(threads: int) -> int:
    """Small blocks spread few threads over all of an H200's 132 processors."""
    return 32 if threads <= 132 * 128 else 128


class Task:
    """A call's tensors by name, how they are walked over, and the launch that follows."""

    def __init__(
        self,
        kernel: str,
        spec: NeuronSpec,
        stepped: dict[str, Tensor | None],
        inner: dict[str, Tensor | None],
        steps: int,
        numbers: tuple[int, ...] = (),
        keep_last: bool = False,
    ):
        self.kernel, self.spec, self.stepped, self.inner, self.steps = kernel, spec, stepped, inner, steps
        self.numbers = numbers
        first = {"currents": stepped["currents"]}
        layout, self.strides = walk({**first, **stepped}, inner, keep_last)
        self.sizes, self.sequences = layout.sizes, layout.count
        self.dims = max(1, MAX_DIMS - next((d for d, size in enumerate(self.sizes) if size > 1), MAX_DIMS))

    def dense(self, name: str, width: int) -> bool:
        """Whether `width` neighbours of the last dim always lie side by side, where one access can reach them."""
        tensor, strides = self.stepped[name], self.strides[name]
        alignment = min(16, width * tensor.element_size())
        steps = (tensor.data_ptr(), *(stride * tensor.element_size() for stride in strides[:-1]))
        in_line = self.sizes[-1] % width == 0 and strides[-1] == 1
        return width == 1 or (in_line and all(step % alignment == 0 for step in steps))

    def groups(self, width: int) -> int:
        """Threads that have sequences, each `width` of the last dim."""
        return self.sequences // self.sizes[-1] * -(-self.sizes[-1] // width)

    def plan(self, width: int, macros: dict, strided: tuple[str, ...] = ()) -> Plan:
        """`macros` beside those of neuron and tensors; tensors named in `strided` are never accessed as dense."""
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
                macros[f"LIF_{name.upper()}"] = (
                    DENSE if name not in strided and width > 1 and self.dense(name, width) else STRIDED
                )
                macros[f"LIF_TYPE_{name.upper()}"] = TYPES[tensor.dtype]
                strides.append((self.strides[name][0], *self.strides[name][-self.dims :]))
        for name, tensor in self.inner.items():
            macros[f"LIF_{name.upper()}"] = ABSENT if tensor is None else STRIDED
            if tensor is not None:
                strides.append(self.strides[name][-self.dims :])
        of_walk = (self.steps, groups, *self.sizes[-self.dims :])
        numbers = (*self.numbers, *of_walk, *map(ctypes.c_float, neuron_numbers(self.spec)))
        program = nvrtc.Program(HERE / f"{self.kernel}.cu", tuple(macros.items()))
        return Plan(program, -(-groups // block), block, tuple(strides), numbers)


def neuron_macros(spec: NeuronSpec) -> dict[str, int]:
    """What lif_step.h wants to know when it is compiled."""
    return {
        "LIF_RESET": RESETS.index(spec.reset),
        "LIF_DETACH": int(spec.detach_reset),
        "LIF_SURROGATE": SURROGATES.index(spec.surrogate),
        "LIF_MAX_SPIKES": spec.max_spikes,
    }


def neuron_numbers(spec: NeuronSpec) -> tuple[float, float, float, float]:
    """LifNeuron: decay, threshold, subtracted, slope."""
    return spec.decay, spec.threshold, spec.subtracted, spec.slope
