"""The fused neuron with a learned decay: kernels take the decay's value, this module its gradient.

With e the gradient by the currents, ∂L/∂decay = Σ_t e[t]·p[t−1] over all sequences. A second
forward pass recomputes the potentials: backward takes memory for two more arrays of the currents'
size. Both are float32 at least: a potential that is rounded up to the threshold would count as
reset, and of the sum's terms most cancel. The host reads the decay.
"""

from dataclasses import replace

import torch
from torch import Tensor

from ..register import no_second_derivative
from ..spec import NeuronSpec, decay_by_parameter, decay_of, within_domain
from .operator import NeuronOptions, run_backward, run_forward


class LearnedDecay(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx, currents: Tensor, parameter: Tensor, learned: NeuronSpec, options: NeuronOptions
    ) -> Tensor:
        """Returns spikes (T, B, …) of currents of that shape.

        `learned` is the specified neuron; the neuron of `options` has the decay's current value.
        """
        spikes, _, _, checkpoints = run_forward(options, currents, None, None, None)
        ctx.save_for_backward(currents, parameter, checkpoints)
        ctx.learned, ctx.options = learned, options
        return spikes

    @staticmethod
    def backward(ctx, grad_spikes):
        if torch.is_grad_enabled():
            raise no_second_derivative("a LIF that learns its decay")
        currents, parameter, checkpoints = ctx.saved_tensors
        options, needed, dtype = ctx.options, [True, False, False, False], currents.dtype
        if ctx.needs_input_grad[1] and dtype.itemsize < 4:
            currents = currents.float()
        errors = run_backward(
            options, currents, None, None, checkpoints, grad_spikes, None, None, needed
        )[0]
        if not ctx.needs_input_grad[1]:
            return errors, None, None, None
        again = replace(options, trace=True, checkpoints=False)
        _, _, potentials, _ = run_forward(again, currents, None, None, None)
        by_decay = (errors[1:].double() * _after_reset(options.spec, potentials[:-1])).sum()
        by_parameter = by_decay * decay_by_parameter(ctx.learned, options.spec.decay)
        decay = decay_of(ctx.learned, parameter.detach().float(), torch)
        by_parameter = by_parameter * ((decay >= 0) & (decay <= 1))  # as of a clamp
        by_parameter = by_parameter.to(parameter.dtype).view(parameter.shape)
        return errors.to(dtype), by_parameter, None, None


def decay_now(spec: NeuronSpec, parameter: Tensor) -> float:
    """Returns the decay of a parameter; training may take it out of (0, 1], and it is clamped."""
    return within_domain(float(decay_of(spec, parameter.detach().float(), torch)))


def _after_reset(spec: NeuronSpec, potentials: Tensor) -> Tensor:
    """Returns p of potentials v (…), as lif_step.h computes it."""
    if spec.reset == "none":
        return potentials
    if spec.reset.startswith("hard"):
        return potentials * (potentials < spec.threshold)
    counts = (potentials / spec.threshold).floor_().clamp_(0, spec.max_spikes)
    return potentials - spec.subtracted * (
        counts if spec.max_spikes > 1 else potentials >= spec.threshold
    )
