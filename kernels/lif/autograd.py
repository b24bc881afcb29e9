"""The neuron in plain eager calls, without torch's dispatcher.

A forward and backward pass through a registered operator written in Python takes some 100 µs, as much as the neuron itself
at N = 512. Where nothing but autograd has to see a call, the function here gives the same results in half of that time.
"""

import torch
from torch import Tensor

from .operator import NeuronOptions, lif_backward_op, only_needed, run_backward, run_forward


def suffices(tensors) -> bool:
    """Whether nothing but autograd has to see the call: no compiler, tracer, mode, transform or subclass of Tensor."""
    if (
        torch.compiler.is_compiling()
        or torch._C._len_torch_dispatch_stack()
        or torch._C._len_torch_function_stack()
    ):
        return False
    for t in tensors:
        if t is not None and type(t) is not Tensor and type(t) is not torch.nn.Parameter:
            return False
    return torch._C._functorch.peek_interpreter_stack() is None


class Neuron(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx, currents, state, scale, shift, options: NeuronOptions
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Spikes, final state and trace."""
        spikes, final_state, trace, checkpoints = run_forward(
            options, currents, state, scale, shift
        )
        if options.checkpoints:
            ctx.save_for_backward(currents, scale, shift, checkpoints)
            ctx.set_materialize_grads(False)
            ctx.options = options
            if not spikes.is_floating_point():
                ctx.mark_non_differentiable(spikes)
        return spikes, final_state, trace

    @staticmethod
    def backward(ctx, grad_spikes, grad_final, grad_trace):
        needed = list(ctx.needs_input_grad[:4])
        arguments = (*ctx.saved_tensors, grad_spikes, grad_trace, grad_final, needed)
        if not torch.is_grad_enabled():
            return *run_backward(ctx.options, *arguments), None
        # With create_graph=True the operator is called, which refuses a second derivative in words.
        gradients = lif_backward_op(*arguments, *ctx.options.arguments())
        return *only_needed(gradients, needed), None
