"""The recurrence of one neuron in float64, forward and backward: the equations of `snnbench.kernels.spec`.

Run free, a neuron resets on the spikes that its potentials call for. Forced, it resets on a framework's spikes: then each of
the framework's decisions is judged where it was made, and one flipped spike does not spread.
"""

import numpy as np

from snnbench.adapters.base.case import Native
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.kernels.surrogates import derivative

ABRUPT = "rectangle"
"""The surrogate that jumps: at its edges rounding decides whether a gradient passes."""
EXACT = 1e-13
"""Potentials that no rounding has moved are as near to an edge on which they lie."""


def spec_of(neuron: NeuronSpec | Native) -> NeuronSpec:
    """The equations that stand for a neuron here. A native one has none; its problem is calibrated for `soft`."""
    return NEURONS["soft"] if isinstance(neuron, Native) else neuron


def fires(spec: NeuronSpec, v: np.ndarray) -> np.ndarray:
    """Spikes that potentials v call for: 0 or 1, or a count up to max_spikes."""
    if spec.max_spikes == 1:
        return (v >= spec.threshold).astype(np.float64)
    return np.clip(np.floor(v / spec.threshold), 0, spec.max_spikes)


def from_threshold(spec: NeuronSpec, v: np.ndarray) -> np.ndarray:
    """How far potentials v are from the nearest threshold: θ or, for several spikes a step, a multiple of it."""
    return np.abs(v - np.clip(np.round(v / spec.threshold), 1, spec.max_spikes) * spec.threshold)


def contrary_to(spec: NeuronSpec, v: np.ndarray, within: float) -> np.ndarray:
    """Spikes for potentials v, decided the other way where a threshold is no further than `within`."""
    nearest = np.clip(np.round(v / spec.threshold), 1, spec.max_spikes)
    other = nearest - (v >= nearest * spec.threshold)
    return np.where(from_threshold(spec, v) <= within, other, fires(spec, v))


def synaptic(spec: NeuronSpec, currents: np.ndarray) -> np.ndarray:
    """The synaptic current i (T, …) of a neuron's currents, from rest; these themselves where it has no synapse. Of a gradient by
    i, reversed in time, it is the gradient by the currents, likewise reversed."""
    if spec.current_decay is None:
        return currents
    i = currents.copy()
    for t in range(1, len(i)):
        i[t] += spec.current_decay * i[t - 1]
    return i


def before_synapse(spec: NeuronSpec, i: np.ndarray) -> np.ndarray:
    """The currents (T, …) whose synaptic current is i."""
    currents = i.copy()
    if spec.current_decay is not None:
        currents[1:] -= spec.current_decay * i[:-1]
    return currents


def run(
    spec: NeuronSpec,
    currents: np.ndarray,
    spikes: np.ndarray | None = None,
    recurrent: np.ndarray | None = None,
    contrary: float | None = None,
    decay: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Potentials before the spike and the spikes they call for, each (T, …), from rest, for float64 currents (T, …). With
    `spikes` (T, …) the neuron is forced on them. `recurrent` (N, N) adds s[t−1] · recurrentᵀ to the currents (T, B, N).
    `contrary`: decisions no further than this from a threshold go the other way. `decay`: another one than the specification's,
    as it was learned."""
    currents, decay = synaptic(spec, currents), spec.decay if decay is None else decay
    v, expected = np.empty_like(currents), np.empty_like(currents)
    after = np.zeros_like(currents[0])
    for t, current in enumerate(currents):
        v[t] = decay * after + current
        if recurrent is not None and t:
            v[t] += (expected if spikes is None else spikes)[t - 1] @ recurrent.T
        expected[t] = fires(spec, v[t]) if contrary is None else contrary_to(spec, v[t], contrary)
        after = after_reset(spec, v[t], expected[t] if spikes is None else spikes[t])
    return v, expected


def after_reset(spec: NeuronSpec, v: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Potentials after the reset on the spikes s."""
    if spec.reset == "none":
        return v
    if spec.reset in ("hard", "hard-straight"):
        return v * (s == 0)
    return v - spec.subtracted * s


def slope_of(spec: NeuronSpec, v: np.ndarray, wider: float = 0.0) -> np.ndarray:
    """σ'(v − θ). The window of a surrogate that ends abruptly is `wider` on both sides; potentials that lie on its edge, as that
    of a silent neuron may, stay outside."""
    slope: np.ndarray = derivative(spec, np)(v - spec.threshold)
    if spec.surrogate == ABRUPT and wider:
        beyond = np.abs(v - spec.threshold) - 0.5 / spec.slope
        return np.where(np.abs(beyond) < EXACT, slope, spec.slope * (beyond < wider))
    return slope


def run_backward(
    spec: NeuronSpec,
    v: np.ndarray,
    spikes: np.ndarray,
    upstream: np.ndarray,
    recurrent: np.ndarray | None = None,
    by_potentials: bool = False,
    slope: np.ndarray | None = None,
    through_reset: float = 1.0,
    decay: float | None = None,
) -> np.ndarray:
    """Gradient by the currents (T, …), for the potentials and spikes of a run and the upstream gradient (T, …) of its spikes.
    gv[t] = (gs[t] + gp[t]·∂p/∂s)·σ'(v[t] − θ) + gp[t]·∂p/∂v,  gp[t−1] = decay·gv[t],  gs[t] = upstream[t] + gv[t+1] · recurrent.
    With `by_potentials` upstream is the gradient of the potentials: it is added to gv[t] instead. Wrong backwards have another
    `slope` (T, …) than σ'(v − θ), or count the gradient through the reset `through_reset` times. `decay` as in `run`."""
    slope, decay = slope_of(spec, v) if slope is None else slope, spec.decay if decay is None else decay
    gradient = np.empty_like(v)
    carried = np.zeros_like(v[0])
    for t in range(len(v) - 1, -1, -1):
        by_v = spikes[t] == 0 if spec.reset == "hard" else 1.0
        if spec.detach_reset or spec.reset == "none":
            by_s = 0.0
        else:
            by_s = -v[t] if spec.reset.startswith("hard") else -spec.subtracted
        by_spike = 0.0 if by_potentials else upstream[t]
        if recurrent is not None and t + 1 < len(v):
            by_spike = by_spike + gradient[t + 1] @ recurrent
        gradient[t] = (by_spike + carried * (through_reset * by_s)) * slope[t] + carried * by_v
        if by_potentials:
            gradient[t] += upstream[t]
        carried = decay * gradient[t]
    return synaptic(spec, gradient[::-1])[::-1]


def by_decay(spec: NeuronSpec, v: np.ndarray, spikes: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Σ_t gv[t]·p[t−1]: the gradient by the decay, one number for each sequence, from potentials, spikes and gv (T, …)."""
    after = [after_reset(spec, *before) for before in zip(v[:-1], spikes[:-1], strict=True)]
    return sum((g * p for g, p in zip(gradient[1:], after, strict=True)), np.zeros_like(v[0]))
