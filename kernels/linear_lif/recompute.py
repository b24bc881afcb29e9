"""Forward and backward pass in pieces, which recompute currents instead of saving them
(`recompute=True`).

`passes` saves the input and the currents, T·B·N numbers, and allocates as many gradients. This
module saves only the input, in bits or bytes if it is spikes, and the neuron's state every 32
steps. Currents exist for 32 steps and some of the neurons at a time. Backward recomputes them, so
there are four products instead of three. Both passes multiply the same pieces from the same
buffers, so that the library rounds them alike and every neuron fires in backward as it did in
forward.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from .. import bits
from ..lif import backends
from ..lif.contract import CHECKPOINT_STEPS, Backward, Forward
from ..lif.operator import SPIKE_DTYPES, over_channel, run, state_dtype, sum_to_channel
from .contract import LinearOptions, Saved
from .matmul import Operands, currents_dtype

PIECE = 3 << 17
"""Numbers in a piece of input, currents or gradients, unless LEAST requires more: 1.5 MiB in
float32."""

LEAST = 128
"""Fewest rows and neurons of a piece: smaller products run slower."""


class CallInPieces:
    """Division of a call into pieces, and buffers that each hold one piece."""

    def __init__(
        self,
        options: LinearOptions,
        weight: Tensor,
        bias: Tensor | None,
        operands: Operands,
        source: Tensor,
        packed: bool,
    ):
        """Divides a call on `source`, the input (T, B, K), packed or not."""
        self.options, self.bias, self.source, self.packed = options, bias, source, packed
        self.operands, self.scale, self.currents_dtype = (
            operands,
            operands.scale,
            currents_dtype(options.operands, weight),
        )
        self.steps, self.batch, (self.neurons, inputs) = len(source), source.shape[1], weight.shape
        chunk = max(1, min(CHECKPOINT_STEPS, self.steps))
        rows = max(LEAST, PIECE // max(1, inputs))
        parts = -(-chunk * self.batch // rows)  # of equal size: a short last part would be slow
        self.part = -(-chunk // max(1, min(chunk, parts)))
        width = max(LEAST, PIECE // max(1, chunk * self.batch) // LEAST * LEAST)
        self.blocks = [
            slice(first, min(first + width, self.neurons))
            for first in range(0, self.neurons, width)
        ]
        self.inputs = source.new_empty((self.part, self.batch, inputs), dtype=operands.dtype)
        self.buffer = source.new_empty(
            (chunk * self.batch * min(width, self.neurons),), dtype=self.currents_dtype
        )
        self.loaded: slice | None = None

    def chunks(self) -> list[tuple[int, int, int]]:
        """Returns (number, first step, steps) of each chunk, from one checkpoint to the next."""
        starts = range(0, self.steps, CHECKPOINT_STEPS)
        return [
            (number, first, min(CHECKPOINT_STEPS, self.steps - first))
            for number, first in enumerate(starts)
        ]

    def parts(self, first: int, steps: int) -> Iterator[tuple[slice, Tensor]]:
        """Yields (steps within the chunk, inputs (rows, K)); the next part overwrites the
        inputs."""
        for start in range(0, steps, self.part):
            within = slice(start, min(start + self.part, steps))
            steps_taken = slice(first + within.start, first + within.stop)
            inputs = self.inputs[: within.stop - within.start]
            if self.loaded != steps_taken:
                if self.packed:
                    bits.unpack(self.source[steps_taken], self.options.counts, inputs)
                else:
                    inputs.copy_(self.source[steps_taken])
                self.loaded = steps_taken
            yield within, inputs.view(len(inputs) * self.batch, inputs.shape[-1])

    def view(self, buffer: Tensor, steps: int, block: slice) -> Tensor:
        """Returns the start of `buffer` as (steps, batch, neurons of the block)."""
        shape = (steps, self.batch, block.stop - block.start)
        return buffer[: shape[0] * shape[1] * shape[2]].view(shape)

    def currents(self, first: int, steps: int, block: slice) -> Tensor:
        """Computes the currents of a chunk and block of neurons, in the buffer."""
        currents, operands = self.view(self.buffer, steps, block), self.operands.block(block)
        for within, inputs in self.parts(first, steps):
            operands.currents(inputs, currents[within].view(len(inputs), currents.shape[-1]))
        return currents

    def channels(self, currents: Tensor, block: slice) -> dict[str, Any]:
        """Returns the neuron's scale and shift for a block."""
        channels = {"scale": self.scale, "shift": self.bias}
        return {
            name: None if v is None else over_channel(v[block], currents, -1)
            for name, v in channels.items()
        }


