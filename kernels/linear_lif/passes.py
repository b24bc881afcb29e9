"""Forward and backward pass of a linear layer and its neuron, on (T, B, ·) arrays: all time steps at once, or in pieces."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..lif import backends
from ..lif.operator import allocate, run_backward, run_forward
from . import recompute
from .matmul import currents_dtype, operands_of
from .split_formats import Split


@dataclass(frozen=True)
class Kept:
    """What a forward pass hands to its backward pass; None is not kept."""

    packed: Tensor | None
    """The input as `packing.packed` has it; None: the input itself is kept."""
    currents: Tensor | None
    checkpoints: Tensor | None
    operands: object = None
    """What forward multiplied, where it can be handed over: else backward asks for it again, and under capture splits again."""


def allocated(told, x: Tensor, weight: Tensor) -> tuple[Tensor, Kept]:
    """Spikes of x and what is kept, unwritten: the shapes and types of what `forward` returns."""
    currents = x.new_empty((*x.shape[:-1], len(weight)), dtype=currents_dtype(told.operands, weight))
    spikes, _, _, checkpoints = allocate(currents, told.neuron)
    keeps = told.neuron.checkpoints and not told.recompute
    return spikes, Kept(recompute.storage(told, x) if told.packs else None, currents if keeps else None, checkpoints)


def forward(told, x: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, Kept]:
    """Spikes (T, B, N) of x (T, B, K)."""
    operands = operands_of(weight, told.operands, told.counts)
    if told.recompute:
        spikes, packed, checkpoints = recompute.forward(told, x, weight, bias, operands)
        return spikes, Kept(packed, None, checkpoints, operands)
    currents = x.new_empty((*x.shape[:-1], len(weight)), dtype=operands.currents_dtype)
    operands.currents(_rows(x.to(operands.dtype)), _rows(currents))
    spikes, _, _, checkpoints = run_forward(told.neuron, currents, None, operands.scale, bias)
    return spikes, Kept(None, currents if told.neuron.checkpoints else None, checkpoints, operands)


def backward(told, x: Tensor | None, weight, bias, kept: Kept, grad_spikes: Tensor, needed) -> tuple[Tensor | None, ...]:
    """Gradients by (x, weight, bias), None where not `needed`. x is None if it was packed."""
    operands = kept.operands or operands_of(weight, told.operands, told.counts)
    run = recompute.backward if told.recompute else _backward_at_once
    found = run(told, x, weight, bias, operands, kept, grad_spikes, needed)
    by_input, by_weight, by_bias = found
    return by_input, by_weight, None if by_bias is None else by_bias.to(bias.dtype)


def _backward_at_once(told, x, weight, bias, operands, kept, grad_spikes, needed):
    parts = None
    if needed[1] and operands.takes_parts and backends.module(told.neuron.backend).WRITES_PARTS:
        parts = kept.currents.new_empty((3, *kept.currents.shape), dtype=torch.bfloat16)
    of_currents = [needed[0] or (needed[1] and parts is None), False, False, needed[2]]
    saved, upstream = (kept.currents, operands.scale, bias, kept.checkpoints), (grad_spikes, None, None)
    g, _, _, by_bias = run_backward(told.neuron, *saved, *upstream, of_currents, parts)
    by_input = by_weight = None
    if needed[1]:
        by_weight = torch.empty_like(weight, memory_format=torch.contiguous_format)
        gradient = _rows(g) if parts is None else Split(tuple(map(_rows, parts)), (1.0, 1.0, 1.0))
        operands.add_weight(by_weight, gradient, _rows(x.to(operands.dtype)), first=True)
    if needed[0]:
        by_input = g.new_empty(x.shape)
        operands.add_input(_rows(by_input), _rows(g), first=True)
    return by_input, by_weight, by_bias


def _rows(array: Tensor) -> Tensor:
    """(T·B, ·) of (T, B, ·)."""
    return array.reshape(array.shape[0] * array.shape[1], array.shape[2])
