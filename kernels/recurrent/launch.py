"""Calls recurrent.cpp, the recurrent layer in C++ for CPUs, through its plain C interface."""

import ctypes
import struct
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from ..build import cpp
from ..lif.adaptive import adaptation_numbers
from ..lif.contract import forward_macros, neuron_macros, neuron_numbers
from ..lif.cpu.launch import TYPES
from ..linear import launch
from ..linear.dense import WORK_OF_A_THREAD, checked
from ..spec import NeuronSpec
from .contract import Backward, Forward


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    if device.type != "cpu":
        return "C++ runs on CPUs"
    return f"C++ computes in float32, not {dtype}" if dtype not in TYPES else cpp.unusable()


def bits_like(currents: Tensor) -> Tensor:
    """Returns an unwritten tensor of the words of `linear.launch`."""
    return currents.new_empty(launch.words_of(currents.shape, 1), dtype=torch.int64)


def forward(call: Forward) -> None:
    _run(
        "recurrent_forward",
        call.spec,
        call.currents,
        call.weight,
        (
            *(call.currents, call.weight, call.bias, call.state),
            *(call.spikes, call.potentials, call.final_state, call.bits, call.words),
        ),
    )


def backward(call: Backward) -> None:
    _run(
        "recurrent_backward",
        call.spec,
        call.grad_spikes,
        call.weight,
        (
            *(call.grad_spikes, call.grad_final, call.potentials, call.weight),
            *(call.errors, call.grad_state),
        ),
    )
    if call.grad_weight is not None:
        types = (torch.float32, torch.float32, call.errors.dtype, call.grad_weight.dtype)
        run = launch.Pass(
            "linear_backward", None, call.errors, call.weight.shape[0], 1, *types, filled=call.adds
        )
        run(call.errors, None, call.bits, None, call.grad_weight, None, None, None, dense=0)


def _run(
    name: str, spec: NeuronSpec, values: Tensor, weight: Tensor, arrays: tuple[Tensor | None, ...]
) -> None:
    function, numbers, pack = _plan(
        name,
        spec,
        values.shape,
        values.stride(),
        values.dtype,
        weight.dtype,
        torch.get_num_threads(),
    )
    checked(function(numbers, pack(*[0 if t is None else t.data_ptr() for t in arrays])))


@lru_cache(maxsize=4096)
def _plan(name, spec, shape, strides, value_type, weight_type, threads):
    """Returns the compiled function, its packed numbers, and the function that packs addresses."""
    steps, batch, neurons = shape
    # A thread has at least one item, over all steps.
    threads = min(threads, batch, 1 + steps * batch * neurons**2 // WORK_OF_A_THREAD)
    numbers = struct.pack(
        "=7q8f",
        *(threads, *shape, *strides),
        *(*neuron_numbers(spec), *adaptation_numbers(spec), spec.current_decay or 0.0),
    )
    macros = {
        **(forward_macros if name == "recurrent_forward" else neuron_macros)(spec),
        name.upper(): 1,
        "RECURRENT_ADAPTS": int(spec.adaptation is not None),
        "RECURRENT_SYNAPSE": int(spec.current_decay is not None),
        "RECURRENT_VALUE": TYPES[value_type],
        "RECURRENT_WEIGHT": TYPES[weight_type],
    }
    function = getattr(cpp.kernel(Path(__file__).with_name("recurrent.cpp"), macros), name)
    function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_char_p], ctypes.c_int64
    return function, numbers, struct.Struct("=9q" if name == "recurrent_forward" else "=6q").pack
