"""The fused neuron with an adaptive threshold (ALIF, Bellec et al. 2018): C++ on CPUs, else torch.

The reset subtracts r for each unit of a: r = 1 in soft, 1/decay in soft-undecayed, else 0. With
a[-1] = 0:

    v[t]   = decay·p[t-1] + x[t];   s[t] = spike(v[t] − a[t])
    p[t]   = reset(v[t], s[t]) − r·a[t]·s[t]
    a[t+1] = adaptation_decay·a[t] + adaptation·s[t]

Backward, with gs the gradient by the spikes and ∂p/∂s = −(subtracted + r·a[t]), −v[t] (hard) or 0
(detached, none):

    h[t]    = (gs[t] + adaptation·ga[t+1] + gp[t]·∂p/∂s)·σ'(v[t] − a[t] − θ)      through the spike
    e[t]    = h[t] + gp[t]·∂p/∂v                                                 by x[t]
    ga[t]   = adaptation_decay·ga[t+1] − h[t] − r·s[t]·gp[t]
    gp[t-1] = decay·e[t]
"""

import ctypes
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from ..build import cpp
from ..register import no_second_derivative
from ..spec import NeuronSpec
from ..surrogates import derivative
from .contract import CHECKPOINT_STEPS, neuron_macros, neuron_numbers, state_dtype
from .reference import spikes_of

GRAIN = 32768
"""Elements per thread."""


def choose(device_type: str, dtype: torch.dtype, requested: str | None = None) -> str:
    """Returns "cpp" or "reference". Raises RuntimeError if `requested` cannot run here."""
    if requested not in (None, "reference", "cpp"):
        raise RuntimeError(
            f"backend {requested!r} has no adaptive threshold: take 'cpp' or 'reference'"
        )
    reason = (
        "C++ runs on CPUs" if device_type != "cpu" else f"C++ computes it in float32, not {dtype}"
    )
    reason = (cpp.unusable() or "") if (device_type, dtype) == ("cpu", torch.float32) else reason
    if requested == "cpp" and reason:
        raise RuntimeError(f"backend 'cpp' cannot run an adaptive threshold here: {reason}")
    return "reference" if reason or requested == "reference" else "cpp"


def adaptive_spikes(currents: Tensor, spec: NeuronSpec, backend: str | None = None) -> Tensor:
    """Returns spikes (T, B, …) of currents of that shape and type, from rest."""
    compiled = choose(currents.device.type, currents.dtype, backend) == "cpp"
    return AdaptiveThreshold.apply(
        currents.contiguous(), spec, compiled, torch.is_grad_enabled() and currents.requires_grad
    )


