"""Forward and backward pass of a linear layer and its neuron, on (T, B, ·) arrays."""

from dataclasses import replace

import torch
from torch import Tensor

from .. import bits
from ..lif import backends
from ..lif.operator import allocate, run_backward, run_forward
from . import fused, recompute
from .contract import LinearOptions, Saved
from .matmul import currents_dtype, operands_of
from .split_formats import Split


def allocated(options: LinearOptions, x: Tensor, weight: Tensor) -> tuple[Tensor, Saved]:
    """Allocates spikes and saved tensors with the shapes and types of `forward`."""
    if fused.fits(options, x, weight):
        return fused.allocated(options, x, weight)
    currents = x.new_empty(
        (*x.shape[:-1], len(weight)), dtype=currents_dtype(options.operands, weight)
    )
    spikes, _, _, checkpoints = allocate(currents, options.neuron)
    saves_currents = options.neuron.checkpoints and not options.recompute
    packed = bits.packed_like(x, options.counts) if options.packs else None
    return spikes, Saved(
        None if options.packs else x, packed, currents if saves_currents else None, checkpoints
    )


def forward(
    options: LinearOptions, x: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Saved]:
    """Returns spikes (T, B, N) of x (T, B, K), weight (N, K) and bias (N,), and saved tensors."""
    if fused.fits(options, x, weight):
        spikes, _, words, potentials = fused.plan_of(options, x, weight).forward(x, weight, bias)
        return spikes, Saved(x, words, potentials, None)
    operands = operands_of(weight, options.operands, options.counts, options.neuron.backend)
    if options.recompute:
        return recompute.forward(options, x, weight, bias, operands)
    currents = x.new_empty(
        (*x.shape[:-1], len(weight)), dtype=currents_dtype(options.operands, weight)
    )
    operands.currents(_rows(x.to(operands.dtype)), _rows(currents))
    spikes, _, _, checkpoints = run_forward(options.neuron, currents, None, operands.scale, bias)
    return spikes, Saved(
        x, None, currents if options.neuron.checkpoints else None, checkpoints, operands
    )


def backward(
    options: LinearOptions,
    weight: Tensor,
    bias: Tensor | None,
    saved: Saved,
    grad_spikes: Tensor,
    needed: list[bool],
) -> tuple[Tensor | None, ...]:
    """Returns gradients by (x, weight, bias), None if not `needed`."""
    if (
        saved.x is not None
        and saved.packed is not None
        and (potentials := saved.potentials) is not None
    ):
        plan = fused.plan_of(options, saved.x, weight)
        by_input, by_weight, by_bias = plan.backward(
            weight, saved.x, saved.packed, potentials, grad_spikes, needed
        )
    else:
        if saved.operands is None:
            saved = replace(
                saved,
                operands=operands_of(
                    weight, options.operands, options.counts, options.neuron.backend
                ),
            )
        run = recompute.backward if options.recompute else _backward_at_once
        by_input, by_weight, by_bias = run(options, weight, bias, saved, grad_spikes, needed)
    return by_input, by_weight, None if by_bias is None or bias is None else by_bias.to(bias.dtype)


def _backward_at_once(
    options: LinearOptions,
    weight: Tensor,
    bias: Tensor | None,
    saved: Saved,
    grad_spikes: Tensor,
    needed: list[bool],
) -> tuple[Tensor | None, ...]:
    x, currents, operands, (input_needed, weight_needed, bias_needed) = (
        saved.x,
        saved.currents,
        saved.operands,
        needed,
    )
    assert (
        x is not None
        and currents is not None
        and saved.checkpoints is not None
        and operands is not None
    )
    parts = None
    if (
        weight_needed
        and operands.takes_parts
        and backends.module(options.neuron.backend).WRITES_PARTS
    ):
        parts = currents.new_empty((3, *currents.shape), dtype=torch.bfloat16)
    of_neuron = [input_needed or (weight_needed and parts is None), False, False, bias_needed]
    upstream = (grad_spikes, None, None)
    forward_tensors = (currents, operands.scale, bias, saved.checkpoints)
    g, _, _, by_bias = run_backward(
        options.neuron, *forward_tensors, *upstream, of_neuron, grad_parts=parts
    )
    by_input = by_weight = None
    if weight_needed:
        by_weight = torch.empty_like(weight, memory_format=torch.contiguous_format)
        gradient = _rows(g) if parts is None else Split(tuple(map(_rows, parts)), (1.0, 1.0, 1.0))
        operands.add_weight(by_weight, gradient, _rows(x.to(operands.dtype)), first=True)
    if input_needed:
        by_input = currents.new_empty(x.shape)
        operands.add_input(_rows(by_input), _rows(g), first=True)
    return by_input, by_weight, by_bias


def _rows(array: Tensor) -> Tensor:
    """Returns (T·B, ·) of (T, B, ·)."""
    return array.reshape(array.shape[0] * array.shape[1], array.shape[2])
