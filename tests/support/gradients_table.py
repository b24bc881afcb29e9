"""Generates the tables of docs/gradients.md: gradients of equal spikes by different backwards."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from support.names_table import EXAMPLES, REQUIRED, table

from snnbench.adapters.names import NAMES
from snnbench.adapters.names.meaning import Meaning, Surrogate
from snnbench.experiment.named import neurons_of
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.proof.recurrence import run, run_backward, slope_of

FEATURES, ITEMS, RATE = 32, 4, 0.15
"""Neurons of a layer, items of a batch, and spikes that a neuron fires in a step."""
SIZES = ((4, 2), (16, 2), (64, 2), (16, 1), (16, 4))
"""Time steps and layers."""
USUAL = Surrogate("superspike")
RESETS = {
    "soft, detached": NeuronSpec("soft", detach_reset=True),
    "hard, detached": NeuronSpec("hard", detach_reset=True, decay=0.5),
    "hard-straight": NeuronSpec("hard-straight", decay=0.5),
    "hard-straight, detached (lava-dl)": NeuronSpec("hard-straight", detach_reset=True, decay=0.5),
}
SURROGATES = {
    "`superspike`, 25": Surrogate("superspike", 25),
    "`atan`, 1": Surrogate("atan", 1),
    "`sigmoid`, 4": Surrogate("sigmoid", 4),
    "`sigmoid`, 25": Surrogate("sigmoid", 25),
    "`triangle`, 1": Surrogate("triangle", 1),
    "`triangle`, 2": Surrogate("triangle", 2),
    "`rectangle`, 0.5": Surrogate("rectangle", 0.5),
    "`rectangle`, 1": Surrogate("rectangle", 1),
    "`exponential`, 1": Surrogate("exponential", 1),
    "`exponential`, 2": Surrogate("exponential", 2),
    "`straight-through`": Surrogate("straight-through"),
}
"""The defaults of frameworks, and slopes of papers."""


def gradients_text(subject: str) -> str:
    """Returns a table of cosines and ratios of norms. `resets`: against the same backward through
    every reset. `neurons` and `surrogates`: against that with the surrogate superspike of slope
    1."""
    if subject == "surrogates":
        soft = Net(NEURONS["soft"])
        rows = [(name, soft, soft.spec, USUAL, each) for name, each in SURROGATES.items()]
        return _table("surrogate, slope", rows)
    found = {f"`{name}`": meaning for name, meaning in tutorial_neurons().items()}
    if subject == "neurons":
        return _table(
            "neuron",
            [
                (name, Net(one.spec), attached(one.spec), USUAL, one.surrogate)
                for name, one in found.items()
            ],
        )
    cut = {name: one.spec for name, one in found.items() if one.spec.detach_reset} | RESETS
    return _table(
        "neuron or reset",
        [
            (name, Net(spec), attached(spec), *[Surrogate(spec.surrogate, spec.slope)] * 2)
            for name, spec in cut.items()
        ],
    )


def tutorial_neurons() -> dict[str, Meaning]:
    """Returns the neurons of docs/neurons.md by their text."""
    neurons = {}
    for framework in NAMES:
        for name, function in neurons_of(framework).items():
            if name == function.__name__:
                values = values_of(function) | REQUIRED.get(name, {})
                words = ", ".join(f"{key}={value}" for key, value in values.items())
                neurons[f"{framework}.{name}({words})"] = function(**values)
    return neurons


def values_of(function: Callable[..., Meaning]) -> dict[str, object]:
    parameters = inspect.signature(function).parameters
    return {key: EXAMPLES[key] for key, each in parameters.items() if each.default is each.empty}


def attached(spec: NeuronSpec) -> NeuronSpec:
    """Returns the neuron with the whole gradient of its reset."""
    reset = "hard" if spec.reset == "hard-straight" else spec.reset
    return replace(spec, reset=reset, detach_reset=False)


class Net:
    """Layers of a linear map and neurons `spec`, with weights at which neurons fire `RATE` spikes a
    step, on random spikes."""

    def __init__(self, spec: NeuronSpec) -> None:
        self.spec, self.random = spec, np.random.default_rng(0)
        steps, depth = (max(sizes) for sizes in zip(*SIZES, strict=True))
        self.x = (self.random.random((steps, ITEMS, FEATURES)) < 0.3).astype(np.float64)
        self.upstream = self.random.standard_normal(self.x.shape)
        self.weights: list[np.ndarray] = []
        self.values: list[tuple[np.ndarray, np.ndarray]] = []
        spikes = self.x
        for _ in range(depth):
            self.weights.append(self._weight(spikes[:16]))
            self.values.append(run(spec, spikes @ self.weights[-1].T))
            spikes = self.values[-1][1]

    def _weight(self, spikes: np.ndarray) -> np.ndarray:
        drawn = (self.random.standard_normal((FEATURES, FEATURES)) + 0.5) / FEATURES**0.5
        low, high = 2.0**-6, 2.0**6
        for _ in range(10):
            middle = (low * high) ** 0.5
            fires = run(self.spec, spikes @ (middle * drawn).T)[1].mean()
            low, high = (low, middle) if fires > RATE else (middle, high)
        return high * drawn

    def gradient(
        self, spec: NeuronSpec, surrogate: Surrogate, steps: int, depth: int
    ) -> np.ndarray:
        """Returns the gradient by the first weight of the spikes of layer `depth`, by the backward
        of `spec` with a surrogate of its own height."""
        spec = replace(spec, surrogate=surrogate.name, slope=float(surrogate.slope))
        by_spikes, gradient = self.upstream[:steps], np.empty(0)
        for weight, (v, s) in zip(
            self.weights[:depth][::-1], self.values[:depth][::-1], strict=True
        ):
            v, s = v[:steps], s[:steps]
            slope = surrogate.height * slope_of(spec, v)
            gradient = run_backward(spec, v, s, by_spikes, slope=slope)
            by_spikes = gradient @ weight
        return np.einsum("tbn,tbm->nm", gradient, self.x[:steps])


def _table(head: str, rows: Sequence[tuple[str, Net, NeuronSpec, Surrogate, Surrogate]]) -> str:
    """Returns a table of (name, network, exact neuron, its surrogate, surrogate in question)."""
    heads = [f"T = {steps}, {depth} layer{'s' * (depth > 1)}" for steps, depth in SIZES]
    lines = []
    for name, net, exact, usual, surrogate in rows:
        cells = []
        for sizes in SIZES:
            of_neuron = net.gradient(net.spec, surrogate, *sizes)
            of_exact = net.gradient(exact, usual, *sizes)
            norms = np.linalg.norm(of_neuron), np.linalg.norm(of_exact)
            cosine = (of_neuron * of_exact).sum() / (norms[0] * norms[1])
            cells.append(f"{cosine:.2f} · {norms[0] / norms[1]:.3g}")
        lines.append([name, *cells])
    return table([head, *heads], lines)
