"""The passes at once for spikes and float32 weights on CPUs: product and neuron in one kernel, `linear.launch`.

Forward keeps the potentials and the input as words of bits. Backward needs no gradient by the currents but a few steps at a time.
An input that holds anything but spikes is multiplied densely, and kept.
"""

import torch
from torch import Tensor

from ..lif import backends
from ..lif.contract import Forward
from ..lif.operator import SPIKE_DTYPES
from ..linear import dense, launch
from ..linear.operands import multiply
from .contract import LinearOptions, Saved


def fits(options: LinearOptions, x: Tensor, weight: Tensor) -> bool:
    """Whether these passes compute the call."""
    alone = options.operands == "plain" and not options.recompute and options.neuron.backend == "cpp"
    return alone and weight.dtype == torch.float32 and launch.takes(x, weight, options.counts)


def allocated(options: LinearOptions, x: Tensor, weight: Tensor) -> tuple[Tensor, Saved]:
    """Unwritten spikes and what is saved: words and potentials (T, B, N)."""
    shape = (*x.shape[:-1], len(weight))
    spikes = x.new_empty(shape, dtype=SPIKE_DTYPES[options.neuron.spikes])
    potentials = x.new_empty(shape, dtype=torch.float32) if options.neuron.checkpoints else None
    return spikes, Saved(x, launch.words_like(x, options.counts), potentials, None)


def forward(options: LinearOptions, x: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, Saved]:
    """Spikes (T, B, N); see `passes.forward`. x is saved only if it holds anything but spikes."""
    spikes, saved = allocated(options, x, weight)
    bias = None if bias is None else bias.float().contiguous()
    tensors = (x, weight.contiguous(), bias, spikes, saved.currents, saved.packed)
    if launch.forward(options.neuron.spec, *tensors, options.counts):
        return spikes, Saved(None, saved.packed, saved.currents, None)
    currents = x.new_empty(spikes.shape, dtype=torch.float32)
    multiply(x.to(torch.float32).flatten(0, 1), weight.t(), currents.flatten(0, 1))
    call = Forward(
        spec=options.neuron.spec,
        currents=currents,
        shift=None if bias is None else bias.expand(currents.shape[1:]),
        spikes=spikes,
        final_state=torch.empty_like(currents[0]),
        trace=saved.currents,
    )
    backends.module("cpp").forward(call)
    return spikes, saved


def backward(
    options: LinearOptions, weight: Tensor, bias: Tensor | None, saved: Saved, grad_spikes: Tensor, needed: list[bool]
) -> tuple[Tensor | None, ...]:
    """Gradients by (x, weight, bias), None where not `needed`."""
    input_needed, weight_needed, bias_needed = needed
    words, potentials, weight = saved.packed, saved.potentials, weight.contiguous()
    assert words is not None and potentials is not None
    selects, tile = words[0].item() >= 0, dense.address_of_tile() if input_needed else 0
    by_weight = torch.empty_like(weight) if weight_needed else None
    by_bias = weight.new_empty(len(weight)) if bias_needed else None
    by_input = weight.new_empty((*potentials.shape[:-1], weight.shape[1])) if input_needed else None
    errors = torch.empty_like(potentials) if (input_needed and not tile) or (weight_needed and not selects) else None
    gradients = (by_weight if selects else None, by_bias, by_input if tile else None, errors)
    tensors = (grad_spikes, potentials, words if selects else None, weight)
    launch.backward(options.neuron.spec, *tensors, *gradients, tile, options.counts)
    if by_input is not None and errors is not None and not tile:
        multiply(errors.flatten(0, 1), weight, by_input.flatten(0, 1))
    if by_weight is not None and errors is not None and saved.x is not None and not selects:
        multiply(errors.flatten(0, 1).t(), saved.x.to(torch.float32).flatten(0, 1), by_weight)
    return by_input, by_weight, by_bias
