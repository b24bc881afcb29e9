"""The terms from which `measure.pipeline` predicts: what they are of, and how they are timed."""

from collections.abc import Callable
from math import prod
from time import perf_counter

import numpy as np

from snnbench.core.case import Case
from snnbench.core.network import Network

LEAST, MOST_S = 5, 1.0
"""Calls of a term, and seconds after which there are no more."""
CALLS = 15


def timed(call: Callable[[], object]) -> list[float]:
    """Quartiles of the seconds of a call, the first one left out."""
    call()
    seconds: list[float] = []
    while len(seconds) < LEAST or (len(seconds) < CALLS and sum(seconds) < MOST_S):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return quartiles(seconds)


def quartiles(seconds: list[float]) -> list[float]:
    return [float(value) for value in np.quantile(seconds, [0.25, 0.5, 0.75])]


def mean_of(neurons: list[list[float]]) -> list[float]:
    """Quartiles of the seconds of one layer's neurons, from those of all layers."""
    return [sum(ends) / len(neurons) for ends in zip(*neurons, strict=True)]


def numbers(case: Case, network: Network) -> tuple[int, int]:
    """Of a state of a layer's mean size, and of the gradients of all parameters."""
    layers = [prod(network.shapes[name]) for name in network.neurons]
    gradients = sum(prod(shape) for own in network.parameters.values() for shape in own.values())
    return case.batch * sum(layers) // len(layers), gradients
