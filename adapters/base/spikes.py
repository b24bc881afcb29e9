"""Spikes with a surrogate derivative, for frameworks that accept a user's own, and the reset after
them."""

from collections.abc import Callable
from typing import Any, cast

from snnbench.kernels.spec import NeuronSpec
from snnbench.kernels.surrogates import derivative


def torch_spike(spec: NeuronSpec) -> Any:
    """Returns an autograd Function class; its `apply(v)` fires at v ≥ threshold (counts up to
    max_spikes); its backward is σ'(v − threshold).

        spike = torch_spike(spec).apply
        s = spike(v)
    """
    import torch

    slope_at: Callable[[Any], Any] = derivative(spec, torch)

    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, v: Any) -> Any:
            ctx.save_for_backward(v)
            if spec.rounding is not None:
                return torch.round((v / spec.threshold).clamp(0, spec.max_spikes))
            if spec.max_spikes > 1:
                return torch.floor(v / spec.threshold).clamp(0, spec.max_spikes)
            return (v >= spec.threshold).to(v.dtype)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (v,) = ctx.saved_tensors
            return gradient * slope_at(v - spec.threshold)

    return Spike


def jax_spike(spec: NeuronSpec) -> Callable[[Any], Any]:
    """Returns a function v → spikes that fires at v ≥ threshold (counts up to max_spikes), with
    σ'(v − threshold) as its derivative."""
    import jax
    import jax.numpy as jnp

    slope_at: Callable[[Any], Any] = derivative(spec, jnp)

    def fire(v: Any) -> Any:
        if spec.rounding is not None:
            return jnp.round(jnp.clip(v / spec.threshold, 0, spec.max_spikes))
        if spec.max_spikes > 1:
            return jnp.clip(jnp.floor(v / spec.threshold), 0, spec.max_spikes)
        return (v >= spec.threshold).astype(v.dtype)

    def jvp(primals: Any, tangents: Any) -> Any:
        (v,), (change,) = primals, tangents
        return spike(v), change * slope_at(v - spec.threshold).astype(v.dtype)

    spike: Any = jax.custom_jvp(fire)
    spike.defjvp(jvp)
    return cast(Callable[[Any], Any], spike)


def reset(spec: NeuronSpec, v: Any, s: Any, detach: Callable[[Any], Any], a: Any = None) -> Any:
    """Returns the potentials after the spikes `s` of potentials `v`, all of one shape. `detach`
    stops gradients; `a` is the rise of an adaptive threshold."""
    if spec.reset == "none":
        return v
    s = detach(s) if spec.detach_reset else s
    if spec.reset == "hard-straight":
        return v - detach(v) * s
    if spec.reset == "hard":
        return v * (1 - s)
    return v - (spec.subtracted if a is None else spec.subtracted * (1 + a / spec.threshold)) * s
