"""Launches the Triton kernels on CUDA devices, or in Triton's interpreter on the CPU."""

import contextlib
import math
import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
import triton

from ..contract import CHECKPOINT_STEPS, Backward, Call, Forward
from ..strides import walk
from .kernels import backward_kernel, forward_kernel

DTYPES = (torch.float32, torch.float16, torch.bfloat16)

INTERPRETED = not isinstance(forward_kernel, triton.JITFunction)
"""True if kernels are interpreted: Triton reads TRITON_INTERPRET on import."""

MANY_SEQUENCES = 64 * 1024
"""Float32 sequences from which on few steps of each keep the memory busy."""

WIDE_SEQUENCES = 2**31 - 2**16
"""Most sequences: the number at a block's end must fit into 32 bits."""

WRITES_PARTS = True


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    if dtype not in DTYPES:
        return "it computes in float32, from float32, float16 or bfloat16"
    if device.type == "cuda":
        return no_launcher()
    if device.type != "cpu":
        return "it needs a CUDA device"
    return (
        None
        if INTERPRETED
        else "on the CPU Triton only has an interpreter: set TRITON_INTERPRET=1 before Python"
        " starts"
    )


@lru_cache(maxsize=1)
def no_launcher() -> str | None:
    """Returns why Triton's launcher, compiled from C at the first launch, cannot be compiled, or
    None."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return (
            "Triton's launcher is written in C, and there is no C compiler (gcc or clang in PATH;"
            " set CC)"
        )
    command = [compiler, "-fsyntax-only", "-x", "c", "-I", sysconfig.get_paths()["include"], "-"]
    try:
        run = subprocess.run(command, input="#include <Python.h>\n", capture_output=True, text=True)
    except OSError as error:
        return f"Triton's launcher does not compile: {error}"
    errors = [line for line in run.stderr.splitlines() if "error" in line] or ["no message"]
    return f"Triton's launcher does not compile: {errors[0]}" if run.returncode else None


@dataclass(frozen=True)
class BlockShape:
    """Sequences of a block, its warps of 32 threads, and the time steps loaded at once."""

    block: int
    warps: int
    steps: int
    ahead: bool = True
    """True if the next chunk of steps is loaded before this one is computed."""


def forward_shape(count: int, element_bytes: int, dense: bool, bits: bool) -> BlockShape:
    """Returns the forward kernel's block for `count` sequences; `dense` is the result of `_dense`.

    Memory is busy while bandwidth × latency = 4.3 TB/s × 650 ns = 2.8 MB are in flight. With one
    sequence per thread and 32 steps, 16 Ki sequences of float32 have 2.1 MB in flight. Fewer
    sequences get blocks of one warp, so that every multiprocessor takes part. For many sequences 8
    steps are enough, and a thread loads 16 bytes of neighbouring sequences: such a tile needs no
    transposing, so there are fewer instructions per byte. Tensors that are not dense need an
    address for each step, and registers for the addresses of 16 steps.
    """
    if not dense:
        return BlockShape(block=32, warps=1, steps=16)
    if count * element_bytes >= MANY_SEQUENCES * 4 and not bits:
        return BlockShape(block=2 * 32 * (16 // element_bytes), warps=2, steps=8)
    return BlockShape(block=32, warps=1, steps=CHECKPOINT_STEPS)


def backward_shape(count: int, dense: bool, read_bytes: int, held: int) -> BlockShape:
    """Returns the backward kernel's block for `count` sequences.

    Every step reads `read_bytes` and holds `held` numbers in registers until the recurrence returns
    to it. A chunk has the steps between two checkpoints, and a thread has one sequence. With few
    sequences a thread loads the next chunk ahead if a step takes at most four registers: for the
    numbers read, the numbers held, and v. With many sequences other warps fill the time.
    """
    ahead = dense and count < MANY_SEQUENCES // 2 and read_bytes / 4 + held + 1 <= 4
    return BlockShape(block=32, warps=1, steps=CHECKPOINT_STEPS, ahead=ahead)


@dataclass(frozen=True)
class TritonLaunch:
    """A kernel, its arguments and number of blocks; calling it runs the kernel."""

    kernel: Any
    blocks: int
    arguments: dict

    def __call__(self, device: torch.device) -> None:
        with torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext():
            self.kernel[(self.blocks,)](**self.arguments)


def forward(call: Forward) -> None:
    forward_launch(call)(call.currents.device)


def backward(call: Backward) -> None:
    backward_launch(call)(call.currents.device)


def forward_launch(call: Forward) -> TritonLaunch:
    """Returns the forward launch. Raises strides.Unwalkable."""
    sizes, tensors = _tensors(call, keep_last=call.bits)
    *outer, last = sizes
    count = math.prod(outer) * (-(-last // 8) * 8 if call.bits else last)
    shape = forward_shape(
        count, call.currents.element_size(), _dense(call, sizes, tensors), call.bits
    )
    numbers = _numbers(call, sizes, count, shape)
    arguments = {**tensors, **numbers, "BITS": call.bits, "CHECKPOINT_STEPS": CHECKPOINT_STEPS}
    return TritonLaunch(forward_kernel, -(-count // shape.block), arguments)


def backward_launch(call: Backward) -> TritonLaunch:
    """Returns the backward launch. Raises strides.Unwalkable."""
    sizes, tensors = _tensors(call)
    count = math.prod(sizes)
    dense = _dense(call, sizes, tensors)
    if call.grad_parts is not None:
        tensors["grad_parts"] = tuple(
            (part, *tensors["grad_parts"][1:]) for part in call.grad_parts
        )
    read = [t for t in (call.currents, call.grad_spikes, call.grad_trace) if t is not None]
    held = len(read) - 1 + (call.mix_error is not None or call.sum_by_current is not None)
    shape = backward_shape(count, dense, sum(t.element_size() for t in read), held)
    spec, slope = call.spec, call.spec.slope
    width = {"atan": math.pi * slope, "rectangle": 0.5 / slope}.get(spec.surrogate, 0.0)
    if spec.rounding is not None:
        slope, width = 1 / spec.threshold, (spec.max_spikes - 1) * spec.threshold
    arguments = {
        **tensors,
        **_numbers(call, sizes, count, shape, slope, width),
        "DETACHED": call.spec.detach_reset,
        "SURROGATE": call.spec.surrogate,
        "AHEAD": shape.ahead,
    }
    return TritonLaunch(backward_kernel, -(-count // shape.block), arguments)


def _tensors(call: Call, keep_last: bool = False) -> tuple[tuple[int, ...], dict]:
    """Returns the nested dims' sizes, and each tensor as (pointer, strides…) or None; of parts, the
    first."""
    tensors = call.tensors()
    if (parts := tensors.get("grad_parts")) is not None:
        tensors["grad_parts"] = parts[0]
    strides = tuple((name, None if t is None else t.stride()) for name, t in tensors.items())
    sizes, walked = walk(call.currents.shape[1:], strides, "currents", keep_last)
    return sizes, {name: None if t is None else (t, *walked[name]) for name, t in tensors.items()}


def _dense(call: Call, sizes: tuple[int, ...], tensors: dict) -> bool:
    """Returns True if Triton can load 16 bytes at every step, which requires strides of 16·n."""
    stepped = [tensors[name] for name in call.STEPPED if tensors[name] is not None]
    return sizes[-1] % 16 == 0 and all(t[1] % 16 == 0 and t[-1] == 1 for t in stepped)


def _numbers(
    call: Call, sizes: tuple[int, ...], count: int, shape: BlockShape, *more: float
) -> dict:
    """Returns both kernels' arguments beside tensors; `more` are backward's numbers of the
    neuron."""
    spec = call.spec
    return {
        "sizes": sizes,
        "steps": len(call.currents),
        "neuron": tuple(
            map(float, (spec.decay, spec.threshold, spec.subtracted, spec.max_spikes, *more))
        ),
        "RESET": spec.reset,
        "COUNTS": spec.max_spikes > 1,
        "ROUNDS": spec.rounding is not None,
        "DIMS": len(sizes),
        "BLOCK": shape.block,
        "STEPS": shape.steps,
        "WIDE": count > WIDE_SEQUENCES,
        "num_warps": shape.warps,
        "enable_fp_fusion": False,
    }