class AdaptiveThreshold(torch.autograd.Function):
    @staticmethod
    def forward(ctx, currents: Tensor, spec: NeuronSpec, compiled: bool, learns: bool) -> Tensor:
        ctx.spec = spec
        if not compiled:
            ctx.save_for_backward(currents, None)
            return torch.stack([s for _, _, s in _states(spec, currents)]).to(currents.dtype)
        spikes, chunks = torch.empty_like(currents), -(-len(currents) // CHECKPOINT_STEPS)
        checkpoints = currents.new_empty(chunks, 2, *currents.shape[1:]) if learns else None
        _call("forward", spec, currents, (currents, spikes, checkpoints))
        ctx.save_for_backward(currents, checkpoints)
        return spikes

    @staticmethod
    def backward(ctx, grad_spikes):
        if torch.is_grad_enabled():
            raise no_second_derivative("a LIF with an adaptive threshold")
        currents, checkpoints = ctx.saved_tensors
        if checkpoints is None:
            return _backward(ctx.spec, currents, grad_spikes), None, None, None
        gradient = torch.empty_like(currents)
        _call(
            "backward",
            ctx.spec,
            currents,
            (currents, checkpoints, grad_spikes.contiguous(), gradient),
        )
        return gradient, None, None, None


def reset_factor(spec: NeuronSpec) -> float:
    """Returns r."""
    return spec.subtracted / spec.threshold if spec.reset.startswith("soft") else 0.0


def adaptation_numbers(spec: NeuronSpec) -> tuple[float, float, float]:
    """Returns the numbers of `Adaptation` in adaptive_step.h; zeros without one."""
    if spec.adaptation is None or spec.adaptation_decay is None:
        return 0.0, 0.0, 0.0
    return spec.adaptation, spec.adaptation_decay, reset_factor(spec)


def _states(spec: NeuronSpec, currents: Tensor):
    """Yields v, a and s of every step, in the type of states."""
    assert spec.adaptation is not None and spec.adaptation_decay is not None
    compute = state_dtype(currents.dtype)
    p = a = torch.zeros_like(currents[0], dtype=compute)
    for x in currents:
        v = spec.decay * p + x.to(compute)
        s = spikes_of(spec, v - a)
        yield v, a, s
        p = after_spike_of(spec, v, s, a)
        a = spec.adaptation_decay * a + spec.adaptation * s


def after_spike_of(spec: NeuronSpec, v: Tensor, s: Tensor, a: Tensor) -> Tensor:
    """Returns p[t], the potential after the reset, of v[t], s[t] and a[t]."""
    if spec.reset == "hard":
        return torch.where(s > 0, torch.zeros_like(v), v)
    if spec.reset == "none":
        return v
    return torch.where(s > 0, v - (spec.subtracted + reset_factor(spec) * a), v)


def adaptive_error(
    spec: NeuronSpec, v: Tensor, a: Tensor, grad_spikes: Tensor, gp: Tensor, ga: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns e[t] and ga[t], of v[t], a[t], the gradient by the spikes, gp[t] and ga[t+1]."""
    assert spec.adaptation is not None and spec.adaptation_decay is not None
    r, s = reset_factor(spec), spikes_of(spec, v - a)
    by_spike = grad_spikes + spec.adaptation * ga
    if spec.reset != "none" and not spec.detach_reset:
        by_spike = by_spike - gp * (v if spec.reset == "hard" else spec.subtracted + r * a)
    through_spike = by_spike * derivative(spec, torch)(v - a - spec.threshold)
    e = through_spike + (gp * (1 - s) if spec.reset == "hard" else gp)
    return e, spec.adaptation_decay * ga - through_spike - r * s * gp


def _backward(spec: NeuronSpec, currents: Tensor, grad_spikes: Tensor) -> Tensor:
    """Returns e (T, B, …), the gradient by the currents."""
    states, gradient = [*_states(spec, currents)], torch.empty_like(currents)
    ga = gp = torch.zeros_like(states[0][0])
    for t in range(len(states) - 1, -1, -1):
        v, a, _ = states.pop()
        e, ga = adaptive_error(spec, v, a, grad_spikes[t], gp, ga)
        gradient[t], gp = e, spec.decay * e
    return gradient


def _call(name: str, spec: NeuronSpec, currents: Tensor, arrays: tuple[Tensor | None, ...]) -> None:
    threads = min(torch.get_num_threads(), 1 + currents.numel() // GRAIN)
    function, neuron, adaptation = _compiled(name, spec)
    addresses = [None if array is None else array.data_ptr() for array in arrays]
    function(threads, len(currents), currents[0].numel(), neuron, adaptation, *addresses)


@lru_cache
def _compiled(name: str, spec: NeuronSpec):
    """Returns the function of adaptive.cpp and the neuron's numbers."""
    assert spec.adaptation is not None and spec.adaptation_decay is not None
    library = cpp.kernel(
        Path(__file__).parent / "cpu" / "adaptive.cpp",
        {**neuron_macros(spec), "CHUNK": CHECKPOINT_STEPS},
    )
    function = getattr(library, name)
    arrays = {"forward": 3, "backward": 4}[name]
    function.argtypes, function.restype = (
        [ctypes.c_int64] * 3 + [ctypes.c_void_p] * (2 + arrays),
        None,
    )
    adaptation = (ctypes.c_float * 3)(*adaptation_numbers(spec))
    return function, (ctypes.c_float * 4)(*neuron_numbers(spec)), adaptation
