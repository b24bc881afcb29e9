"""Estimates how far right gradients, and in short formats decisions, may be from the oracle's: by
runs of the oracle in the arithmetic of the case's precision on the framework's spikes, each rounded
at random.

Unlike a limit from sizes, this sees sums that cancel, steep surrogates and gradients of few
numbers. Of 15,000 gradients of plain loops in torch, with all resets and surrogates and slopes up
to 100, the farthest was 2.8 times as far as the runs.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from math import inf, isfinite, prod

import numpy as np

from ..core.contract import Parameters
from ..core.network import INPUT, Network, Node
from . import oracle
from .layers import Value, comparable, parts
from .rounding import SHORT, random_arithmetic


@dataclass(frozen=True)
class Deviation:
    """Distance of a gradient from the right one: the L2 norm of the difference, and the factor of
    the gradient along the right one less 1."""

    error: float
    scale: float


Noise = dict[tuple[str, str], Deviation]
"""Largest deviations of right gradients, by node and parameter, and (INPUT, "input")."""
NONE, ENDLESS = Deviation(0.0, 0.0), Deviation(inf, inf)
WIDENED = 4
"""Factor from the root mean square error of the runs to the largest error of a right gradient or
potential, and from the share of decisions that they turn to the largest of a right neuron."""
RUNS_OF_FEW, FEW, RUNS, RUNS_OF_MANY, MANY = 32, 2**13, 8, 3, 2**20
"""Numbers of runs of networks with less than FEW values, less than MANY, and more: errors of many
values vary less."""


def noise_of(
    network: Network,
    parameters: Parameters,
    x: np.ndarray,
    spikes: oracle.Spikes,
    upstream: Callable[[oracle.Run], np.ndarray],
    expected: oracle.Expected,
    precision: str = "fp32",
    runs: int | None = None,
) -> Noise:
    """Returns the noise of gradients on these inputs and spikes, infinite where a run overflows.
    `upstream` gives the gradient of the loss by the output of a run, `expected` are the oracle's
    gradients. `runs`: their number, if not that of the network's size."""
    count = runs or _runs(
        sum(prod(shape) for shape in network.shapes.values()) * x.shape[0] * x.shape[1]
    )
    arithmetic = random_arithmetic(np.random.default_rng(0), precision)
    right, each = by_place(expected), list[dict[tuple[str, str], Deviation]]()
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(count):
            run = oracle.forward(network, parameters, x, spikes, arithmetic=arithmetic)
            inexact = by_place(oracle.backward(network, run, upstream(run)))
            each.append({place: _deviation(inexact[place], right[place]) for place in right})
        short = precision in SHORT
        return {place: _widened([run[place] for run in each], short) for place in right}


def _runs(values: int) -> int:
    return RUNS_OF_FEW if values < FEW else RUNS if values < MANY else RUNS_OF_MANY


def decision_noise(
    parameters: Parameters, result: oracle.Run, node: Node, precision: str
) -> tuple[float, np.ndarray]:
    """Returns the share of a neuron's decisions that rounding to a short format may turn, and how
    far it may take each potential (T, B, *features), on the spikes of a run that has just computed
    the neuron. Both are large where the decay is slow: a potential then sums many roundings."""
    name, arithmetic = node.name, random_arithmetic(np.random.default_rng(0), precision)
    v, inputs = result.potentials[name], {each: result.values[each] for each in node.inputs}
    count, turned, moved = _runs(v.size), 0.0, np.zeros_like(v)
    for _ in range(count):
        own = oracle.exact(parameters, node, arithmetic)
        for items in parts(v):
            run = oracle.Run(
                {each: x[:, items] for each, x in inputs.items()}, arithmetic=arithmetic
            )
            oracle.compute(run, node, own, result.spikes[name][:, items])
            other = run.expected[name] != result.expected[name][:, items]
            turned += float(other.sum()) / v.size / count
            moved[:, items] += (run.potentials[name] - v[:, items]) ** 2 / count
    moved **= 0.5
    moved *= WIDENED
    return WIDENED * turned, moved


def _widened(deviations: list[Deviation], short: bool) -> Deviation:
    """Returns WIDENED times the root mean square of deviations, infinite where a run overflows.
    In a short format, where runs of gradients of many numbers are equally far, it is less."""
    errors, scales = np.transpose([astuple(each) for each in deviations])
    error, scale = (WIDENED * float(np.mean(each**2)) ** 0.5 for each in (errors, scales))
    if short:
        error = min(error, 2 * float(errors.mean()) + 6 * float(errors.std()))
    return Deviation(error, scale) if isfinite(error) and isfinite(scale) else ENDLESS


def by_place(gradients: oracle.Expected) -> dict[tuple[str, str], Value]:
    by_parameters, by_input = gradients
    places = {
        (node, key): value for node, own in by_parameters.items() for key, value in own.items()
    }
    return {**places, (INPUT, "input"): by_input}


def _deviation(inexact: Value, right: Value) -> Deviation:
    first, second = comparable(inexact, right)
    return Deviation(float(np.linalg.norm(first - second)), scale_of(first, second) - 1)


def scale_of(actual: np.ndarray, right: np.ndarray) -> float:
    """Returns the factor by which `actual` is along `right`: their product by that of `right` with
    itself."""
    return float(np.vdot(actual, right) / max(np.vdot(right, right), 1e-300))
