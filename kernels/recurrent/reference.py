"""The backend "reference": the recurrent layer in torch, on any device; tests compare the others
with it."""

import torch
from torch import Tensor

from ..bits import pack, packed_like, unpack
from ..lif.adaptive import adaptive_error, after_spike_of
from ..lif.contract import state_dtype
from ..lif.reference import after_spike, reset_slope, spikes_of
from ..surrogates import derivative
from .contract import Backward, Forward


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    return None


def bits_like(currents: Tensor) -> Tensor:
    """Returns an unwritten uint8 tensor (T, B, ⌈N/8⌉) of `bits.pack`."""
    return packed_like(currents, 1)


def forward(call: Forward) -> None:
    spec, compute = call.spec, state_dtype(call.currents.dtype)
    state = call.final_state.zero_() if call.state is None else call.state
    p, s = state[0], (state[1] != 0).to(compute)
    a = None if spec.adaptation is None else state[2]
    i = None if spec.current_decay is None else state[2]
    weight, bias = call.weight.to(compute), 0 if call.bias is None else call.bias
    for t, x in enumerate(call.currents.unbind(0)):
        call.bits[t] = pack(s, 1)
        current = x.to(compute) + (s @ weight.t() + bias)
        if i is not None:
            current = i = spec.current_decay * i + current
        v = spec.decay * p + current
        s = spikes_of(spec, v if a is None else v - a)
        p = after_spike(spec, v, s) if a is None else after_spike_of(spec, v, s, a)
        if call.spikes is not None:
            call.spikes[t] = s
        if call.potentials is not None:
            (call.potentials if a is None else call.potentials[0])[t] = v
        if a is not None:
            if call.potentials is not None:
                call.potentials[1, t] = a
            assert spec.adaptation is not None and spec.adaptation_decay is not None
            a = spec.adaptation_decay * a + spec.adaptation * s
    torch.stack([p, s, *(third for third in (a, i) if third is not None)], out=call.final_state)


def backward(call: Backward) -> None:
    spec, compute = call.spec, call.potentials.dtype
    v, a = (call.potentials, None) if spec.adaptation is None else call.potentials.unbind(0)
    weight = call.weight.to(compute)
    final = v.new_zeros(3, *v.shape[1:]) if call.grad_final is None else call.grad_final
    gp, fed_back, third = final[0], final[1], final[-1]
    errors = torch.empty_like(v)
    for t in range(len(v) - 1, -1, -1):
        by_spikes = call.grad_spikes[t].to(compute) + fed_back
        if a is None:
            slope = derivative(spec, torch)(v[t] - spec.threshold)
            passed = reset_slope(spec, v[t], spikes_of(spec, v[t]), slope)
            errors[t] = by_spikes * slope + gp * passed
        else:
            errors[t], third = adaptive_error(spec, v[t], a[t], by_spikes, gp, third)
        gp = spec.decay * errors[t]
        if spec.current_decay is not None:
            errors[t] += third
            third = spec.current_decay * errors[t]
        fed_back = errors[t] @ weight
    call.errors.copy_(errors)
    if call.grad_state is not None:
        call.grad_state[0], call.grad_state[2:] = gp, third
    if call.grad_weight is not None:
        unpack(call.bits, 1, before := torch.empty_like(v))
        by_weight = errors.flatten(0, 1).t() @ before.flatten(0, 1)
        call.grad_weight.copy_(call.grad_weight + by_weight if call.adds else by_weight)
