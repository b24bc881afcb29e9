"""Both passes in pieces, with hardly anything kept between them or in between.

All at once keeps the input and the currents, T·B·N numbers, and makes as many gradients. In pieces the input is kept, in bits
or bytes where it is spikes, and the neuron's state every 32 steps; currents exist of 32 steps and some neurons at a time, in
forward, and again in backward, which multiplies anew: four products for three. Both multiply the same pieces, copied to the
same kind of place, so that a library has no reason to round otherwise, and a decision is made again as it was.
"""

import torch
from torch import Tensor

from .. import bits
from ..lif import backends
from ..lif.contract import Backward, Forward
from ..lif.operator import SPIKE_DTYPES, over_channel, run, state_dtype, sum_to_channel
from ..work import CHECKPOINT_STEPS

PIECE = 3 << 17
"""Numbers of a piece of input, currents or gradients, unless LEAST makes it more: 1.5 MiB in float32."""

LEAST = 128
"""Rows and neurons below which a product does not run at its speed."""


def storage(told, x: Tensor) -> Tensor:
    """Where the packed input goes."""
    size = x.shape[-1]
    return x.new_empty((*x.shape[:-1], -(-size // 8) if told.counts == 1 else size), dtype=torch.uint8)


class Pieces:
    """How the work is cut, and the places where a piece lies."""

    def __init__(self, told, weight: Tensor, bias: Tensor | None, operands, source: Tensor, packed: bool):
        """`source` is the input (T, B, K), packed or not."""
        self.told, self.bias, self.source, self.packed = told, bias, source, packed
        self.operands = operands
        self.scale = self.operands.scale
        self.steps, self.batch, (self.neurons, inputs) = len(source), source.shape[1], weight.shape
        chunk = max(1, min(CHECKPOINT_STEPS, self.steps))
        rows = max(LEAST, PIECE // max(1, inputs))
        parts = -(-chunk * self.batch // rows)  # of one size: a short last one would be slow
        self.part = -(-chunk // max(1, min(chunk, parts)))
        width = max(LEAST, PIECE // max(1, chunk * self.batch) // LEAST * LEAST)
        self.blocks = [slice(first, min(first + width, self.neurons)) for first in range(0, self.neurons, width)]
        self.inputs = source.new_empty((self.part, self.batch, inputs), dtype=self.operands.dtype)
        self.room = source.new_empty((chunk * self.batch * min(width, self.neurons),), dtype=self.operands.currents_dtype)
        self.loaded = None

    def chunks(self) -> list[tuple[int, int, int]]:
        """(number, first step, steps) from one checkpoint to the next."""
        starts = range(0, self.steps, CHECKPOINT_STEPS)
        return [(number, first, min(CHECKPOINT_STEPS, self.steps - first)) for number, first in enumerate(starts)]

    def parts(self, first: int, steps: int):
        """(steps within the chunk, inputs (rows, K)) of every part of a chunk; the inputs are gone at the next."""
        for start in range(0, steps, self.part):
            within = slice(start, min(start + self.part, steps))
            taken = slice(first + within.start, first + within.stop)
            inputs = self.inputs[: within.stop - within.start]
            if self.loaded != taken:
                if self.packed:
                    bits.unpack(self.source[taken], self.told.counts, inputs)
                else:
                    inputs.copy_(self.source[taken])
                self.loaded = taken
            yield within, inputs.view(len(inputs) * self.batch, inputs.shape[-1])

    def place(self, room: Tensor, steps: int, block: slice) -> Tensor:
        """(steps, batch, neurons of the block) at the start of `room`."""
        shape = (steps, self.batch, block.stop - block.start)
        return room[: shape[0] * shape[1] * shape[2]].view(shape)

    def currents(self, first: int, steps: int, block: slice) -> Tensor:
        """Of a chunk and block of neurons."""
        currents, operands = self.place(self.room, steps, block), self.operands.block(block)
        for within, inputs in self.parts(first, steps):
            operands.currents(inputs, currents[within].view(len(inputs), currents.shape[-1]))
        return currents

    def channels(self, currents: Tensor, block: slice) -> dict[str, Tensor | None]:
        """The neuron's scale and shift for a block."""
        given = {"scale": self.scale, "shift": self.bias}
        return {name: None if v is None else over_channel(v[block], currents, -1) for name, v in given.items()}


def forward(told, x: Tensor, weight: Tensor, bias: Tensor | None, operands) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Spikes, packed input and checkpoints; None is not kept."""
    pieces, neuron = Pieces(told, weight, bias, operands, x, packed=False), told.neuron
    inner, state = (pieces.batch, pieces.neurons), state_dtype(pieces.operands.currents_dtype)
    spikes = x.new_empty((pieces.steps, *inner), dtype=SPIKE_DTYPES[neuron.spikes])
    before, after = x.new_zeros(inner, dtype=state), x.new_empty(inner, dtype=state)
    chunks = pieces.chunks()
    checkpoints = x.new_empty((len(chunks), *inner), dtype=state) if neuron.checkpoints else None
    packed = storage(told, x) if told.packs else None
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
                bits=False,
                final_state=after[:, block],
                trace=None,
                checkpoints=None if checkpoints is None else checkpoints[number : number + 1, :, block],
            )
            run(kernel, call)
        before, after = after, before
        if packed is not None:
            for start in range(first, first + steps, pieces.part):
                taken = slice(start, min(start + pieces.part, first + steps))
                packed[taken] = bits.packed(x[taken], told.counts)
    return spikes, packed, checkpoints


def backward(told, x: Tensor | None, weight, bias, operands, kept, grad_spikes, needed) -> tuple[Tensor | None, ...]:
    """Gradients by (x, weight, bias); see `passes.backward`."""
    pieces = Pieces(told, weight, bias, operands, kept.packed if x is None else x, packed=x is None)
    sums = Sums(pieces, weight, kept.checkpoints.dtype, needed)
    carried = torch.zeros_like(kept.checkpoints[0]) if len(kept.checkpoints) else None
    room = torch.empty_like(pieces.room)
    kernel = backends.module(told.neuron.backend).backward
    for number, first, steps in reversed(pieces.chunks()):
        for block in pieces.blocks:
            currents, g = pieces.currents(first, steps, block), pieces.place(room, steps, block)
            after = carried[:, block].clone()
            errors = torch.empty_like(after)
            call = Backward(
                spec=told.neuron.spec,
                currents=currents,
                **pieces.channels(currents, block),
                checkpoints=kept.checkpoints[number : number + 1, :, block],
                grad_spikes=grad_spikes[first : first + steps, :, block],
                grad_trace=None,
                grad_final=after,
                center=None,
                mix=None,
                grad_currents=g,
                grad_state=carried[:, block],
                sum_error=errors,
                sum_by_current=None,
            )
            run(kernel, call)
            sums.add(block, first, steps, g, errors)
    return sums.found()


class Sums:
    """The gradients by input, weight and bias, as the pieces add to them."""

    def __init__(self, pieces: Pieces, weight: Tensor, state: torch.dtype, needed):
        self.pieces, self.dtype, (inputs, weights, biases) = pieces, weight.dtype, needed
        empty = not (pieces.steps and pieces.batch and pieces.neurons)
        make = weight.new_zeros if empty else weight.new_empty
        shape = (pieces.steps, pieces.batch, weight.shape[1])
        self.input = make(shape, dtype=pieces.operands.currents_dtype) if inputs else None
        # A short format would round at every piece that is added.
        self.weight = make(weight.shape, dtype=torch.promote_types(weight.dtype, torch.float32)) if weights else None
        self.bias = weight.new_zeros((pieces.batch, pieces.neurons), dtype=state) if biases else None
        self.begun = set()

    def add(self, block: slice, first: int, steps: int, g: Tensor, errors: Tensor) -> None:
        """What one chunk and block of neurons adds: g by the currents (steps, B, block), errors summed over its steps."""
        operands = self.pieces.operands.block(block)
        if self.bias is not None:
            self.bias[:, block] += errors
        for within, inputs in self.pieces.parts(first, steps):
            rows = g[within].view(len(inputs), g.shape[-1])
            if self.weight is not None:
                operands.add_weight(self.weight[block], rows, inputs, first=block.start not in self.begun)
                self.begun.add(block.start)
            if self.input is not None:
                into = self.input[first + within.start : first + within.stop]
                operands.add_input(into.view(len(inputs), into.shape[-1]), rows, first=block.start == 0)

    def found(self) -> tuple[Tensor | None, ...]:
        by_weight = None if self.weight is None else self.weight.to(self.dtype)
        return self.input, by_weight, None if self.bias is None else sum_to_channel(self.bias, -1)