def forward(
    options: LinearOptions, x: Tensor, weight: Tensor, bias: Tensor | None, operands: Operands
) -> tuple[Tensor, Saved]:
    """Computes `passes.forward` in pieces."""
    pieces, neuron = CallInPieces(options, weight, bias, operands, x, packed=False), options.neuron
    inner, state = (pieces.batch, pieces.neurons), state_dtype(pieces.currents_dtype)
    spikes = x.new_empty((pieces.steps, *inner), dtype=SPIKE_DTYPES[neuron.spikes])
    before, after = x.new_zeros(inner, dtype=state), x.new_empty(inner, dtype=state)
    chunks = pieces.chunks()
    checkpoints = x.new_empty((len(chunks), *inner), dtype=state) if neuron.checkpoints else None
    packed = bits.packed_like(x, options.counts) if options.packs else None
    kernel = backends.module(neuron.backend).forward
    for number, first, steps in chunks:
        for block in pieces.blocks:
            currents = pieces.currents(first, steps, block)
            call = Forward(
                spec=neuron.spec,
                currents=currents,
                state=before[:, block],
                **pieces.channels(currents, block),
                spikes=spikes[first : first + steps, :, block],
                final_state=after[:, block],
                checkpoints=None
                if checkpoints is None
                else checkpoints[number : number + 1, :, block],
            )
            run(kernel, call)
        before, after = after, before
        if packed is not None:
            for start in range(first, first + steps, pieces.part):
                part = slice(start, min(start + pieces.part, first + steps))
                if packed is not None and operands.holds_spikes(x[part]):
                    packed[part] = bits.pack(x[part], options.counts)
                else:
                    packed = None
    return spikes, Saved(x if packed is None else None, packed, None, checkpoints, operands)


def backward(
    options: LinearOptions,
    weight: Tensor,
    bias: Tensor | None,
    saved: Saved,
    grad_spikes: Tensor,
    needed: list[bool],
) -> tuple[Tensor | None, ...]:
    """Computes `passes.backward` in pieces."""
    source, checkpoints = saved.packed if saved.x is None else saved.x, saved.checkpoints
    assert source is not None and checkpoints is not None and saved.operands is not None
    pieces = CallInPieces(options, weight, bias, saved.operands, source, packed=saved.x is None)
    sums = Sums(pieces, weight, checkpoints.dtype, needed)
    grad_state = checkpoints.new_zeros(checkpoints.shape[1:])
    gradients = torch.empty_like(pieces.buffer)
    kernel = backends.module(options.neuron.backend).backward
    for number, first, steps in reversed(pieces.chunks()):
        for block in pieces.blocks:
            currents, g = pieces.currents(first, steps, block), pieces.view(gradients, steps, block)
            after = grad_state[:, block].clone()
            errors = torch.empty_like(after)
            call = Backward(
                spec=options.neuron.spec,
                currents=currents,
                **pieces.channels(currents, block),
                checkpoints=checkpoints[number : number + 1, :, block],
                grad_spikes=grad_spikes[first : first + steps, :, block],
                grad_final=after,
                grad_currents=g,
                grad_state=grad_state[:, block],
                sum_error=errors,
            )
            run(kernel, call)
            sums.add(block, first, steps, g, errors)
    return sums.gradients()


class Sums:
    """Gradients by input, weight and bias, summed over the pieces."""

    def __init__(
        self, pieces: CallInPieces, weight: Tensor, state: torch.dtype, needed: list[bool]
    ):
        self.pieces, self.dtype, (inputs, weights, biases) = pieces, weight.dtype, needed
        empty = not (pieces.steps and pieces.batch and pieces.neurons)
        make = weight.new_zeros if empty else weight.new_empty
        shape = (pieces.steps, pieces.batch, weight.shape[1])
        self.input = make(shape, dtype=pieces.currents_dtype) if inputs else None
        # A short type would round the sum at every piece.
        self.weight = (
            make(weight.shape, dtype=torch.promote_types(weight.dtype, torch.float32))
            if weights
            else None
        )
        self.bias = (
            weight.new_zeros((pieces.batch, pieces.neurons), dtype=state) if biases else None
        )
        self.begun: set[int] = set()

    def add(self, block: slice, first: int, steps: int, g: Tensor, errors: Tensor) -> None:
        """Adds one chunk and block: g (steps, B, block) by the currents, Σ_t `errors` (B,
        block)."""
        operands = self.pieces.operands.block(block)
        if self.bias is not None:
            self.bias[:, block] += errors
        for within, inputs in self.pieces.parts(first, steps):
            rows = g[within].view(len(inputs), g.shape[-1])
            if self.weight is not None:
                operands.add_weight(
                    self.weight[block], rows, inputs, first=block.start not in self.begun
                )
                self.begun.add(block.start)
            if self.input is not None:
                into = self.input[first + within.start : first + within.stop]
                operands.add_input(
                    into.view(len(inputs), into.shape[-1]), rows, first=block.start == 0
                )

    def gradients(self) -> tuple[Tensor | None, ...]:
        """Returns the gradients by (x, weight, bias), None if not needed."""
        by_weight = None if self.weight is None else self.weight.to(self.dtype)
        return self.input, by_weight, None if self.bias is None else sum_to_channel(self.bias, -1)
