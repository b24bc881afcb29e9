"""A right network in NumPy, float64 inside: what the faulty adapters beside it derive from. Imports no framework."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from snnbench.adapters.base.contract import Adapter, Gradients, Program
from snnbench.kernels.surrogates import derivative


def notes() -> Path:
    """A folder in which an adapter and its test leave each other notes."""
    return Path(os.environ["SNNBENCH_TEST_NOTES"])


@dataclass
class Result:
    x: np.ndarray
    borders: list = field(default_factory=list)
    potentials: list = field(default_factory=list)
    weights: list = field(default_factory=list)
    biases: list = field(default_factory=list)
    given: np.ndarray | None = None


class NumpyProgram(Program):
    def __init__(self, case):
        self.case, self.spec = case, case.neuron

    def load(self, weights, biases):
        self.weights = [weight.astype(np.float64) for weight in weights]
        self.biases = [0.0 if bias is None else bias.astype(np.float64) for bias in biases]

    def put_input(self, array):
        return array.copy()

    def put_upstream(self, array, result):
        return array.copy()

    def forward(self, x):
        result = Result(x)
        for layer in range(self.case.layers):
            currents = x.astype(np.float64)
            if self.weights:
                currents = currents @ self.weights[layer].T + self.biases[layer]
            potentials, x = np.empty_like(currents), np.empty(currents.shape, np.float32)
            after = np.zeros_like(currents[0])
            for t, current in enumerate(currents):
                potentials[t] = v = self.spec.decay * after + current
                x[t] = v >= self.spec.threshold
                after = {"soft": v - self.spec.threshold * x[t], "hard": v * (1 - x[t]), "none": v}[self.spec.reset]
            result.potentials.append(potentials)
            result.borders.append(x)
        return result

    def backward(self, result, upstream):
        slope_at, gradient = derivative(self.spec, np), upstream.astype(np.float64)
        result.weights, result.biases = [], []
        for layer in reversed(range(self.case.layers)):
            potentials, spikes = result.potentials[layer], result.borders[layer]
            slope, carried = slope_at(potentials - self.spec.threshold), np.zeros_like(potentials[0])
            for t in reversed(range(len(potentials))):
                by_v, by_s = {"soft": (1, -self.spec.threshold), "hard": (1 - spikes[t], -potentials[t]), "none": (1, 0)}[
                    self.spec.reset
                ]
                by_s = 0 if self.spec.detach_reset else by_s
                gradient[t] = (gradient[t] + carried * by_s) * slope[t] + carried * by_v
                carried = self.spec.decay * gradient[t]
            if self.weights:
                below = (result.borders[layer - 1] if layer else result.x).astype(np.float64)
                result.weights.insert(0, np.tensordot(gradient, below, ([0, 1], [0, 1])).astype(np.float32))
                result.biases.insert(0, gradient.sum((0, 1)).astype(np.float32) if self.case.bias else None)
                gradient = gradient @ self.weights[layer]
        result.given = gradient.astype(np.float32)
        return result

    def inference(self, x):
        return Result(x, self.forward(x).borders[-1:])

    def step(self, x, upstream):
        return self.backward(self.forward(x), upstream)

    def wait(self, result):
        return

    def spikes(self, result):
        return [border.copy() for border in result.borders]

    def gradients(self, result):
        return Gradients(list(result.weights), list(result.biases), result.given if self.case.input_grad else None)

    def argument_bytes(self):
        return sum(array.nbytes for array in [*self.weights, *self.biases] if isinstance(array, np.ndarray))

    def result_bytes(self, result):
        given = [*result.weights, *result.biases, result.given]
        return result.borders[-1].nbytes + sum(array.nbytes for array in given if array is not None)

    def facts(self, result):
        return {"output_dtype": str(result.borders[-1].dtype), "warnings": []}

    def matmul(self, rows, inner, columns, dtype):
        left, right = np.ones((rows, inner), np.float32), np.ones((inner, columns), np.float32)
        return lambda: left @ right

    def copy(self, count):
        source, target = np.zeros(count, np.float32), np.empty(count, np.float32)
        return lambda: np.copyto(target, source)


class NumpyNetwork(Adapter):
    name = "numpy"
    program_class = NumpyProgram

    def supports(self, case):
        spec = case.neuron
        if case.precision != "fp32" or spec.reset not in ("soft", "hard", "none") or spec.max_spikes > 1:
            return "NumPy is offered here in fp32, with the resets soft, hard and none"
        return None

    def prepare(self, case, threads):
        return

    def program(self, case):
        return self.program_class(case)
