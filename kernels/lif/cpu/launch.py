"""Calls lif.cpp, the neuron in C++ for CPUs, through its plain C interface."""

import ctypes
import struct
from pathlib import Path

import torch

from ...build import cpp
from ...spec import NeuronSpec
from ...work import CHECKPOINT_STEPS
from ..contract import Backward, Forward, neuron_macros, neuron_numbers
from ..strides import MAX_DIMS, walk

TYPES = {torch.float32: "float", torch.float16: "Float16", torch.bfloat16: "Bfloat16", torch.uint8: "uint8_t"}

_FORWARD_ARRAYS = ("currents", "state", "scale", "shift", "spikes", "final_state", "trace", "checkpoints")
_BACKWARD_ARRAYS = (
    *("currents", "scale", "shift", "checkpoints", "grad_spikes", "grad_trace", "grad_final", "center"),
    *("mix_error", "mix_current", "mix_constant", "grad_currents", "grad_state", "sum_error", "sum_by_current"),
)
"""The arrays in the order of lif.cpp's ForwardCall and BackwardCall."""

WRITES_PARTS = False
"""This backend does not write `Backward.grad_parts`."""


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why this backend cannot run on the device, in words for the user; None if it can."""
    if device.type != "cpu":
        return "C++ runs on CPUs"
    return f"C++ computes in float32, not {dtype}" if dtype not in TYPES else cpp.unusable()


def forward(call: Forward) -> None:
    read = (call.currents, call.state, call.scale, call.shift)
    _run(_plan_forward, call, (*read, call.spikes, call.final_state, call.trace, call.checkpoints))


def backward(call: Backward) -> None:
    grad_trace = None if call.grad_trace is None else call.grad_trace.to(call.currents.dtype)
    upstream = (call.grad_spikes, grad_trace, call.grad_final)
    read = (call.currents, call.scale, call.shift, call.checkpoints, *upstream, call.center, *(call.mix or (None, None, None)))
    _run(_plan_backward, call, (*read, call.grad_currents, call.grad_state, call.sum_error, call.sum_by_current))


_plans: dict = {}
"""The function and structs of a call, by everything that they depend on. Making them takes longer than a small call."""

MOST_PLANS = 4096


def _run(make_plan, call, tensors) -> None:
    kinds = [None if t is None else (t.shape, t.stride(), t.dtype) for t in tensors]
    key = (make_plan, call.spec, torch.get_num_threads(), make_plan is _plan_forward and call.bits, *kinds)
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        plan = _plans[key] = make_plan(call, tensors)
    function, like, addresses = plan
    function(like, addresses.pack(*[0 if t is None else t.data_ptr() for t in tensors]))


def _plan_forward(call: Forward, tensors):
    arrays = dict(zip(_FORWARD_ARRAYS, tensors, strict=True))
    stepped = ("currents", "spikes") if call.bits else ("spikes", "currents")  # the last dim of bits counts bytes
    macros = {
        **neuron_macros(NeuronSpec(call.spec.reset, max_spikes=call.spec.max_spikes)),  # forward depends on no other field
        **{"LIF_CURRENT": TYPES[call.currents.dtype], "LIF_SPIKE": TYPES[call.spikes.dtype], "LIF_BITS": int(call.bits)},
        **{"LIF_TRACED": int(call.trace is not None), "LIF_SUMMED": 0, "LIF_MIXED": 0},
    }
    return _plan("lif_forward", call, arrays, (*stepped, "trace", "checkpoints"), macros)


def _plan_backward(call: Backward, tensors):
    arrays = dict(zip(_BACKWARD_ARRAYS, tensors, strict=True))
    stepped = ("currents", "grad_currents") if call.grad_currents is None else ("grad_currents", "currents")
    upstream = torch.float32 if call.grad_spikes is None else call.grad_spikes.dtype
    mixed = call.mix is not None or call.sum_by_current is not None
    macros = {
        **neuron_macros(call.spec),
        **{"LIF_CURRENT": TYPES[call.currents.dtype], "LIF_SPIKE": TYPES[upstream], "LIF_BITS": 0, "LIF_MIXED": int(mixed)},
        **{"LIF_TRACED": int(call.grad_trace is not None), "LIF_SUMMED": int(call.sum_error is not None)},
    }
    return _plan("lif_backward", call, arrays, (*stepped, "grad_spikes", "grad_trace", "checkpoints"), macros)


GRAIN = 32768
"""Elements for each thread. Waking a thread takes longer than computing fewer."""


def _plan(name: str, call: Forward | Backward, arrays: dict, stepped: tuple[str, ...], macros: dict):
    """The compiled function, its struct of numbers and strides, and the struct of the addresses that each call fills in.

    `stepped` are the arrays with time; the first sets the order of sequences.
    """
    inner = {array: tensor for array, tensor in arrays.items() if array not in stepped}
    layout, strides = walk({array: arrays[array] for array in stepped}, inner, keep_last=bool(macros["LIF_BITS"]))
    threads = min(torch.get_num_threads(), 1 + call.currents.numel() // GRAIN)
    head = (threads, len(call.currents), *layout.sizes, *neuron_numbers(call.spec))
    room = [number for array in arrays for number in (0, *strides[array])]  # zeros in place of addresses
    like = struct.pack(f"={2 + MAX_DIMS}q4f{len(room)}q", *head, *room)
    macros |= {"LIF_SCALED": int(call.scale is not None or call.shift is not None), name.upper(): 1}
    macros |= {"LIF_CHUNK": CHECKPOINT_STEPS, "LIF_DIMS": MAX_DIMS, "LIF_BYTES": len(like)}
    function = getattr(cpp.kernel(Path(__file__).with_name("lif.cpp"), macros), name)
    function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_char_p], None
    return function, like, struct.Struct(f"={len(arrays)}q")
