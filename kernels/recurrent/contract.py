"""Arguments of one call of the recurrent layer: the contract between operator and backends.

The recurrence is that of `lif.contract` with i[t] = x[t] + b + R·s[t-1], from the state (p[-1],
s[-1]):

    v[t] = decay · p[t-1] + i[t];   s[t] = spike(v[t]);   p[t] = reset(v[t], s[t])

Backward in time, with gs the gradient by the spikes and (gp[T-1], r) that by the final state:

    e[t]    = (gs[t] + Rᵀ·e[t+1])·σ'(v[t] − θ) + gp[t]·ρ[t]    by x[t]; r in place of Rᵀ·e[T]
    gp[t-1] = decay · e[t]
    dR      = Σ_t e[t]·s[t-1]ᵀ;   by p[-1] and s[-1]: decay · e[0] and Rᵀ·e[0]

An adaptive threshold is that of `lif.adaptive`; its state has a third part, a[0] or a[T]. With a
synaptic current spikes feed back through it, and the third part is i[-1] or i[T-1]:

    i[t] = current_decay · i[t-1] + x[t] + b + R·s[t-1]

The e[t] above is then h[t], by v[t], gp[t-1] = decay · h[t], and e[t] = h[t] + current_decay ·
e[t+1]; the gradient by the final i is added to e[T-1].

Arithmetic is float32 for every storage type (float64 in the reference for float64 currents). The
order of the sums R·s is the backend's, so a potential that is next to a threshold may fire in one
of them only.
"""

from dataclasses import dataclass

from torch import Tensor

from ..spec import NeuronSpec


def parts_of_state(spec: NeuronSpec) -> int:
    """Returns 2, or 3 with an adaptive threshold or a synaptic current."""
    return 2 if spec.adaptation is None and spec.current_decay is None else 3


@dataclass(kw_only=True)
class Forward:
    spec: NeuronSpec
    currents: Tensor
    """x (T, B, N), any strides, not empty: float32, float16 or bfloat16."""
    weight: Tensor
    """R (N, N), contiguous: of a type of currents, not always theirs."""
    bias: Tensor | None
    """b, float32 (N,), contiguous; None: zeros."""
    state: Tensor | None
    """p[-1], s[-1] and a[0] or i[-1] if there is one, float32 (2 or 3, B, N), contiguous; None:
    zeros. An s other than 0 is a spike."""
    spikes: Tensor | None
    """Written: s (T, B, N), contiguous, of the currents' type; None: not written."""
    final_state: Tensor
    """Written: p[T-1], s[T-1] and a[T] or i[T-1], like `state`."""
    potentials: Tensor | None
    """Written: v (T, B, N), float32, contiguous; None: not written. With an adaptive threshold v
    and a, (2, T, B, N). v may be the currents themselves."""
    bits: Tensor
    """Written: s[t-1] as bits, in the backend's own layout."""
    words: Tensor | None = None
    """Written by C++ alone: words of the spikes (`linear.launch`), for a next layer; None: not
    written."""


@dataclass(kw_only=True)
class Backward:
    spec: NeuronSpec
    weight: Tensor
    potentials: Tensor
    bits: Tensor
    """Those of the forward pass."""
    grad_spikes: Tensor
    """gs (T, B, N), any strides, of the spikes' type."""
    grad_final: Tensor | None
    """gp[T-1], r and the gradient by a[T] or i[T-1], like `state`; None: zeros."""
    errors: Tensor
    """Written: e (T, B, N), contiguous, of the spikes' type; may be v."""
    grad_state: Tensor | None
    """Written, but for the gradient by s[-1], which is e[0]·R: the gradient by `state`, like it;
    None: not written."""
    grad_weight: Tensor | None
    """Written: dR (N, N), contiguous, of the weight's type; None: not written."""
    adds: bool = False
    """True: dR is added to `grad_weight`."""
