"""Calls lif.cpp, the neuron in C++ for CPUs, through its plain C interface."""

import ctypes
import struct
from functools import cache
from pathlib import Path

import torch

from ...build import cpp
from ...spec import RESETS, SURROGATES
from ...work import CHECKPOINT_STEPS
from ..contract import Backward, Forward
from ..strides import MAX_DIMS, walk

TYPES = {torch.float32: "float", torch.float16: "Float16", torch.bfloat16: "Bfloat16", torch.uint8: "uint8_t"}

# ForwardCall and BackwardCall of lif.cpp: threads, steps, sizes, LifNeuron, then an address and strides for each array.
_ARRAY = f"{2 + MAX_DIMS}q"
_FORWARD_ARRAYS = ("currents", "state", "scale", "shift", "spikes", "final_state", "trace", "checkpoints")
_BACKWARD_ARRAYS = (
    *("currents", "scale", "shift", "checkpoints", "grad_spikes", "grad_trace", "grad_final", "center"),
    *("mix_error", "mix_current", "mix_constant", "grad_currents", "grad_state", "sum_error", "sum_by_current"),
)
_FORWARD = struct.Struct(f"={2 + MAX_DIMS}q4f" + len(_FORWARD_ARRAYS) * _ARRAY)
_BACKWARD = struct.Struct(f"={2 + MAX_DIMS}q4f" + len(_BACKWARD_ARRAYS) * _ARRAY)

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
"""The function and struct of a call, by everything that they depend on. Making them takes longer than a small call."""

MOST_PLANS = 4096


def _run(make_plan, call, tensors) -> None:
    kinds = [None if t is None else (t.shape, t.stride(), t.dtype) for t in tensors]
    key = (make_plan, call.spec, torch.get_num_threads(), make_plan is _plan_forward and call.bits, *kinds)
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        plan = _plans[key] = make_plan(call, tensors)
    function, like = plan
    function(like, *[None if t is None else t.data_ptr() for t in tensors])


def _plan_forward(call: Forward, tensors):
    """The compiled function for a call, and the struct of numbers and strides that it takes."""
    named = dict(zip(_FORWARD_ARRAYS, tensors, strict=True))
    steps = {name: named.pop(name) for name in ("spikes", "currents", "trace", "checkpoints")}
    if call.bits:  # its last dim counts bytes
        steps = {"currents": call.currents, **steps}
    layout, strides = walk(steps, named, keep_last=call.bits)
    like = _FORWARD.pack(*_head(call, layout), *_room(_FORWARD_ARRAYS, strides))
    kind = (call.spec.reset, False, "superspike", call.spec.max_spikes)  # forward does not depend on the two in the middle
    scaled = call.scale is not None or call.shift is not None
    types = (call.currents.dtype, call.spikes.dtype, call.bits)
    return _compiled("lif_forward", *kind, *types, scaled, call.trace is not None), like


def _plan_backward(call: Backward, tensors):
    """The compiled function for a call, and the struct of numbers and strides that it takes."""
    named = dict(zip(_BACKWARD_ARRAYS, tensors, strict=True))
    steps = {name: named.pop(name) for name in ("grad_currents", "currents", "grad_spikes", "grad_trace", "checkpoints")}
    if call.grad_currents is None:
        steps = {"currents": call.currents, **steps}
    layout, strides = walk(steps, named)
    like = _BACKWARD.pack(*_head(call, layout), *_room(_BACKWARD_ARRAYS, strides))
    upstream = torch.float32 if call.grad_spikes is None else call.grad_spikes.dtype
    kind = (call.spec.reset, call.spec.detach_reset, call.spec.surrogate, call.spec.max_spikes)
    scaled = call.scale is not None or call.shift is not None
    mixed = call.mix is not None or call.sum_by_current is not None
    more = (scaled, call.grad_trace is not None, call.sum_error is not None, mixed)
    return _compiled("lif_backward", *kind, call.currents.dtype, upstream, False, *more), like


GRAIN = 32768
"""Elements for each thread. Waking a thread takes longer than computing fewer."""


def _head(call, layout):
    spec = call.spec
    return (
        min(torch.get_num_threads(), 1 + call.currents.numel() // GRAIN),
        call.currents.shape[0],
        *layout.sizes,
        spec.decay,
        spec.threshold,
        spec.subtracted,
        spec.slope,
    )


def _room(names, strides):
    """For each array a zero, in place of its address, and its strides."""
    return [number for name in names for number in (0, *strides[name])]


@cache
def _compiled(
    name, reset, detach_reset, surrogate, max_spikes, currents, spikes, bits, scaled, traced, summed=False, mixed=False
):
    """The function for a kind of neuron, its types and the arrays present. A neuron's numbers are arguments, not code."""
    size, arrays = (_FORWARD.size, _FORWARD_ARRAYS) if name == "lif_forward" else (_BACKWARD.size, _BACKWARD_ARRAYS)
    defines = {
        "LIF_RESET": RESETS.index(reset),
        "LIF_DETACH": int(detach_reset),
        "LIF_SURROGATE": SURROGATES.index(surrogate),
        "LIF_MAX_SPIKES": max_spikes,
        "LIF_CURRENT": TYPES[currents],
        "LIF_SPIKE": TYPES[spikes],
        "LIF_BITS": int(bits),
        "LIF_SCALED": int(scaled),
        "LIF_TRACED": int(traced),
        "LIF_SUMMED": int(summed),
        "LIF_MIXED": int(mixed),
        "LIF_CHUNK": CHECKPOINT_STEPS,
        "LIF_DIMS": MAX_DIMS,
        "LIF_BYTES": size,
        name.upper(): 1,
    }
    function = getattr(cpp.kernel(Path(__file__).with_name("lif.cpp"), defines), name)
    function.argtypes, function.restype = [ctypes.c_char_p] + len(arrays) * [ctypes.c_void_p], None
    return function
