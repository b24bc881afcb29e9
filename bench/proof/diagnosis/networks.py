"""Names the node of a network that is wrong, and its fault: before the first wrong neuron, or where all decisions are right."""

from collections.abc import Callable

import numpy as np

from .. import oracle
from ..judge import Call
from ..limits import Limits, LimitsByNode
from ..problem import Problem
from ..recurrence import run, spec_of
from .pulls import best_pull
from .statistics import statistics_fault
from .values import best_fault

RECURRENT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ignores its recurrent weight": lambda weight: 0 * weight,
    "has its recurrent weight transposed": lambda weight: weight.T,
    "takes its recurrent inputs in reversed order": lambda weight: weight[:, ::-1],
    "takes no neuron's own spikes back": lambda weight: weight - np.diag(np.diag(weight)),
    "adds its recurrence twice": lambda weight: 2 * weight,
}
"""What may be wrong with a recurrent weight."""


def of_inputs(problem: Problem, call: Call, neuron: str, limit: Limits) -> str | None:
    """What is wrong between the neurons before one with wrong decisions and this one."""
    network = problem.network
    result = oracle.forward(network, problem.parameters, call.x, call.spikes)
    node, spikes = network.node(neuron), result.spikes[neuron]
    spec = spec_of(node.options["neuron"])
    recurrent = oracle.exact(problem.parameters, node).get("recurrent")

    def misfit(currents: np.ndarray, back: np.ndarray | None = recurrent) -> float:
        return float((run(spec, currents, spikes, back)[1] != spikes).mean()) / limit.decisions

    right = result.values[node.inputs[0]]
    if recurrent is not None:
        for words, change in RECURRENT.items():
            if misfit(right, change(recurrent)) <= 1:
                return f"{neuron} {words}"
        late = right.copy()
        late[2:] += spikes[:-2] @ recurrent.T
        if misfit(late, 0 * recurrent) <= 1:
            return f"{neuron} takes its recurrence one step late"
    return best_fault(network, result, neuron, call.statistics and call.statistics[0], misfit)


def behind_neurons(problem: Problem, call: Call, limits: LimitsByNode) -> str | None:
    """What is wrong where all decisions are right: the output, running statistics, or gradients."""
    network, output = problem.network, problem.network.output.name
    result = oracle.forward(network, problem.parameters, call.x, call.spikes)
    before = call.statistics and call.statistics[0]

    given, limit = call.output, limits[output].gradient

    def misfit(value: np.ndarray) -> float:
        apart = (
            np.inf if given is None or given.shape != value.shape else np.linalg.norm(given - value)
        )
        return float(apart / max(float(np.linalg.norm(value)), 1e-300)) / limit

    if given is not None and misfit(right := result.values[output]) > 1:
        if (words := best_fault(network, result, output, before, misfit)) or right.ndim != 3:
            return words
        order = np.square(given[..., None] - right[..., None, :]).sum(axis=(0, 1)).argmin(axis=1)
        moved = np.flatnonzero(order != np.arange(len(order)))
        if not len(moved) or misfit(right[..., order]) > 1:
            return None
        return f"{output} hands out another order: {moved[0]} gives what {order[moved[0]]} should"
    if call.statistics is not None:
        for name, batch in result.statistics.items():
            count = result.values[name].size // len(batch["mean"])
            if words := statistics_fault(
                network.node(name), batch, count, call.statistics, limits[name].gradient
            ):
                return words
    return best_pull(problem, call.gradients, result, limits) if call.gradients else None
