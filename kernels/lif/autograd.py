"""The neuron in plain eager calls, without torch's dispatcher.

A registered operator in Python takes some 100 µs for both passes, as much as the neuron itself at N
= 512. The function here returns the same results in half of that time, but only autograd sees its
calls.
"""

import torch
from torch import Tensor

from .operator import NeuronOptions, lif_backward_op, only_needed, run_backward, run_forward


def suffices(tensors) -> bool:
    """Returns True if only autograd must see the call: no compiler, mode, transform or Tensor
    subclass."""
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
        """Returns spikes, final state and trace."""
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
        # create_graph=True: the operator raises a clear error.
        gradients = lif_backward_op(*arguments, *ctx.options.arguments())
        return *only_needed(gradients, needed), None
