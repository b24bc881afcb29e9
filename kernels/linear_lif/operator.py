"""A linear layer and its neuron as the torch operators `snnbench::linear_lif` and
`snnbench::linear_lif_backward`.

Plain eager calls bypass torch's dispatcher, as in `lif.autograd`. Options are texts, and a fake and
its operator allocate by the same function, as in `lif.operator`. `passes` computes.
"""

from typing import Any

import torch
from torch import Tensor

from ..lif.operator import only_needed
from ..register import register, register_backward
from . import fused, passes
from .contract import LinearOptions, Saved
from .matmul import currents_dtype

GRADIENT_TYPES_ARE_FREE = hasattr(Tensor, "grad_dtype")
"""True if a gradient may have another type than its tensor; older torch rounds it to short spikes'
type."""


def set_gradient_type(ctx: Any, spikes: Tensor, dtype: torch.dtype) -> None:
    """Lets `spikes`, a forward's only output, get gradients in `dtype`."""
    if hasattr(ctx, "set_output_grad_dtype"):  # from torch 2.15 on
        ctx.set_output_grad_dtype(dtype)
    elif GRADIENT_TYPES_ARE_FREE:
        spikes.grad_dtype = dtype


def run(
    options: LinearOptions, x: Tensor, weight: Tensor, bias: Tensor | None, plainly: bool
) -> Tensor:
    """Returns spikes (T, B, N) of x (T, B, K); `plainly` if only autograd must see the call."""
    if plainly and fused.fits(options, x, weight):
        return Layer.apply(x, weight, bias, fused.plan_of(options, x, weight), None, None)
    if plainly:
        return _LinearNeuron.apply(x, weight, bias, options)
    return linear_lif_op(x, weight, bias, *options.arguments())[0]


def _saved_tensors(saved: Saved, like: Tensor) -> tuple[Tensor, ...]:
    """Returns packed input, currents and checkpoints, with empty tensors for None."""
    return tuple(
        like.new_empty(0) if t is None else t
        for t in (saved.packed, saved.currents, saved.checkpoints)
    )


def _linear_lif(x, weight, bias, *encoded):
    """Returns spikes, packed input, currents and checkpoints; the last three are empty if not
    saved."""
    options = LinearOptions.of(*encoded)
    spikes, saved = passes.forward(options, x, weight, bias)
    if options.packs and saved.packed is None:
        raise ValueError(
            f"inputs were declared as spikes, 0 to {options.counts} a step, but are not:"
            ' declare input="dense"'
        )
    return spikes, *_saved_tensors(saved, x)


def _linear_lif_fake(x, weight, bias, *encoded):
    spikes, saved = passes.allocated(LinearOptions.of(*encoded), x, weight)
    return spikes, *_saved_tensors(saved, x)


def _linear_lif_backward(
    x, weight, bias, packed, currents, checkpoints, grad_spikes, needed, *encoded
):
    """Returns gradients by (x, weight, bias), empty if not `needed`; x is None if it is packed."""
    options = LinearOptions.of(*encoded)
    packed = packed if options.packs or packed.dtype == torch.int64 else None
    saved = Saved(x, packed, None if options.recompute else currents, checkpoints)
    gradients = passes.backward(options, weight, bias, saved, grad_spikes, needed)
    return tuple(weight.new_empty(0) if gradient is None else gradient for gradient in gradients)


def _linear_lif_backward_fake(
    x, weight, bias, packed, currents, checkpoints, grad_spikes, needed, *encoded
):
    options = LinearOptions.of(*encoded)
    shape = (*grad_spikes.shape[:-1], weight.shape[1])
    by_input = weight.new_empty(shape, dtype=currents_dtype(options.operands, weight))
    like = (by_input, weight.new_empty(weight.shape), bias)
    return tuple(
        torch.empty_like(g) if wanted else weight.new_empty(0)
        for g, wanted in zip(like, needed, strict=True)
    )


def _setup_context(ctx, inputs, output):
    x, weight, bias, *encoded = inputs
    options, (spikes, packed, currents, checkpoints) = LinearOptions.of(*encoded), output
    ctx.save_for_backward(None if options.packs else x, weight, bias, packed, currents, checkpoints)
    ctx.set_materialize_grads(False)
    ctx.encoded, ctx.needed = (
        encoded,
        [t is not None and t.requires_grad for t in (x, weight, bias)],
    )
    ctx.mark_non_differentiable(
        packed, currents, checkpoints, *([] if spikes.is_floating_point() else [spikes])
    )


