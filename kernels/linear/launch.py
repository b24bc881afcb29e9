"""Calls spikes.cpp: products of spikes with a weight, alone or with the neuron behind them, through its plain C interface.

The input is turned into words of bits. With few ones the rows of the weight that they select are added one by one ("event"),
with many they are added from tables of partial sums ("table"): see sums.h. A number that is no spike stops a call before
anything else is written, so that the caller multiplies densely. 0·∞ and 0·NaN of a weight are left out, where a dense product
gives NaN.
"""

import ctypes
import struct
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from ..build import cpp
from ..lif.contract import neuron_macros, neuron_numbers
from ..lif.cpu.launch import TYPES
from ..spec import NeuronSpec
from . import dense, record

LARGEST_COUNT = 255
"""Counts of spikes are multiplied bit by bit. Beyond this number that has no advantage over a dense product."""


def words_like(x: Tensor, counts: int) -> Tensor:
    """An unwritten tensor for the words of spikes x (T, B, K): the number of ones, and a bit for each input and power of two."""
    return x.new_empty((1 + counts.bit_length() * -(-x.shape[2] // 64) * x.shape[0] * x.shape[1],), dtype=torch.int64)


def takes(x: Tensor, weight: Tensor, counts: int) -> bool:
    """Whether products of such tensors can be computed here: x (T, B, K) with counts up to `counts` and a weight (N, K)."""
    known = x.dtype in TYPES and weight.dtype in TYPES and 0 < counts <= LARGEST_COUNT
    return known and x.device.type == "cpu" and weight.numel() > 0 and x.numel() > 0


def forward(
    spec: NeuronSpec | None,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    spikes: Tensor,
    potentials: Tensor | None,
    words: Tensor,
    counts: int,
    given: bool = False,
) -> bool:
    """Write spikes (T, B, N) and, unless None, float32 potentials (T, B, N) of x (T, B, K), weight (N, K) and float32 bias (N,).
    Without a spec write the sums x·Wᵀ to `spikes`. Words are written too, or read in place of x if they are `given`.
    Returns False, and writes nothing but words, if x holds anything but spikes."""
    key = ("linear_forward", spec, x.shape, x.stride(), len(weight), counts, given, x.dtype, weight.dtype, spikes.dtype, None)
    function, numbers, addresses = _plan(*key, torch.get_num_threads())
    pointers = (x.data_ptr(), weight.data_ptr(), 0 if bias is None else bias.data_ptr(), spikes.data_ptr())
    ones = function(numbers, addresses.pack(*pointers, 0 if potentials is None else potentials.data_ptr(), words.data_ptr()))
    record.note(x.shape, len(weight), counts, ones)
    return ones >= 0


def pack(x: Tensor, words: Tensor, counts: int) -> bool:
    """Write words of x (T, B, K). Returns False, and writes nothing of use, if x holds anything but spikes."""
    key = ("linear_pack", None, x.shape, x.stride(), 0, counts, False, x.dtype, torch.float32, torch.float32, None)
    function, numbers, addresses = _plan(*key, torch.get_num_threads())
    return function(numbers, addresses.pack(x.data_ptr(), 0, 0, 0, 0, words.data_ptr())) >= 0


def backward(
    spec: NeuronSpec | None,
    gradient: Tensor,
    potentials: Tensor | None,
    words: Tensor | None,
    weight: Tensor,
    by_weight: Tensor | None,
    by_bias: Tensor | None,
    by_input: Tensor | None,
    errors: Tensor | None,
    dense: int,
    counts: int,
    added: bool = False,
) -> None:
    """Write what is not None of the gradients by weight (N, K), float32 bias (N,) and input (T, B, K), and of the errors e
    (T, B, N), float32, from the gradient (T, B, N) by the spikes of `spec`, or without a spec by the sums. `words` are those of
    `forward`. `by_weight` is added to if `added`. `dense` is the address of dense.cpp's product, which `by_input` needs."""
    sums = torch.float32 if by_weight is None else by_weight.dtype
    key = ("linear_backward", spec, gradient.shape, gradient.stride(), weight.shape[1], counts, added)
    function, numbers, addresses = _plan(*key, torch.float32, weight.dtype, gradient.dtype, sums, torch.get_num_threads())
    arrays = (gradient, potentials, words, weight, by_weight, by_bias, by_input, errors)
    function(numbers, addresses.pack(*[0 if t is None else t.data_ptr() for t in arrays], dense))


@lru_cache(maxsize=4096)
def _plan(name, spec, shape, strides, other, counts, given, input_type, weight_type, spike_type, sum_type, threads):
    """The compiled function, the struct of its numbers, and the struct of the addresses that each call fills in. Making a plan
    takes longer than a small call."""
    (steps, batch, last), forwards = shape, name != "linear_backward"
    inputs, outputs = (last, other) if forwards else (other, last)
    threads = min(threads, 1 + steps * batch * inputs * outputs // dense.WORK_OF_A_THREAD)
    neuron = (1.0,) * 4 if spec is None else neuron_numbers(spec)
    numbers = struct.pack("=9qdq4f", threads, steps, batch, inputs, outputs, counts, *strides, record.TABLES_FROM, given, *neuron)
    if forwards and spec is not None:
        spec = NeuronSpec(spec.reset, max_spikes=spec.max_spikes)  # its macros depend on no other field
    macros = {
        **({} if spec is None else neuron_macros(spec)),
        **{"LINEAR_FORWARD" if forwards else "LINEAR_BACKWARD": 1, "LINEAR_NEURON": int(spec is not None)},
        **{"LINEAR_INPUT": TYPES[input_type], "LINEAR_WEIGHT": TYPES[weight_type], "LINEAR_SPIKE": TYPES[spike_type]},
        "LINEAR_SUM": TYPES[sum_type or torch.float32],
    }
    function = getattr(cpp.kernel(Path(__file__).with_name("spikes.cpp"), macros), name)
    function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_char_p], ctypes.c_int64 if forwards else None
    return function, numbers, struct.Struct(f"={6 if forwards else 9}q")
