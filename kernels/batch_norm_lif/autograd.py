"""Batch normalisation and the neuron in plain eager calls, without torch's dispatcher (see
`lif.autograd`)."""

import torch

from ..lif.operator import NeuronOptions, only_needed
from .operator import batch_norm_lif_backward_op, run_normalised, run_normalised_backward


class NormalisedNeuron(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx, currents, state, weight, bias, epsilon: float, options: NeuronOptions, group=None
    ):
        """Returns spikes, final state, trace, mean, biased variance and numbers in a channel.

        Statistics and count cover all ranks of `group`, if it is not None.
        """
        spikes, final_state, trace, checkpoints, mean, variance, count = run_normalised(
            options, currents, state, weight, bias, epsilon, group
        )
        if options.checkpoints:
            ctx.save_for_backward(currents, weight, bias, mean, variance, checkpoints)
            ctx.set_materialize_grads(False)
            ctx.options, ctx.epsilon = options, epsilon
            ctx.shared = None if group is None else (count, group)
        ctx.mark_non_differentiable(
            mean, variance, *([] if spikes.is_floating_point() else [spikes])
        )
        return spikes, final_state, trace, mean, variance, count

    @staticmethod
    def backward(ctx, grad_spikes, grad_final, grad_trace, *_):
        needed = ctx.needs_input_grad[:4]
        arguments = (
            *ctx.saved_tensors,
            grad_spikes,
            grad_trace,
            grad_final,
            ctx.epsilon,
            needed[0],
        )
        if torch.is_grad_enabled():  # create_graph=True: the operator raises a clear error
            gradients = batch_norm_lif_backward_op(*arguments, *ctx.options.arguments())
        else:
            gradients = run_normalised_backward(ctx.options, *arguments, ctx.shared)
        return *only_needed(gradients, needed), None, None, None
