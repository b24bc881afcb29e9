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
from .dense import checked

LARGEST_COUNT = 255
"""Counts of spikes are multiplied bit by bit. Beyond this number that has no advantage over a dense product."""


def words_of(shape: torch.Size, counts: int) -> int:
    """How many int64 the words of spikes (T, B, K) are: the number of ones, and a bit for each input and power of two."""
    steps, batch, inputs = shape
    return 1 + counts.bit_length() * -(-inputs // 64) * steps * batch


def takes(x: Tensor, weight: Tensor, counts: int) -> bool:
    """Whether products of such tensors can be computed here: x (T, B, K) with counts up to `counts` and a weight (N, K)."""
    known = x.dtype in TYPES and weight.dtype in TYPES and 0 < counts <= LARGEST_COUNT
    return known and x.device.type == "cpu" and weight.numel() > 0 and x.numel() > 0


class Pass:
    """A compiled function with the numbers that calls have in common; calling it fills in addresses. None: no such array.

    `linear_forward` reads x (T, B, K), weight (N, K) and float32 bias (N,), and writes spikes (T, B, N), float32 potentials
    (T, B, N), words of x and words of the spikes; without a spec the sums x·Wᵀ in place of spikes. It returns the number of ones;
    if x holds anything but spikes -1, and then nothing but words was written. Words of x are read if they are `given`.
    `linear_pack` only writes words.

    `linear_backward` reads the gradient (T, B, N) by spikes, or without a spec by the sums, potentials, words and weight, and
    writes float32 gradients by weight (N, K), bias (N,) and input (T, B, K), and the errors e (T, B, N). The first is added to if
    it is `given`. `dense` is the address of dense.cpp's product, which the gradient by the input needs.
    """

    def __init__(
        self,
        name: str,
        spec: NeuronSpec | None,
        first: Tensor,
        other: int,
        counts: int,
        *types,
        given: bool = False,
    ):
        """`first` is the first array of calls, x or the gradient; `other` the number of outputs or inputs, which it lacks;
        `types` are those of x, weight, spikes (or their gradient) and the weight's gradient."""
        threads = torch.get_num_threads()
        made = _plan(name, spec, first.shape, first.stride(), other, counts, given, *types, threads)
        self.function, self.numbers, self.pack = made

    def __call__(self, *arrays: Tensor | None, dense: int | None = None) -> int:
        addresses = [0 if t is None else t.data_ptr() for t in arrays]
        return checked(
            self.function(
                self.numbers,
                self.pack(*addresses) if dense is None else self.pack(*addresses, dense),
            )
        )


@lru_cache(maxsize=4096)
def _plan(
    name,
    spec,
    shape,
    strides,
    other,
    counts,
    given,
    input_type,
    weight_type,
    spike_type,
    sum_type,
    threads,
):
    """The compiled function, the struct of its numbers, and the function that packs the addresses of a call."""
    (steps, batch, last), forwards = shape, name != "linear_backward"
    inputs, outputs = (last, other) if forwards else (other, last)
    threads = min(threads, 1 + steps * batch * inputs * outputs // dense.WORK_OF_A_THREAD)
    neuron = (1.0,) * 4 if spec is None else neuron_numbers(spec)
    tables_from = record.TABLES_FROM if forwards else record.TABLES_FROM_BACKWARD
    numbers = struct.pack(
        "=9qdq4f",
        threads,
        steps,
        batch,
        inputs,
        outputs,
        counts,
        *strides,
        tables_from,
        given,
        *neuron,
    )
    if forwards and spec is not None:
        spec = NeuronSpec(
            spec.reset, max_spikes=spec.max_spikes
        )  # its macros depend on no other field
    macros = {
        **({} if spec is None else neuron_macros(spec)),
        **{
            "LINEAR_FORWARD" if forwards else "LINEAR_BACKWARD": 1,
            "LINEAR_NEURON": int(spec is not None),
        },
        **{
            "LINEAR_INPUT": TYPES[input_type],
            "LINEAR_WEIGHT": TYPES[weight_type],
            "LINEAR_SPIKE": TYPES[spike_type],
        },
        "LINEAR_SUM": TYPES[sum_type],
    }
    function = getattr(cpp.kernel(Path(__file__).with_name("spikes.cpp"), macros), name)
    function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_char_p], ctypes.c_int64
    return function, numbers, struct.Struct(f"={7 if forwards else 9}q").pack
