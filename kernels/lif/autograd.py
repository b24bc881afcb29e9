"""The neuron in plain eager calls, without torch's dispatcher.

A registered operator written in Python costs some 100 µs a forward and backward pass, as much as the neuron itself at
N = 512. Where autograd alone has to know of a call, this does the same as the operator and costs half of it.
"""

import torch
from torch import Tensor

from .operator import Options, lif_backward_op, run_backward, run_forward


def suffices(tensors) -> bool:
    """No compiler, tracer, mode, transform or subclass of Tensor has to see the call."""
    if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack():
        return False
    plain = all(t is None or type(t) in (Tensor, torch.nn.Parameter) for t in tensors)
    return plain and torch._C._functorch.peek_interpreter_stack() is None


def lif(tensors, told: Options) -> tuple[Tensor, Tensor, Tensor | None]:
    """Spikes, final state and trace of (currents, state, scale, shift)."""
    return _Neuron.apply(*tensors, told)


class _Neuron(torch.autograd.Function):
    @staticmethod
    def forward(ctx, currents, state, scale, shift, told):
        spikes, final, trace, checkpoints = run_forward(told, currents, state, scale, shift)
        if told.checkpoints:
            ctx.save_for_backward(currents, scale, shift, checkpoints)
            ctx.set_materialize_grads(False)
            ctx.told = told
            if not spikes.is_floating_point():
                ctx.mark_non_differentiable(spikes)
        return spikes, final, trace

    @staticmethod
    def backward(ctx, grad_spikes, grad_final, grad_trace):
        needed = list(ctx.needs_input_grad[:4])
        arguments = (*ctx.saved_tensors, grad_spikes, grad_trace, grad_final, needed)
        if not torch.is_grad_enabled():
            return *run_backward(ctx.told, *arguments), None
        found = lif_backward_op(*arguments, *ctx.told.arguments())  # which can say what is wrong with differentiating it again
        return *(g if wanted else None for g, wanted in zip(found, needed, strict=True)), None
