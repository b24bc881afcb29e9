"""The recurrence of one neuron in float64, forward and backward: the equations of
`snnbench.kernels.spec`.

Run free, a neuron resets on the spikes that its potentials call for. Forced, it resets on a
framework's spikes: each of the framework's decisions is judged where it was made, and one flipped
spike does not spread.

Potentials of a neuron with an adaptive threshold are v[t] − a[t], less the rise of the threshold:
decisions then compare with the threshold at rest, as for every other neuron.
"""

from dataclasses import dataclass

import numpy as np

from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.kernels.surrogates import derivative

from ..core.case import Native
from .rounding import EXACT, Exact

ON_EDGE = 1e-13
"""Distance from an edge within which exact potentials count as lying on it."""


def spec_of(neuron: NeuronSpec | Native) -> NeuronSpec:
    """Returns the equations that stand for a neuron here. A native one has none; its problem is
    calibrated for `soft`."""
    return NEURONS["soft"] if isinstance(neuron, Native) else neuron


def jumps(spec: NeuronSpec) -> bool:
    """Tells if the surrogate jumps: at its edges rounding decides about a gradient."""
    return spec.surrogate == "rectangle" or spec.rounding is not None


def beyond_window(spec: NeuronSpec, v: np.ndarray) -> np.ndarray:
    """Returns how far potentials v are outside the window of a surrogate that jumps."""
    if spec.rounding is None:
        return np.abs(v - spec.threshold) - 0.5 / spec.slope
    half = spec.max_spikes * spec.threshold / 2
    return np.abs(v - half) - half


def fires(spec: NeuronSpec, v: np.ndarray) -> np.ndarray:
    """Returns the spikes that potentials v call for: 0 or 1, or a count up to max_spikes."""
    if spec.rounding is not None:
        return np.round(np.clip(v / spec.threshold, 0, spec.max_spikes))
    if spec.max_spikes == 1:
        return (v >= spec.threshold).astype(v.dtype)
    return np.clip(np.floor(v / spec.threshold), 0, spec.max_spikes)


def from_threshold(spec: NeuronSpec, v: np.ndarray) -> np.ndarray:
    """Returns the distance of potentials v from the nearest threshold: θ or, for several spikes
    a step, a multiple of it; half of θ less if it rounds."""
    distance = np.divide(v, spec.threshold, out=np.empty_like(v))
    distance += below(spec)
    np.clip(np.round(distance, out=distance), 1, spec.max_spikes, out=distance)
    distance -= below(spec)
    distance *= spec.threshold
    return np.abs(np.subtract(v, distance, out=distance), out=distance)


def below(spec: NeuronSpec) -> float:
    """Returns by how many thresholds each decision falls below a multiple of θ."""
    return 0.0 if spec.rounding is None else 0.5


def lowest_threshold(spec: NeuronSpec) -> float:
    return spec.threshold * (1 - below(spec))


def contrary_to(spec: NeuronSpec, v: np.ndarray, within: float) -> np.ndarray:
    """Returns the spikes for potentials v, inverted where a threshold is no further than
    `within`."""
    nearest = np.clip(np.round(v / spec.threshold + below(spec)), 1, spec.max_spikes)
    other = nearest - (v >= (nearest - below(spec)) * spec.threshold)
    return np.where(from_threshold(spec, v) <= within, other, fires(spec, v))


def synaptic(spec: NeuronSpec, currents: np.ndarray, arithmetic: Exact = EXACT) -> np.ndarray:
    """Returns the synaptic current i (T, …) from rest, or the currents themselves without a
    synapse. Maps a gradient by i, reversed in time, to the gradient by the currents, likewise
    reversed."""
    if spec.current_decay is None:
        return currents
    i = currents.copy()
    for t in range(1, len(i)):
        i[t] = arithmetic.step(i[t] + spec.current_decay * i[t - 1])
    return i


def before_synapse(spec: NeuronSpec, i: np.ndarray) -> np.ndarray:
    """Inverts `synaptic`."""
    currents = i.copy()
    if spec.current_decay is not None:
        currents[1:] -= spec.current_decay * i[:-1]
    return currents


def risen(spec: NeuronSpec, spikes: np.ndarray) -> np.ndarray:
    """Returns a (T, …), the rise of an adaptive threshold on these spikes; zeros without one."""
    return adapted(spec, spikes) if spec.threshold_adapts else np.zeros_like(spikes)


