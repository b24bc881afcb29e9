"""The backend "reference": the recurrence in torch, on any device; tests compare the others with
it.

Every operation of a step goes through memory: about 40 bytes for each float32 element forward, and
about 100 backward.
"""

import torch

from ..bits import pack
from ..spec import NeuronSpec
from ..surrogates import derivative
from .contract import CHECKPOINT_STEPS, Backward, Forward, state_dtype

WRITES_PARTS = False


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    return None


def forward(call: Forward) -> None:
    spec, compute = call.spec, state_dtype(call.currents.dtype)
    state = (
        torch.zeros_like(call.currents[0], dtype=compute)
        if call.state is None
        else call.state.to(compute)
    )
    for t, x in enumerate(call.currents.unbind(0)):
        if call.checkpoints is not None and t % CHECKPOINT_STEPS == 0:
            call.checkpoints[t // CHECKPOINT_STEPS] = state
        v = spec.decay * state + current(x, call.scale, call.shift, compute)
        s = spikes_of(spec, v)
        state = after_spike(spec, v, s)
        call.spikes[t] = pack(s, 1) if call.bits else s
        if call.trace is not None:
            call.trace[t] = v
    call.final_state.copy_(state)


def backward(call: Backward) -> None:
    spec, steps = call.spec, len(call.currents)
    compute = state_dtype(call.currents.dtype)
    zeros = torch.zeros_like(call.currents[0], dtype=compute)
    gp = zeros if call.grad_final is None else call.grad_final.to(compute)
    sums = [zeros.clone(), zeros.clone()]
    for first in range((steps - 1) // CHECKPOINT_STEPS * CHECKPOINT_STEPS, -1, -CHECKPOINT_STEPS):
        chunk = range(first, min(first + CHECKPOINT_STEPS, steps))
        v = potentials(call, chunk, compute)
        for t in reversed(chunk):
            e = error(call, t, v[t - first], gp)
            gp = spec.decay * e
            x = call.currents[t].to(compute)
            x = x if call.center is None else x - call.center
            if call.grad_currents is not None:
                a = call.scale if call.mix_error is None else call.mix_error
                out = e if a is None else a * e
                call.grad_currents[t] = (
                    out
                    if call.mix_current is None
                    else out + call.mix_current * x + call.mix_constant
                )
            sums[0] += e
            sums[1] += e * x
    for target, value in (
        (call.grad_state, gp),
        (call.sum_error, sums[0]),
        (call.sum_by_current, sums[1]),
    ):
        if target is not None:
            target.copy_(value)


def potentials(call: Backward, chunk: range, compute: torch.dtype) -> list[torch.Tensor]:
    """Returns v[t] for the steps of one chunk, recomputed from its checkpoint."""
    state, trace = call.checkpoints[chunk.start // CHECKPOINT_STEPS].to(compute), []
    for t in chunk:
        v = call.spec.decay * state + current(call.currents[t], call.scale, call.shift, compute)
        state = after_spike(call.spec, v, spikes_of(call.spec, v))
        trace.append(v)
    return trace


def error(call: Backward, t: int, v: torch.Tensor, gp: torch.Tensor) -> torch.Tensor:
    """Returns e[t], the gradient of the loss by v[t]."""
    slope = derivative(call.spec, torch)(v - call.spec.threshold)
    e = gp * reset_slope(call.spec, v, spikes_of(call.spec, v), slope)
    if call.grad_spikes is not None:
        e = e + call.grad_spikes[t].to(e.dtype) * slope
    return e if call.grad_trace is None else e + call.grad_trace[t].to(e.dtype)


def current(
    x: torch.Tensor, scale: torch.Tensor | None, shift: torch.Tensor | None, compute: torch.dtype
) -> torch.Tensor:
    """Returns i = scale·x + shift."""
    x = x.to(compute)
    x = x if scale is None else scale * x
    return x if shift is None else x + shift


def spikes_of(spec: NeuronSpec, v: torch.Tensor) -> torch.Tensor:
    """Returns s[t]: 0 or 1, or a count up to `max_spikes`; 0 where v is NaN."""
    if spec.max_spikes == 1 and spec.rounding is None:
        return (v >= spec.threshold).to(v.dtype)
    # A Python number as divisor would make CUDA multiply by 1/θ.
    threshold = torch.full((), spec.threshold, dtype=v.dtype, device=v.device)
    counts = (v / threshold).clamp(0, spec.max_spikes).nan_to_num(nan=0.0)
    return torch.floor(counts) if spec.rounding is None else torch.round(counts)


def after_spike(spec: NeuronSpec, v: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    """Returns p[t], the potential after the reset."""
    if spec.reset == "none":
        return v
    if spec.reset in ("hard", "hard-straight"):
        return torch.where(s > 0, torch.zeros_like(v), v)
    return v - spec.subtracted * s


def reset_slope(
    spec: NeuronSpec, v: torch.Tensor, s: torch.Tensor, slope: torch.Tensor
) -> torch.Tensor:
    """Returns ρ = dp/dv, with the gradient through the reset's spike unless it is detached."""
    passed = 1 - s if spec.reset == "hard" else torch.ones_like(v)
    if spec.reset == "none" or spec.detach_reset:
        return passed
    return passed - (v if spec.reset.startswith("hard") else spec.subtracted) * slope
