"""Calls spikes.cpp: products of spikes with a weight, alone or with the neuron behind them.

The input becomes words of bits. Few ones select rows of the weight, added one by one ("event");
many ones select from tables of partial sums ("table"), see sums.h. A number that is no spike stops
a call before anything else is written, and the caller multiplies densely. Products 0·∞ and 0·NaN
are skipped, where a dense product is NaN.
"""

import ctypes
import struct
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from ..build import cpp
from ..lif.contract import forward_macros, neuron_macros, neuron_numbers
from ..lif.cpu.launch import TYPES
from ..spec import NeuronSpec
from . import dense, record
from .dense import checked

LARGEST_COUNT = 255
"""Largest count that is multiplied bit by bit; a dense product is as fast for larger ones."""


def words_of(shape: torch.Size, counts: int) -> int:
    """Returns the int64 words of spikes (T, B, K): the number of ones, and bits by power of two."""
    steps, batch, inputs = shape
    return 1 + counts.bit_length() * -(-inputs // 64) * steps * batch


def takes(x: Tensor, weight: Tensor, counts: int) -> bool:
    """Returns True if x (T, B, K) with counts up to `counts` and a weight (N, K) are supported."""
    supported = x.dtype in TYPES and weight.dtype in TYPES and 0 < counts <= LARGEST_COUNT
    return supported and x.device.type == "cpu" and weight.numel() > 0 and x.numel() > 0


class Pass:
    """A compiled function and the numbers that its calls share; a call passes addresses, None for
    no array.

    `linear_forward` reads x (T, B, K), weight (N, K) and float32 bias (N,), and writes spikes (T,
    B, N), float32 potentials (T, B, N), words of x and words of the spikes; without a spec it
    writes the sums x·Wᵀ in place of spikes. It returns the number of ones, or -1 if x holds
    anything but spikes; then only words were written. With `filled` it reads the words of x.
    `linear_pack` only writes words.

    `linear_backward` reads the gradient (T, B, N) by spikes (without a spec, by the sums),
    potentials, words and weight. It writes float32 gradients by weight (N, K), bias (N,) and input
    (T, B, K), and the errors e (T, B, N); with `filled` it adds to the first. `dense` is the
    address of dense.cpp's product, for the gradient by the input.
    """

    def __init__(
        self,
        name: str,
        spec: NeuronSpec | None,
        first: Tensor,
        other: int,
        counts: int,
        *types,
        filled: bool = False,
    ):
        """Plans calls with a `first` array like this, x or the gradient.

        `other` is the number of outputs or inputs, which `first` lacks; `types` are those of x,
        weight, spikes (or their gradient) and the weight's gradient.
        """
        threads = torch.get_num_threads()
        self.function, self.numbers, self.pack = _plan(
            name, spec, first.shape, first.stride(), other, counts, filled, *types, threads
        )

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
    filled,
    input_type,
    weight_type,
    spike_type,
    sum_type,
    threads,
):
    """Returns the compiled function, its packed numbers, and the function that packs addresses."""
    (steps, batch, last), forwards = shape, name != "linear_backward"
    inputs, outputs = (last, other) if forwards else (other, last)
    threads = min(threads, 1 + steps * batch * inputs * outputs // dense.WORK_OF_A_THREAD)
    neuron = (1.0,) * 4 if spec is None else neuron_numbers(spec)
    rows = steps * batch
    tables_from = (
        record.tables_from(record.TABLES_FROM, rows, inputs)
        if forwards
        else record.tables_from(record.TABLES_FROM_BACKWARD, inputs, rows)
    )
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
        filled,
        *neuron,
    )
    macros = {
        **({} if spec is None else (forward_macros if forwards else neuron_macros)(spec)),
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
