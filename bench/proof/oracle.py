"""The float64 network that frameworks are held against: the recurrence of `snnbench.kernels.spec` and its gradient.

*Free* is the network run on its own spikes. *Forced* takes a framework's spikes in the reset, so that each of its
decisions is judged where it was made and one flip does not spread. Both are one function here: `run(…, spikes)`.
"""

from dataclasses import dataclass

import numpy as np

from snnbench.kernels.spec import NeuronSpec
from snnbench.kernels.surrogates import derivative


def fires(spec: NeuronSpec, v: np.ndarray) -> np.ndarray:
    """Spikes that potentials v call for: 0 or 1, or a count up to max_spikes."""
    if spec.max_spikes == 1:
        return (v >= spec.threshold).astype(np.float64)
    return np.clip(np.floor(v / spec.threshold), 0, spec.max_spikes)


def run(spec: NeuronSpec, currents: np.ndarray, spikes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Potentials before the spike and the spikes they call for, each (T, …), from rest, for float64 currents (T, …).

    With `spikes` (T, …) the reset uses those: the forced oracle.
    """
    v, expected = np.empty_like(currents), np.empty_like(currents)
    after = np.zeros_like(currents[0])
    for t, current in enumerate(currents):
        v[t] = spec.decay * after + current
        expected[t] = fires(spec, v[t])
        after = _reset(spec, v[t], expected[t] if spikes is None else spikes[t])
    return v, expected


def _reset(spec: NeuronSpec, v: np.ndarray, s: np.ndarray) -> np.ndarray:
    if spec.reset == "none":
        return v
    if spec.reset in ("hard", "hard-straight"):
        return v * (s == 0)
    return v - spec.subtracted * s


def run_backward(spec: NeuronSpec, v: np.ndarray, spikes: np.ndarray, upstream: np.ndarray) -> np.ndarray:
    """Gradient by the currents (T, …) of `Σ spikes·upstream`, for potentials and spikes of a run.

    gv[t] = (upstream[t] + gp[t]·∂p/∂s)·σ'(v[t] − θ) + gp[t]·∂p/∂v,  gp[t−1] = decay·gv[t].
    """
    slope = derivative(spec, np)(v - spec.threshold)
    gradient = np.empty_like(v)
    carried = np.zeros_like(v[0])
    for t in range(len(v) - 1, -1, -1):
        if spec.reset == "hard":
            by_v, by_s = (spikes[t] == 0), -v[t]
        else:
            by_v, by_s = 1.0, (-spec.subtracted if spec.reset.startswith("soft") else 0.0)
        if spec.detach_reset:
            by_s = 0.0
        gradient[t] = (upstream[t] + carried * by_s) * slope[t] + carried * by_v
        carried = spec.decay * gradient[t]
    return gradient


@dataclass
class Layer:
    """One layer of a run: potentials, the spikes they call for, and after `backward` the gradients, float64."""

    v: np.ndarray
    expected: np.ndarray
    weight_gradient: np.ndarray | None = None
    bias_gradient: np.ndarray | None = None


def forward(problem, x: np.ndarray, borders: list[np.ndarray] | None = None) -> list[Layer]:
    """Run the stack of `problem` on input x (T, B, K); forced on `borders`, the spikes of every layer, if given."""
    layers, x = [], x.astype(np.float64)
    for index in range(max(1, len(problem.weights))):
        spikes = None if borders is None else borders[index]
        v, expected = run(problem.spec, currents_of(problem, index, x), spikes)
        layers.append(Layer(v, expected))
        x = (expected if spikes is None else spikes).astype(np.float64)
    return layers


def currents_of(problem, index: int, x: np.ndarray) -> np.ndarray:
    """Currents (T, B, N) of layer `index` for its input x (T, B, K)."""
    if not problem.weights:
        return x.astype(np.float64)
    weight, bias = problem.weights[index].astype(np.float64), problem.biases[index]
    return x.astype(np.float64) @ weight.T + (0 if bias is None else bias.astype(np.float64))


def backward(problem, x: np.ndarray, borders: list[np.ndarray], layers: list[Layer], upstream: np.ndarray) -> np.ndarray:
    """Fill in the gradients of `layers` and return the gradient of the input x, for the spikes in `borders`."""
    gradient = upstream.astype(np.float64)
    for index in range(len(layers) - 1, -1, -1):
        layer = layers[index]
        gradient = run_backward(problem.spec, layer.v, borders[index], gradient)
        if problem.weights:
            below = (borders[index - 1] if index else x).astype(np.float64)
            layer.weight_gradient = np.tensordot(gradient, below, axes=([0, 1], [0, 1]))
            layer.bias_gradient = gradient.sum(axis=(0, 1))
            gradient = gradient @ problem.weights[index].astype(np.float64)
    return gradient