def adapted(spec: NeuronSpec, spikes: np.ndarray, v: np.ndarray | None = None) -> np.ndarray:
    """Returns a (T, …), the adaptation on these spikes and, of a current, potentials v."""
    a = np.zeros_like(spikes)
    for t in range(1, len(a) if spec.adaptation else 0):
        a[t] = spec.adaptation_decay * a[t - 1] + spec.adaptation * spikes[t - 1]
        if spec.adaptation_coupling is not None and v is not None:
            a[t] += spec.adaptation_coupling * v[t - 1]
    return a


def run(
    spec: NeuronSpec,
    currents: np.ndarray,
    spikes: np.ndarray | None = None,
    recurrent: np.ndarray | None = None,
    contrary: float | None = None,
    decay: float | None = None,
    arithmetic: Exact = EXACT,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns potentials before the spike and the spikes they call for, each (T, …), from rest,
    for float64 currents (T, …). With `spikes` (T, …) the neuron is forced on them. `recurrent`
    (N, N) adds s[t−1] · recurrentᵀ to the currents (T, B, N), in front of a synapse. `contrary`:
    decisions no further than this from a threshold are inverted. `decay`: a learned decay instead
    of the specification's. `arithmetic`: not exact in a run that shows what a precision can do."""
    currents, synapse = synaptic(spec, currents, arithmetic), spec.current_decay or 0.0
    decay = spec.decay if decay is None else decay
    fed_back = np.zeros_like(currents[0])
    v, expected = np.empty_like(currents), np.empty_like(currents)
    after, a = np.zeros_like(currents[0]), np.zeros_like(currents[0])
    for t, current in enumerate(currents):
        v[t] = arithmetic.step(decay * after) + current
        if recurrent is not None and t:
            fed_back *= synapse
            fed_back += (expected if spikes is None else spikes)[t - 1] @ recurrent.T
            v[t] += fed_back
        if spec.adaptation:
            v[t] -= a
        v[t] = arithmetic.step(v[t])
        expected[t] = fires(spec, v[t]) if contrary is None else contrary_to(spec, v[t], contrary)
        s = expected[t] if spikes is None else spikes[t]
        after = after_reset(spec, v[t], s, a)
        if spec.adaptation:
            a = spec.adaptation_decay * a + spec.adaptation * s
            if spec.adaptation_coupling is not None:
                a += spec.adaptation_coupling * v[t]
    return v, expected


def after_reset(spec: NeuronSpec, v: np.ndarray, s: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Returns potentials after the reset on the spikes s, from those before it and the rise a of
    the threshold."""
    if spec.threshold_adapts:
        return _reset_to(spec, v + a, s, subtracted(spec, a))
    return _reset_to(spec, v, s, spec.subtracted)


def subtracted(spec: NeuronSpec, a: np.ndarray) -> np.ndarray:
    """Returns the amount by which a spike lowers the potential in the soft resets, for a rise a
    of the threshold."""
    return spec.subtracted * (1 + a / spec.threshold)


def _reset_to(spec: NeuronSpec, v: np.ndarray, s: np.ndarray, by: np.ndarray | float) -> np.ndarray:
    if spec.reset == "none":
        return v
    if spec.reset in ("hard", "hard-straight"):
        return v * (s == 0)
    return v - by * s


def slope_of(spec: NeuronSpec, v: np.ndarray, wider: float = 0.0) -> np.ndarray:
    """Returns σ'(v − θ). The window of a surrogate that ends abruptly is `wider` on both sides;
    potentials on its edge, like that of a silent neuron, stay as they are."""
    slope: np.ndarray = derivative(spec, np)(v - spec.threshold)
    if jumps(spec) and wider:
        beyond = beyond_window(spec, v)
        height = spec.slope if spec.rounding is None else 1 / spec.threshold
        return np.where(np.abs(beyond) < ON_EDGE, slope, height * (beyond < wider))
    return slope


@dataclass(frozen=True)
class Passing:
    """Factors of a gradient through the reset, from a spike to the adaptation, and from that to a
    spike: 1 except in wrong backwards."""

    reset: float = 1.0
    to_threshold: float = 1.0
    from_threshold: float = 1.0


ONCE = Passing()


def run_backward(
    spec: NeuronSpec,
    v: np.ndarray,
    spikes: np.ndarray,
    upstream: np.ndarray,
    recurrent: np.ndarray | None = None,
    by_potentials: bool = False,
    slope: np.ndarray | None = None,
    passing: Passing = ONCE,
    decay: float | None = None,
    arithmetic: Exact = EXACT,
) -> np.ndarray:
    """Returns the gradient by the currents (T, …), from the potentials and spikes of a run and the
    upstream gradient (T, …) of its spikes; `decay` as in `run`.

    gv[t] = (gs[t] + gp[t]·∂p/∂s)·σ'(v[t] − θ) + gp[t]·∂p/∂v, gp[t−1] = decay·gv[t], gs[t] =
    upstream[t] + gi[t+1] · recurrent, gi[t] = gv[t] + current_decay·gi[t+1]. With `by_potentials`
    upstream is the gradient of the potentials, added to gv[t] instead. Wrong backwards have another
    `slope` (T, …) than σ'(v − θ), or another `passing`.

    With ga the gradient by a, that by the spikes has adaptation·ga[t+1] too, and ga[t] =
    adaptation_decay·ga[t+1] + gp[t]·∂p/∂a − the part of gv[t] through the spike. With an adaptation
    current gv[t] has adaptation_coupling·ga[t+1] too, and ga[t] = adaptation_decay·ga[t+1] − gv[t].
    """
    slope, decay = (
        slope_of(spec, v) if slope is None else slope,
        spec.decay if decay is None else decay,
    )
    gradient = np.empty_like(v)
    carried, by_a, a = np.zeros_like(v[0]), np.zeros_like(v[0]), risen(spec, spikes)
    by_current, synapse = np.zeros_like(v[0]), spec.current_decay or 0.0
    for t in range(len(v) - 1, -1, -1):
        by_v = spikes[t] == 0 if spec.reset == "hard" else 1.0
        by_s: np.ndarray | float = 0.0
        if not spec.detach_reset and spec.reset != "none":
            by_s = -(v[t] + a[t]) if spec.reset.startswith("hard") else -subtracted(spec, a[t])
        by_spike = 0.0 if by_potentials else upstream[t]
        if spec.adaptation:
            by_spike = by_spike + passing.to_threshold * spec.adaptation * by_a
        if recurrent is not None and t + 1 < len(v):
            by_current = gradient[t + 1] + synapse * by_current
            by_spike = by_spike + by_current @ recurrent
        by_spike = arithmetic.step(by_spike + carried * (passing.reset * by_s))
        through_spike = arithmetic.step(by_spike * slope[t])
        gradient[t] = arithmetic.step(through_spike + carried * by_v)
        if spec.threshold_adapts:
            in_reset = (
                spec.subtracted / spec.threshold * spikes[t]
                if spec.reset.startswith("soft")
                else 0.0
            )
            by_a = (
                spec.adaptation_decay * by_a
                - passing.from_threshold * through_spike
                - carried * in_reset
            )
        if by_potentials:
            gradient[t] += upstream[t]
        if spec.adaptation_coupling is not None:
            gradient[t] += passing.to_threshold * spec.adaptation_coupling * by_a
            by_a = spec.adaptation_decay * by_a - passing.from_threshold * gradient[t]
        carried = arithmetic.step(decay * gradient[t])
    return synaptic(spec, gradient[::-1], arithmetic)[::-1]


def growth(spec: NeuronSpec, currents: np.ndarray, recurrent: np.ndarray) -> float:
    """Returns the factor by which the gradient by the currents (T, B, N) grows from a step to the
    one before it, behind an upstream gradient in the last step alone. `recurrent` is (N, N)."""
    v, spikes = run(spec, currents, recurrent=recurrent)
    upstream = np.zeros_like(v)
    upstream[-1] = np.random.default_rng(0).standard_normal(v[-1].shape)
    norms = np.linalg.norm(run_backward(spec, v, spikes, upstream, recurrent), axis=(1, 2))
    if len(v) == 1 or not norms.all():
        return 0.0
    return float((norms[0] / norms[-1]) ** (1 / (len(v) - 1)))


def by_decay(
    spec: NeuronSpec, v: np.ndarray, spikes: np.ndarray, gradient: np.ndarray
) -> np.ndarray:
    """Returns Σ_t gv[t]·p[t−1], the gradient by the decay, one number for each sequence, from
    potentials, spikes and gv (T, …)."""
    after = after_reset(spec, v[:-1], spikes[:-1], risen(spec, spikes[:-1]))
    return sum((g * p for g, p in zip(gradient[1:], after, strict=True)), np.zeros_like(v[0]))
