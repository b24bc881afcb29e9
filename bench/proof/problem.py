"""The numbers every framework is given for a case: weights, two inputs, upstream gradient. Seeded; NumPy only.

Weights are `z/√inputs` and biases `0.05·z'`, z standard normal, times a gain that makes the case's neuron with soft
reset fire at 15 %. The mean is zero on purpose: with a positive mean hardly a potential passes twice the threshold,
and neurons that fire several spikes a step could not be told apart.
"""

import hashlib
import json
from dataclasses import dataclass, replace

import numpy as np

from snnbench.adapters.base.case import Case
from snnbench.kernels.spec import NEURONS, NeuronSpec

from . import oracle
from .rounding import round_to

TARGET_RATE = 0.15
INPUT_RATE = 0.3
SAMPLED_ABOVE = 2048
"""With more neurons than this the upstream gradient touches a sample of them, and stacks are proved at this size."""

# Streams of random numbers, so that e.g. another batch size leaves the weights alone.
WEIGHT, BIAS, INPUT, OTHER_INPUT, UPSTREAM, SAMPLE = range(6)


@dataclass
class Problem:
    """float32 arrays: weights (N, K) and biases (N,) by layer, inputs and upstream (T, B, ·).

    `rows` are the judged neurons of the last layer, None for all; the upstream gradient is zero elsewhere. For
    workload `lif` there are no weights and the inputs are the currents.
    """

    spec: NeuronSpec
    weights: list[np.ndarray]
    biases: list[np.ndarray | None]
    input: np.ndarray
    other_input: np.ndarray
    upstream: np.ndarray
    rows: np.ndarray | None

    @property
    def inputs(self) -> int:
        """Products summed into one current; 1 where currents are given."""
        return self.weights[0].shape[1] if self.weights else 1

    @property
    def neurons(self) -> int:
        return self.upstream.shape[2]

    def judged_input(self, x: np.ndarray) -> np.ndarray:
        """What the judged rows see of an input: all of it, but where currents are given only their own."""
        return x if self.weights or self.rows is None else x[:, :, self.rows]

    def judged_part(self) -> "Problem":
        """The same with only the judged rows of each layer's weights kept."""
        if self.rows is None:
            return self
        return replace(
            self,
            weights=[w[self.rows] for w in self.weights],
            biases=[None if b is None else b[self.rows] for b in self.biases],
        )


def small(case: Case, input: str = "spikes") -> Case:
    """The small odd problem that every proof begins with."""
    return replace(case, time_steps=37, batch=3, neurons=97, input=input)


def proved(case: Case) -> Case:
    """The case at the size at which it is proved: its own, except for stacks of wide layers."""
    if case.layers > 1 and case.neurons > SAMPLED_ABOVE:
        return replace(case, neurons=SAMPLED_ABOVE)
    return case


def spec_of(case: Case) -> NeuronSpec:
    """The neuron that weights are calibrated for; a native one has no equations here, and gets the weights of `soft`."""
    return NEURONS["soft"] if case.native else case.neuron


def problem_id(case: Case) -> str:
    """Hash of what the numbers depend on: the same for every framework, device and mode."""
    keys = ("workload", "layers", "neurons", "time_steps", "batch", "precision", "input", "bias", "seed")
    values = {key: getattr(case, key) for key in keys} | {"neuron": spec_of(case).as_dict()}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def generate(case: Case, gains: list[float]) -> Problem:
    """The problem of `case` with the gains that `calibrate` found for it."""
    count, precision = case.neurons, case.precision
    first, second = (_input(case, stream) for stream in (INPUT, OTHER_INPUT))
    weights, biases = [], []
    if case.workload == "lif":
        first, second = (np.float32(gains[0]) * x for x in (first, second))
    else:
        for layer, gain in enumerate(gains):
            weight, bias = _layer(case, layer)
            weights.append(round_to(weight * np.float32(gain), precision))
            biases.append(round_to(bias * np.float32(gain), precision) if case.bias else None)
    upstream = _random(case, UPSTREAM).standard_normal((case.time_steps, case.batch, count), dtype=np.float32)
    rows = _sampled_rows(case)
    if rows is not None:
        kept = np.zeros(count, dtype=np.float32)
        kept[rows] = 1
        upstream *= kept
    return Problem(
        spec=spec_of(case),
        weights=weights,
        biases=biases,
        input=round_to(first, precision),
        other_input=round_to(second, precision),
        upstream=round_to(upstream, precision),
        rows=rows,
    )


def calibrate(case: Case) -> list[float]:
    """One gain per layer, found in float64 on at most 100 steps, 4 items and 512 neurons."""
    spec = spec_of(case).with_reset("soft")
    x = _input(case, INPUT)[:100, :4].astype(np.float64)
    if case.workload == "lif":
        return [_gain(spec, x[..., :512])]
    gains = []
    for layer in range(case.layers):
        weight, bias = _layer(case, layer)
        judged = slice(None) if layer + 1 < case.layers else slice(512)
        currents = x @ weight[judged].T.astype(np.float64) + (bias[judged] if case.bias else 0)
        gains.append(_gain(spec, currents[..., :512]))
        if layer + 1 < case.layers:
            _, x = oracle.run(spec, gains[-1] * currents)
    return gains


def _gain(spec: NeuronSpec, currents: np.ndarray) -> float:
    """Bisection in log2 over [2⁻⁸, 2⁸], 16 halvings, for a firing rate of 15 %."""
    low, high = -8.0, 8.0
    for _ in range(16):
        middle = (low + high) / 2
        _, spikes = oracle.run(spec, 2.0**middle * currents)
        low, high = (low, middle) if spikes.mean() > TARGET_RATE else (middle, high)
    return 2.0 ** ((low + high) / 2)


def _layer(case: Case, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Weight and bias before the gain."""
    weight = _random(case, WEIGHT, layer).standard_normal((case.neurons, case.neurons), dtype=np.float32)
    bias = _random(case, BIAS, layer).standard_normal(case.neurons, dtype=np.float32)
    return weight / np.float32(np.sqrt(case.neurons)), np.float32(0.05) * bias


def _input(case: Case, stream: int) -> np.ndarray:
    """Bernoulli(0.3) spikes or U(0,1) numbers; for `lif` Gaussian currents, at Bernoulli(0.3) events if `spikes`."""
    random, shape = _random(case, stream), (case.time_steps, case.batch, case.neurons)
    dense = random.random(shape, dtype=np.float32)
    events = (dense < INPUT_RATE).astype(np.float32)
    if case.workload == "lif":
        currents = random.standard_normal(shape, dtype=np.float32)
        return currents * events if case.input == "spikes" else currents
    return events if case.input == "spikes" else dense


def _sampled_rows(case: Case) -> np.ndarray | None:
    """None up to 2048 neurons; above: the first, the last and one seeded neuron of each of 256 equal stripes."""
    if case.neurons <= SAMPLED_ABOVE:
        return None
    edges = np.linspace(0, case.neurons, 257).astype(np.int64)
    seeded = _random(case, SAMPLE).integers(edges[:-1], edges[1:])
    return np.unique(np.concatenate([[0, case.neurons - 1], seeded]))


def _random(case: Case, stream: int, layer: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([case.seed, stream, layer])))
