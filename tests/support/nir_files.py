"""NIR files for tests: right ones, hostile ones, and what a graph computes, step by step,
without any folding."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden" / "nir"
"""snntorch.nir, norse.nir and sinabs.nir were written by these libraries' own exporters:
13-17-5, LIF neurons. Norse 1.1.0 and Sinabs 3.1.3 wrote with nir 1.0.4; snnTorch 1.0.0 with nir
1.0.8, because its exporter needs that version."""

Described = tuple[str, dict[str, Any]]
"""Type and arrays of a node."""


def write_nir(
    path: Path,
    nodes: dict[str, Described],
    edges: Sequence[tuple[str, str]],
    version: str = "1.0.4",
) -> Path:
    """A file of these nodes and edges, whatever they are."""
    with h5py.File(path, "w") as file:
        file["version"] = version
        top = file.create_group("node")
        top["type"] = "NIRGraph"
        top.create_dataset(
            "edges", data=np.array(edges, dtype=object).reshape(-1, 2), dtype=h5py.string_dtype()
        )
        group = top.create_group("nodes")
        for name, (kind, arrays) in nodes.items():
            group.create_group(name)["type"] = kind
            for key, value in arrays.items():
                group[name][key] = value
    return path


def chain(*nodes: Described, shape: Sequence[int] = (5,)) -> dict[str, Any]:
    """Arguments of `write_nir`: an Input of this shape, the nodes named a, b, c, …, and an
    Output."""
    named = dict(zip("abcdefghijkl", nodes, strict=False))
    names = ["input", *named, "output"]
    ends = {
        "input": ("Input", {"shape": np.array(shape)}),
        "output": ("Output", {"shape": np.array([1])}),
    }
    return {"nodes": {**ends, **named}, "edges": list(pairwise(names))}


def affine(outputs: int, inputs: int, seed: int = 0, gain: float = 1.0) -> Described:
    random = np.random.default_rng(seed)
    weight = gain * random.standard_normal((outputs, inputs)).astype("f4")
    return "Affine", {"weight": weight, "bias": 0.1 * random.standard_normal(outputs).astype("f4")}


def lif(features: int | None = None, **changed: Any) -> Described:
    """tau = 2 ms, r = 20, v_leak = 0, v_threshold = 1, each once or for every feature."""
    values = {"tau": 2e-3, "r": 20.0, "v_leak": 0.0, "v_threshold": 1.0} | changed
    full = {
        key: np.float32(value) if features is None else np.full(features, value, "f4")
        for key, value in values.items()
    }
    return "LIF", {**full, **{key: np.asarray(value, "f4") for key, value in changed.items()}}


def spikes_of(
    nodes: Sequence[Described], x: np.ndarray, dt: float, decay: str, reset: str
) -> list[np.ndarray]:
    """Spikes (T, B, *features) of every neuron of a chain on x, in float64, straight from NIR's
    equations in steps of dt."""
    found, value = [], x.astype(np.float64)
    for kind, arrays in nodes:
        own = {
            key: np.asarray(array, np.float64)
            for key, array in arrays.items()
            if np.asarray(array).dtype.kind in "fiu"
        }
        if kind in ("Linear", "Affine"):
            value = value @ own["weight"].T + own.get("bias", 0)
        elif kind == "Conv2d":
            value = np.stack([_convolved(step, own) for step in value])
        elif kind in ("SumPool2d", "AvgPool2d"):
            value = _pooled(value, int(own["kernel_size"].flat[0]), kind == "AvgPool2d")
        elif kind == "Scale":
            value = value * own["scale"]
        elif kind == "Flatten":
            value = value.reshape(*value.shape[:2], -1)
        elif kind in ("LI", "I"):
            value = integrated(kind, own, value, dt, decay)
        else:
            value = _neuron(kind, own, value, dt, decay, reset)
            found.append(value)
    return found


def _neuron(
    kind: str, own: dict[str, np.ndarray], currents: np.ndarray, dt: float, decay: str, reset: str
) -> np.ndarray:
    def of(tau: np.ndarray) -> np.ndarray:
        return np.exp(-dt / tau) if decay == "exact" else 1 - dt / tau

    v, i, spikes = np.zeros(currents.shape[1:]), np.zeros(currents.shape[1:]), []
    for current in currents:
        if kind == "CubaLIF":
            synapse = of(own["tau_syn"])
            i = synapse * i + (1 - synapse) * own["w_in"] * current
            current = i
        if kind == "IF":
            v = v + dt * own["r"] * current
        else:
            beta = of(own["tau_mem" if kind == "CubaLIF" else "tau"])
            v = beta * v + (1 - beta) * (own["v_leak"] + own["r"] * current)
        if reset == "soft-undecayed" and spikes:
            v = v - own["v_threshold"] * spikes[-1]
        spike = (v >= own["v_threshold"]).astype(np.float64)
        if reset == "hard":
            v = v * (1 - spike)
        elif reset == "soft":
            v = v - own["v_threshold"] * spike
        spikes.append(spike)
    return np.stack(spikes)


def integrated(
    kind: str, own: dict[str, np.ndarray], currents: np.ndarray, dt: float, decay: str
) -> np.ndarray:
    v, potentials = np.zeros(currents.shape[1:]), []
    beta = (
        0.0
        if kind == "I"
        else np.exp(-dt / own["tau"])
        if decay == "exact"
        else 1 - dt / own["tau"]
    )
    for current in currents:
        if kind == "I":
            v = v + dt * own["r"] * current
        else:
            v = beta * v + (1 - beta) * (own["v_leak"] + own["r"] * current)
        potentials.append(v)
    return np.stack(potentials)


def _convolved(x: np.ndarray, own: dict[str, np.ndarray]) -> np.ndarray:
    weight, pad, stride = own["weight"], int(own["padding"].flat[0]), int(own["stride"].flat[0])
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(2, 3))[
        :, :, ::stride, ::stride
    ]
    groups = int(own["groups"])
    parts = [
        np.einsum("bchwij,ocij->bohw", seen, some)
        for seen, some in zip(
            np.split(windows, groups, axis=1), np.split(weight, groups), strict=True
        )
    ]
    return np.concatenate(parts, axis=1) + own["bias"][:, None, None]


def _pooled(x: np.ndarray, kernel: int, mean: bool) -> np.ndarray:
    height, width = (side // kernel for side in x.shape[-2:])
    cut = x[..., : height * kernel, : width * kernel].reshape(
        *x.shape[:-2], height, kernel, width, kernel
    )
    return cut.mean((-3, -1)) if mean else cut.sum((-3, -1))
