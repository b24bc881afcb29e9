"""A right network in NumPy, in float64, from which the faulty adapters in this folder derive. It
imports no framework."""

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from snnbench.core.contract import LEARNING_RATE, Adapter, Program
from snnbench.core.result import Result
from snnbench.core.rolling import rolled
from snnbench.kernels.surrogates import derivative


def notes() -> Path:
    """The folder through which an adapter and its test exchange files."""
    return Path(os.environ["SNNBENCH_TEST_NOTES"])


@dataclass(kw_only=True)
class NumpyResult(Result):
    """With potentials by neuron."""

    x: np.ndarray
    potentials: dict = field(default_factory=dict)


class NumpyProgram(Program):
    """A chain of linears and neurons."""

    def __init__(self, case, network):
        self.case, self.network, self.spec = case, network, case.neuron
        self.calls = Counter()

    def count(self, method):
        """The number of this call of `method`, the first being 1."""
        self.calls[method] += 1
        return self.calls[method]

    def load(self, parameters):
        self.parameters = {
            node: {name: array.astype(np.float64) for name, array in own.items()}
            for node, own in parameters.items()
        }
        self.loaded = self.parameters

    def roll_parameters(self, turn):
        self.parameters = {
            node: {name: rolled(array, turn) for name, array in own.items()}
            for node, own in self.loaded.items()
        }

    def put_input(self, array):
        return array.copy()

    def put_upstream(self, array, result):
        return array.copy()

    def forward(self, x):
        result, value = NumpyResult(x=x, borders={}, output=None), x.astype(np.float64)
        for node in self.network.nodes:
            if node.kind == "linear":
                own = self.parameters[node.name]
                value = value @ own["weight"].T + own.get("bias", 0.0)
            else:
                result.output = self._spikes(value, result, node.name)
                value = result.output.astype(np.float64)
        return result

    def _spikes(self, currents, result, name):
        potentials, spikes = np.empty_like(currents), np.empty(currents.shape, np.float32)
        after = np.zeros_like(currents[0])
        for t, current in enumerate(currents):
            potentials[t] = v = self.spec.decay * after + current
            spikes[t] = v >= self.spec.threshold
            after = {
                "soft": v - self.spec.threshold * spikes[t],
                "hard": v * (1 - spikes[t]),
                "none": v,
            }[self.spec.reset]
        result.potentials[name], result.borders[name] = potentials, spikes
        return spikes

    def backward(self, result, upstream):
        gradient, result.gradients = upstream.astype(np.float64), {}
        for node in reversed(self.network.nodes):
            if node.kind == "neuron":
                gradient = self._by_currents(
                    gradient, result.potentials[node.name], result.borders[node.name]
                )
                continue
            own, below = (
                self.parameters[node.name],
                result.borders.get(node.inputs[0], result.x).astype(np.float64),
            )
            by_weight = np.tensordot(gradient, below, ([0, 1], [0, 1])).astype(np.float32)
            by_bias = {"bias": gradient.sum((0, 1)).astype(np.float32)} if "bias" in own else {}
            result.gradients[node.name] = {"weight": by_weight, **by_bias}
            gradient = gradient @ own["weight"]
        result.input_gradient = gradient.astype(np.float32) if self.case.input_grad else None
        return result

    def _by_currents(self, gradient, potentials, spikes):
        slope, carried = (
            derivative(self.spec, np)(potentials - self.spec.threshold),
            np.zeros_like(potentials[0]),
        )
        for t in reversed(range(len(potentials))):
            by_v, by_s = {
                "soft": (1, -self.spec.threshold),
                "hard": (1 - spikes[t], -potentials[t]),
                "none": (1, 0),
            }[self.spec.reset]
            by_s = 0 if self.spec.detach_reset else by_s
            gradient[t] = (gradient[t] + carried * by_s) * slope[t] + carried * by_v
            carried = self.spec.decay * gradient[t]
        return gradient

    def inference(self, x):
        last, spikes = list(self.forward(x).borders.items())[-1]
        return NumpyResult(x=x, borders={last: spikes}, output=spikes)

    def evaluate(self, x):
        result = self.forward(x)
        return NumpyResult(x=x, borders=result.borders, output=result.output)

    def step(self, x, upstream):
        result = self.backward(self.forward(x), upstream)
        return self.optimize(result)

    def optimize(self, result):
        self.update(result)
        return replace(result, gradients={}, updated=self.parameters)

    def update(self, result):
        for node, own in result.gradients.items():
            for name, gradient in own.items():
                self.parameters[node][name] = self.parameters[node][name] - LEARNING_RATE * gradient

    def argument_bytes(self):
        return sum(array.nbytes for own in self.parameters.values() for array in own.values())

    def result_bytes(self, result):
        gradients = [
            *(
                array
                for own in (result.updated or result.gradients).values()
                for array in own.values()
            ),
            result.input_gradient,
        ]
        return result.output.nbytes + sum(array.nbytes for array in gradients if array is not None)

    def facts(self, result):
        return {"output_dtype": str(result.output.dtype), "warnings": []}

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
        if (
            case.precision != "fp32"
            or spec.reset not in ("soft", "hard", "none")
            or spec.max_spikes > 1
        ):
            return "NumPy is offered here in fp32, with the resets soft, hard and none"
        return None

    def prepare(self, case, threads):
        return

    def program(self, case, network):
        return self.program_class(case, network)
