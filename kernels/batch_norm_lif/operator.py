"""Batch normalisation and neuron as one operator: Algorithms 1 to 4 of Liang et al. (DATE 2022).

Normalised currents are never stored: with the batch's mean μ and r = 1/√(variance + ε) of a
channel, they are the neuron's currents for the scale γ·r and the shift β − μ·γ·r. Forward saves
only the input x, and backward scans it twice:

    scan 1    dβ = Σ e,  dγ = r·Σ e·(x − μ)                      e: by the normalised current
    scan 2    dx = γ·r·(e − dβ/m − (x − μ)·r·dγ/m)               m: numbers in a channel

Bytes for each float32 element: forward 4 (statistics; on CPUs 8, in two scans) + 8, backward 8 +
12; storing e instead would take 24 in backward.
"""

from dataclasses import replace
from types import ModuleType

import torch
from torch import Tensor

from ..lif import backends
from ..lif.contract import Backward
from ..lif.operator import (
    NeuronOptions,
    allocate,
    allocate_gradients,
    only_needed,
    or_empty,
    run,
    run_forward,
    state_dtype,
)
from ..register import register, register_backward
from . import compiled, ranks, statistics


def by_channel(currents: Tensor, channel_dim: int) -> ModuleType:
    """Returns the module that computes statistics, rows and gradients of such currents."""
    return compiled if compiled.takes(currents, channel_dim) else statistics


def run_normalised(
    options: NeuronOptions,
    currents: Tensor,
    state: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
    group: "ranks.Group | None" = None,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor, Tensor, int]:
    """Returns spikes, final state, trace, checkpoints, mean, biased variance and numbers in a
    channel.

    The first four are those of `lif.operator.run_forward`; statistics (C,) and count cover all
    ranks of `group`, if it is not None.
    """
    module, count = (
        by_channel(currents, options.channel_dim),
        currents.numel() // max(1, currents.shape[options.channel_dim]),
    )
    if group is not None and not count:
        mean, variance = currents.new_zeros(
            2, currents.shape[options.channel_dim], dtype=state_dtype(currents.dtype)
        )
    else:
        mean, variance = module.statistics(currents, options.channel_dim)
    if group is not None:
        mean, variance, count = ranks.merged(mean, variance, count, group)
    scale, shift, _ = module.rows(
        currents, options.channel_dim, mean, variance, weight, bias, epsilon
    )
    return *run_forward(options, currents, state, scale, shift), mean, variance, count


def _forward(currents, state, weight, bias, epsilon, *encoded):
    return or_empty(
        run_normalised(NeuronOptions.of(*encoded), currents, state, weight, bias, epsilon)[:-1],
        currents,
    )


def _forward_fake(currents, state, weight, bias, epsilon, *encoded):
    options = NeuronOptions.of(*encoded)
    channel = currents.new_empty(
        (currents.shape[options.channel_dim],), dtype=state_dtype(currents.dtype)
    )
    return or_empty((*allocate(currents, options), channel, torch.empty_like(channel)), currents)


def run_normalised_backward(
    options: NeuronOptions,
    currents: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    checkpoints: Tensor,
    grad_spikes: Tensor | None,
    grad_trace: Tensor | None,
    grad_final: Tensor | None,
    epsilon: float,
    needed: bool,
    shared: "tuple[int, ranks.Group] | None" = None,
) -> tuple[Tensor | None, ...]:
    """Returns gradients by currents (None unless `needed`), state (*inner), weight (C,) and bias
    (C,).

    `shared` is None, or the numbers in a channel over all ranks and their group.
    """
    kernel, channel_dim = backends.module(options.backend).backward, options.channel_dim
    module = by_channel(currents, channel_dim)
    scale, shift, center = module.rows(currents, channel_dim, mean, variance, weight, bias, epsilon)
    grad_currents, grad_state, sum_by_current, sum_error = allocate_gradients(
        currents, [needed, True, True, True]
    )
    first_scan = Backward(
        spec=options.spec,
        currents=currents,
        scale=scale,
        shift=shift,
        checkpoints=checkpoints,
        grad_spikes=grad_spikes,
        grad_trace=grad_trace,
        grad_final=grad_final,
        center=center,
        grad_state=grad_state,
        sum_error=sum_error,
        sum_by_current=sum_by_current,
    )
    run(kernel, first_scan)
    sums = (currents, channel_dim, sum_error, sum_by_current, variance, weight, epsilon, needed)
    grad_weight, grad_bias, mix_current, mix_constant = (
        module.gradients(*sums) if shared is None else statistics.gradients(*sums, shared)
    )
    if needed:
        second_scan = replace(
            first_scan,
            mix_error=first_scan.scale,
            mix_current=mix_current,
            mix_constant=mix_constant,
            grad_currents=grad_currents,
            grad_state=None,
            sum_error=None,
            sum_by_current=None,
        )
        run(kernel, second_scan)
    return grad_currents, grad_state, grad_weight, grad_bias


def _backward_kernel(
    currents,
    weight,
    bias,
    mean,
    variance,
    checkpoints,
    grad_spikes,
    grad_trace,
    grad_final,
    epsilon,
    needed,
    *encoded,
):
    saved, upstream = (
        (currents, weight, bias, mean, variance, checkpoints),
        (grad_spikes, grad_trace, grad_final),
    )
    return or_empty(
        run_normalised_backward(NeuronOptions.of(*encoded), *saved, *upstream, epsilon, needed),
        currents,
    )


def _backward_fake(
    currents, weight, bias, mean, variance, checkpoints, gs, gv, gf, epsilon, needed, *encoded
):
    return or_empty(
        (
            *allocate_gradients(currents, [needed, True]),
            torch.empty_like(mean),
            torch.empty_like(mean),
        ),
        currents,
    )


def _setup_context(ctx, inputs, output):
    currents, _, weight, bias, epsilon, *encoded = inputs
    ctx.save_for_backward(currents, weight, bias, output[4], output[5], output[3])
    ctx.set_materialize_grads(False)
    ctx.epsilon, ctx.encoded, ctx.needed = (
        epsilon,
        encoded,
        [t is not None and t.requires_grad for t in inputs[:4]],
    )
    ctx.mark_non_differentiable(
        *output[3:], *([] if output[0].is_floating_point() else [output[0]])
    )


def _backward(ctx, grad_spikes, grad_final, grad_trace, *_):
    has_trace = NeuronOptions.of(*ctx.encoded).trace
    upstream = (grad_spikes, grad_trace if has_trace else None, grad_final)
    gradients = batch_norm_lif_backward_op(
        *ctx.saved_tensors, *upstream, ctx.epsilon, ctx.needed[0], *ctx.encoded
    )
    return *only_needed(gradients, ctx.needed), *[None] * 4


_FORWARD = (
    "Tensor currents, Tensor? state, Tensor? weight, Tensor? bias, float epsilon, str neuron,"
    " int channel_dim, str more"
)
_BACKWARD = (
    "Tensor currents, Tensor? weight, Tensor? bias, Tensor mean, Tensor variance,"
    " Tensor checkpoints, Tensor? grad_spikes, Tensor? grad_trace, Tensor? grad_final,"
    " float epsilon, bool needed, str neuron, int channel_dim, str more"
)
batch_norm_lif_op = register(
    "batch_norm_lif", _FORWARD, 6, _forward, _forward_fake, _backward, _setup_context
)
batch_norm_lif_backward_op = register_backward(
    "batch_norm_lif_backward", _BACKWARD, 4, _backward_kernel, _backward_fake, "BatchNormLIF"
)