def _backward(ctx, grad_spikes, *_):
    if grad_spikes is None:
        return (None,) * 5
    gradients = linear_lif_backward_op(*ctx.saved_tensors, grad_spikes, ctx.needed, *ctx.encoded)
    return *only_needed(gradients, ctx.needed), None, None


_FORWARD = "Tensor x, Tensor weight, Tensor? bias, str neuron, str more"
_BACKWARD = (
    "Tensor? x, Tensor weight, Tensor? bias, Tensor packed, Tensor currents, Tensor checkpoints,"
    " Tensor grad_spikes, bool[] needed, str neuron, str more"
)
linear_lif_op = register(
    "linear_lif", _FORWARD, 4, _linear_lif, _linear_lif_fake, _backward, _setup_context
)
linear_lif_backward_op = register_backward(
    "linear_lif_backward",
    _BACKWARD,
    3,
    _linear_lif_backward,
    _linear_lif_backward_fake,
    "LinearLIF",
)


class Layer(torch.autograd.Function):
    """A planned call in plain eager torch."""

    @staticmethod
    def forward(
        ctx,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        plan: fused.CallPlan,
        packed: Tensor | None,
        next_words: Tensor | None,
    ) -> Tensor:
        spikes, *saved = plan.forward(x, weight, bias, packed, next_words)
        if plan.options.neuron.checkpoints:
            ctx.save_for_backward(weight, bias, *saved)
            ctx.set_materialize_grads(False)
            ctx.plan = plan
            if not spikes.is_floating_point():
                ctx.mark_non_differentiable(spikes)
            elif spikes.dtype != torch.float32:
                set_gradient_type(ctx, spikes, torch.float32)
        return spikes

    @staticmethod
    def backward(ctx, grad_spikes):
        unplanned = (None,) * 3
        if grad_spikes is None:
            return (None, None, None, *unplanned)
        weight, bias, x, words, potentials = ctx.saved_tensors
        needed = ctx.needs_input_grad[:3]
        if torch.is_grad_enabled():
            # create_graph=True: the operator raises a clear error. It reads no x of spikes.
            x = weight.new_empty(ctx.plan.inputs) if x is None else x
            arguments = (
                x,
                weight,
                bias,
                words,
                potentials,
                weight.new_empty(0),
                grad_spikes,
                list(needed),
            )
            return *only_needed(
                linear_lif_backward_op(*arguments, *ctx.plan.options.arguments()), needed
            ), *unplanned
        by_input, by_weight, by_bias = ctx.plan.backward(
            weight, x, words, potentials, grad_spikes, needed
        )
        if by_bias is not None and bias.dtype != torch.float32:
            by_bias = by_bias.to(bias.dtype)
        return by_input, by_weight, by_bias, *unplanned


class _LinearNeuron(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, options):
        spikes, saved = passes.forward(options, x, weight, bias)
        if options.neuron.checkpoints:
            ctx.save_for_backward(
                weight, bias, saved.x, saved.packed, saved.currents, saved.checkpoints
            )
            ctx.set_materialize_grads(False)
            ctx.options, ctx.operands = options, saved.operands
            # Without saved currents the gradients have the weight's type.
            gradient_type = weight.dtype if saved.currents is None else saved.currents.dtype
            if not spikes.is_floating_point():
                ctx.mark_non_differentiable(spikes)
            elif options.operands != "bf16" and spikes.dtype != gradient_type:
                set_gradient_type(ctx, spikes, gradient_type)
        return spikes

    @staticmethod
    def backward(ctx, grad_spikes):
        if grad_spikes is None:
            return (None,) * 4
        weight, bias, *tensors = ctx.saved_tensors
        saved, needed = Saved(*tensors, ctx.operands), list(ctx.needs_input_grad[:3])
        if not torch.is_grad_enabled():
            return *passes.backward(ctx.options, weight, bias, saved, grad_spikes, needed), None
        # create_graph=True: the operator raises a clear error.
        arguments = (saved.x, weight, bias, *_saved_tensors(saved, weight), grad_spikes, needed)
        gradients = linear_lif_backward_op(*arguments, *ctx.options.arguments())
        return *only_needed(gradients, needed), None
