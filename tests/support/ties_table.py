"""Generates the tables of docs/ties.md: how often the potentials of attention lie on its
threshold."""

from dataclasses import replace

import numpy as np

from snnbench.kernels.spec import NeuronSpec
from snnbench.proof.recurrence import run
from snnbench.workloads.transformers import BELOW, SCALE

NEURON = NeuronSpec("hard", decay=0.5, detach_reset=True)
"""The papers' neuron: it counts half of its input and has the threshold ½, which is 1 for all of
it."""
ABOVE, LOWERED = (
    replace(NEURON, threshold=threshold) for threshold in (float(np.nextafter(1, 2)), BELOW)
)
STEPS, ITEMS, HEADS, FEATURES, TOKENS = 4, 8, 8, 32, 64
RATES = (0.05, 0.1, 0.15, 0.3)


def ties_text(kind: str) -> str:
    """Returns a table by the rate of queries, keys and values; `kind` is the currents' function."""
    rows = [
        "| rate of q, k, v | v = θ | spikes at v ≥ θ | spikes at v > θ |",
        "|--:|--:|--:|--:|",
    ]
    for rate in RATES:
        x = currents(kind, rate)
        (v, at), (_, above) = run(NEURON, x), run(ABOVE, x)
        shares = rate, (v == NEURON.threshold).mean(), at.mean(), above.mean()
        rows.append("| " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |")
    return "\n".join(rows) + "\n"


def currents(kind: str, rate: float) -> np.ndarray:
    """Returns currents (T, B, …) of the attention's neuron for random spikes of that rate."""
    random = np.random.default_rng(0)
    spikes = random.random((3, STEPS, ITEMS, HEADS, FEATURES, TOKENS)) < rate
    return CURRENTS[kind](*spikes.astype(np.float64))


def _spikformer(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    return SCALE * (v @ (q.swapaxes(-1, -2) @ k).swapaxes(-1, -2))


def _spike_driven(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    return (k * v).sum(axis=-1, keepdims=True)


CURRENTS = {"spikformer": _spikformer, "spike-driven": _spike_driven}
