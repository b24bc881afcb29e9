"""Calls lif.cpp, the neuron in C++ for CPUs, through its plain C interface."""

import ctypes
import struct
from collections.abc import Callable
from functools import lru_cache
from math import prod
from pathlib import Path

import torch

from ...build import cpp
from ...spec import NeuronSpec
from ..contract import (
    CHECKPOINT_STEPS,
    Backward,
    Call,
    Forward,
    forward_macros,
    neuron_macros,
    neuron_numbers,
)
from ..strides import MAX_DIMS, walk

TYPES = {
    torch.float32: "float",
    torch.float16: "Float16",
    torch.bfloat16: "Bfloat16",
    torch.uint8: "uint8_t",
}

FEATURES = {
    "LIF_SCALED": {"scale", "shift"},
    "LIF_TRACED": {"trace", "grad_trace"},
    "LIF_SUMMED": {"sum_error"},
    "LIF_MIXED": {"mix_error", "sum_by_current"},
}
"""Macros that are 1 if a call has any of these tensors."""

GRAIN = 32768
"""Elements per thread: waking a thread for fewer takes longer than computing them."""

WRITES_PARTS = False


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    if device.type != "cpu":
        return "C++ runs on CPUs"
    return f"C++ computes in float32, not {dtype}" if dtype not in TYPES else cpp.unusable()


def forward(call: Forward) -> None:
    _run("lif_forward", call, call.tensors(), call.bits)


def backward(call: Backward) -> None:
    tensors = call.tensors()
    del tensors["grad_parts"]
    if call.grad_trace is not None:
        tensors["grad_trace"] = call.grad_trace.to(call.currents.dtype)
    _run("lif_backward", call, tensors)


def planned(
    name: str, spec: NeuronSpec, shape: tuple[int, ...], strides: dict[str, tuple[int, ...]]
) -> Callable[..., None]:
    """Returns a function of addresses that runs `lif_forward` or `lif_backward` on float32 arrays.

    `strides` are those of the call's tensors by name, in the order of the addresses; `shape` is
    that of the currents.
    """
    kind = Forward if name == "lif_forward" else Backward
    names = [array for array in (*kind.STEPPED, *kind.INNER) if array != "grad_parts"]
    arrays = tuple(
        (array, (torch.float32, strides[array]) if array in strides else None) for array in names
    )
    threads = min(torch.get_num_threads(), 1 + prod(shape) // GRAIN)
    function, like, struct_of_addresses = _plan(
        name, spec, torch.Size(shape), arrays, False, threads
    )
    places = [names.index(array) for array in strides]

    def call(*addresses: int) -> None:
        room = [0] * len(names)
        for place, address in zip(places, addresses, strict=True):
            room[place] = address
        function(like, struct_of_addresses.pack(*room))

    return call


def _run(
    name: str, call: Call, tensors: dict[str, torch.Tensor | None], bits: bool = False
) -> None:
    arrays = tuple(
        (array, None if t is None else (t.dtype, t.stride())) for array, t in tensors.items()
    )
    threads = min(torch.get_num_threads(), 1 + call.currents.numel() // GRAIN)
    function, like, addresses = _plan(name, call.spec, call.currents.shape, arrays, bits, threads)
    function(like, addresses.pack(*[0 if t is None else t.data_ptr() for t in tensors.values()]))


@lru_cache(maxsize=4096)
def _plan(name: str, spec: NeuronSpec, shape: torch.Size, arrays: tuple, bits: bool, threads: int):
    """Returns the compiled function, its numbers and strides, and the struct of addresses of a
    call.

    `arrays` are names with (type, strides), or None. Planning takes longer than a small call.
    """
    types = {array: described[0] for array, described in arrays if described}
    # Results set the order of sequences, except that the last dim of bits counts bytes.
    order = (
        "currents"
        if bits
        else next(array for array in ("spikes", "grad_currents", "currents") if array in types)
    )
    by_array = tuple((array, described and described[1]) for array, described in arrays)
    sizes, walked = walk(shape[1:], by_array, order, keep_last=bits)
    unused = MAX_DIMS - len(sizes)
    # Zeros in place of addresses, and for unused dims, which come first.
    room = [number for time, *over in walked.values() for number in (0, time, *[0] * unused, *over)]
    head = (threads, shape[0], *[1] * unused, *sizes, *neuron_numbers(spec))
    like = struct.pack(f"={2 + MAX_DIMS}q4f{len(room)}q", *head, *room)
    macros = {
        **(forward_macros if name == "lif_forward" else neuron_macros)(spec),
        **{macro: int(not features.isdisjoint(types)) for macro, features in FEATURES.items()},
        **{
            name.upper(): 1,
            "LIF_BITS": int(bits),
            "LIF_CHUNK": CHECKPOINT_STEPS,
            "LIF_DIMS": MAX_DIMS,
            "LIF_BYTES": len(like),
        },
        "LIF_CURRENT": TYPES[types["currents"]],
        "LIF_SPIKE": TYPES[types.get("spikes") or types.get("grad_spikes", torch.float32)],
    }
    function = getattr(cpp.kernel(Path(__file__).with_name("lif.cpp"), macros), name)
    function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_char_p], None
    return function, like, struct.Struct(f"={len(arrays)}q")
