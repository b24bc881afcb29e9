"""The neuron in C++ for CPUs (lif.cpp), through its plain C interface."""

import struct
from functools import cache

import torch

from ..floors import CHECKPOINT_STEPS
from ..spec import RESETS, SURROGATES
from . import cpp_build
from .calls import Backward, Forward
from .layout import MAX_DIMS, walk

TYPES = {torch.float32: "float", torch.float16: "Float16", torch.bfloat16: "Bfloat16", torch.uint8: "uint8_t"}

# ForwardCall and BackwardCall of lif.cpp: threads, steps, sizes, LifNeuron, then a pointer and strides an array.
_ARRAY = f"{2 + MAX_DIMS}q"
_FORWARD = struct.Struct(f"={2 + MAX_DIMS}q4f" + 8 * _ARRAY)
_BACKWARD = struct.Struct(f"={2 + MAX_DIMS}q4f" + 15 * _ARRAY)


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why this spelling cannot run there, in words for the user; None if it can."""
    if device.type != "cpu":
        return "C++ runs on CPUs"
    return f"C++ computes in float32, not {dtype}" if dtype not in TYPES else cpp_build.unusable()


def forward(call: Forward) -> None:
    steps = {"spikes": call.spikes, "currents": call.currents, "trace": call.trace, "checkpoints": call.checkpoints}
    inner = {"state": call.state, "scale": call.scale, "shift": call.shift, "final_state": call.final_state}
    if call.bits:  # its last dim counts bytes
        steps = {"currents": call.currents, **steps}
    layout, strides = walk(steps, inner, keep_last=call.bits)
    tensors = {**steps, **inner}
    names = ("currents", "state", "scale", "shift", "spikes", "final_state", "trace", "checkpoints")
    arguments = _FORWARD.pack(*_head(call, layout), *_arrays(names, tensors, strides))
    kind = (call.spec.reset, False, "superspike", call.spec.max_spikes)  # forward does not ask for the two in the middle
    scaled = call.scale is not None or call.shift is not None
    types = (call.currents.dtype, call.spikes.dtype, call.bits)
    _compiled("lif_forward", *kind, *types, scaled, call.trace is not None)(arguments)


def backward(call: Backward) -> None:
    gv = None if call.grad_trace is None else call.grad_trace.to(call.currents.dtype)
    steps = {
        "grad_currents": call.grad_currents,
        "currents": call.currents,
        "grad_spikes": call.grad_spikes,
        "grad_trace": gv,
        "checkpoints": call.checkpoints,
    }
    if call.grad_currents is None:
        steps = {"currents": call.currents, **steps}
    a, b, c = call.mix or (None, None, None)
    inner = {
        "grad_final": call.grad_final,
        "scale": call.scale,
        "shift": call.shift,
        "center": call.center,
        "mix_error": a,
        "mix_current": b,
        "mix_constant": c,
        "grad_state": call.grad_state,
        "sum_error": call.sum_error,
        "sum_by_current": call.sum_by_current,
    }
    layout, strides = walk(steps, inner)
    tensors = {**steps, **inner}
    names = ("currents", "scale", "shift", "checkpoints", "grad_spikes", "grad_trace", "grad_final", "center")
    names += ("mix_error", "mix_current", "mix_constant", "grad_currents", "grad_state", "sum_error", "sum_by_current")
    arguments = _BACKWARD.pack(*_head(call, layout), *_arrays(names, tensors, strides))
    upstream = torch.float32 if call.grad_spikes is None else call.grad_spikes.dtype
    kind = (call.spec.reset, call.spec.detach_reset, call.spec.surrogate, call.spec.max_spikes)
    scaled = call.scale is not None or call.shift is not None
    mixed = call.mix is not None or call.sum_by_current is not None
    more = (scaled, gv is not None, call.sum_error is not None, mixed)
    _compiled("lif_backward", *kind, call.currents.dtype, upstream, False, *more)(arguments)


GRAIN = 32768
"""Elements that a thread is started for: waking one takes longer than computing fewer."""


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


def _arrays(names, tensors, strides):
    numbers = []
    for name in names:
        tensor = tensors[name]
        numbers.append(0 if tensor is None else tensor.data_ptr())
        numbers += strides[name]
    return numbers


@cache
def _compiled(
    name, reset, detach_reset, surrogate, max_spikes, currents, spikes, bits, scaled, traced, summed=False, mixed=False
):
    """The function for this kind of neuron, these types and what there is; a neuron's numbers are arguments, not code."""
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
        "LIF_BYTES": (_FORWARD if name == "lif_forward" else _BACKWARD).size,
        name.upper(): 1,
    }
    function = getattr(cpp_build.kernel(defines), name)
    function.restype = None
    return function
