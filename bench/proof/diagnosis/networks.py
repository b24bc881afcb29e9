"""Names the wrong node of a network and its fault: before the first wrong neuron, or where all
decisions are right."""

from collections.abc import Callable, Iterator

import numpy as np

from snnbench.kernels.spec import NeuronSpec

from ...common.units import small_share
from ...core.contract import Statistics
from ...core.network import Node
from .. import oracle
from ..judge import JudgedCall
from ..limits import Limits, LimitsByNode
from ..problem import Problem
from ..recurrence import before_synapse, from_threshold, run, spec_of
from .pulls import best_pull
from .values import best_fault

RECURRENT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ignores its recurrent weight": lambda weight: 0 * weight,
    "has its recurrent weight transposed": lambda weight: weight.T,
    "takes its recurrent inputs in reversed order": lambda weight: weight[:, ::-1],
    "takes no neuron's own spikes back": lambda weight: weight - np.diag(np.diag(weight)),
    "adds its recurrence twice": lambda weight: 2 * weight,
}
"""Faults of a recurrent weight."""
MANY_DECISIONS = 30
"""Number of wrong decisions from which on a fault without constants that explains them, or biases
that do, is no accident."""
MOST_BIAS = 1e3
"""Bound of a bias where no decision bounds it."""


def of_inputs(problem: Problem, call: JudgedCall, neuron: str, limit: Limits) -> str | None:
    """Names the fault between a neuron with wrong decisions and the neurons before it."""
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
        for words, currents in _fed_back(problem, result, neuron, recurrent):
            if misfit(currents, 0 * recurrent) <= 1:
                return f"{neuron} {words}"
    wrong = np.argwhere(run(spec, right, spikes, recurrent)[1] != spikes)[:, 0]
    if len(wrong) and (first := wrong[0]):
        parts = [slice(at, at + first) for at in range(0, len(spikes), first)]
        at_rest = [run(spec, right[part], spikes[part], recurrent)[1] for part in parts]
        if (np.concatenate(at_rest) != spikes).mean() <= limit.decisions:
            return f"{neuron} starts at rest every {first} steps"
    before = call.statistics and call.statistics[0]
    if found := best_fault(network, result, neuron, before, misfit):
        return found
    if recurrent is None or len(wrong) < MANY_DECISIONS:
        return None
    biased = misfit(_with_bias(spec, right, spikes, recurrent)) <= 1
    return f"{neuron} adds a bias to its recurrence" if biased else None


def _fed_back(
    problem: Problem, result: oracle.Run, neuron: str, recurrent: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Yields wrong recurrences of a neuron, in words and as its currents."""
    node, spikes = problem.network.node(neuron), result.spikes[neuron]
    spec, right = spec_of(node.options["neuron"]), result.values[node.inputs[0]]
    back = spikes[:-1] @ recurrent.T

    def with_currents(more: np.ndarray, after: int = 1) -> np.ndarray:
        return right + np.concatenate([np.zeros((after, *right.shape[1:])), more])[: len(right)]

    yield "takes its recurrence one step late", with_currents(back, 2)
    lost = with_currents(back)
    lost[1:] *= spikes[:-1] == 0
    yield "loses all currents of the step after a spike", lost
    if spec.current_decay is not None:
        behind = with_currents(before_synapse(spec, back))
        yield "takes its recurrence behind its synapse, not through it", behind
    for name, others in result.spikes.items():
        if name != neuron and others.shape == spikes.shape:
            yield (
                f"takes the spikes of {name} back, not its own",
                with_currents(others[:-1] @ recurrent.T),
            )
    earlier = oracle.forward(problem.network, problem.parameters, problem.other_input)
    of_last_call = with_currents(back)
    of_last_call[0] += earlier.spikes[neuron][-1] @ recurrent.T
    yield "takes the last spikes of the call before back in its first step", of_last_call


def _with_bias(
    spec: NeuronSpec, currents: np.ndarray, spikes: np.ndarray, recurrent: np.ndarray
) -> np.ndarray:
    """Returns the currents with a bias for each neuron, from the second step on, that fits its
    decisions: each of them bounds it from one side."""
    later = np.ones_like(currents)
    later[0] = 0
    v = run(spec, currents, spikes, recurrent)[0]
    share = run(spec, currents + later, spikes, recurrent)[0] - v
    bound = (spec.threshold - v)[1:] / np.maximum(share[1:], 1e-12)
    fired = spikes[1:] > 0
    low = bound.max(axis=(0, 1), where=fired, initial=-MOST_BIAS)
    high = bound.min(axis=(0, 1), where=~fired, initial=MOST_BIAS)
    return currents + later * ((low + high) / 2)


def of_ties(problem: Problem, call: JudgedCall, limits: LimitsByNode) -> str | None:
    """Names the first neuron with wrong decisions where its potential is the threshold itself."""
    network = problem.network
    result = oracle.forward(network, problem.parameters, call.x, call.spikes)
    for name in network.neurons if not result.lean else ():
        spec = spec_of(network.node(name).options["neuron"])
        at = from_threshold(spec, result.potentials[name]) == 0
        wrong = at & (result.spikes[name] != result.expected[name])
        if wrong.mean() > limits[name].decisions:
            share = small_share(float(at.mean()))
            return (
                f"{name} fires above its threshold, not at it, where {share} of its potentials are"
            )
    return None


def behind_neurons(problem: Problem, call: JudgedCall, limits: LimitsByNode) -> str | None:
    """Names the fault of the output, running statistics, or gradients where all decisions are
    right."""
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
        if words := best_fault(network, result, output, before, misfit):
            return words
        if (
            network.output.kind == "integrator"
            and misfit(_started(network.output, given, right)) <= 1
        ):
            return f"{output} does not start at 0: its state is carried over from the previous call"
        if right.ndim != 3:
            return None
        order = np.square(given[..., None] - right[..., None, :]).sum(axis=(0, 1)).argmin(axis=1)
        moved = np.flatnonzero(order != np.arange(len(order)))
        if not len(moved) or misfit(right[..., order]) > 1:
            return None
        return f"{output} hands out another order: {moved[0]} gives what {order[moved[0]]} should"
    if call.statistics is not None:
        for name, batch in result.statistics.items():
            count = result.values[name].size // len(batch["mean"])
            if words := _statistics_fault(
                network.node(name), batch, count, call.statistics, limits[name].gradient
            ):
                return words
    return best_pull(problem, call.gradients, result, limits) if call.gradients else None


def _started(integrator: Node, given: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Returns the potentials `right` (T, …) of an integrator from the start that fits those given
    best."""
    powers = integrator.options["decay"] ** np.arange(1.0, 1 + len(right))
    start = np.tensordot(powers, given - right, axes=1) / np.square(powers).sum()
    return right + powers.reshape(-1, *(1,) * start.ndim) * start


def _statistics_fault(
    node: Node,
    batch: dict[str, np.ndarray],
    count: int,
    given: tuple[Statistics, Statistics],
    limit: float,
) -> str | None:
    """Names the fault that explains mean and variance, None if they are right or no fault does.
    `batch` are mean and unbiased variance of the call, over `count` values by channel; `given`
    are the statistics before and after it."""
    m = node.options["momentum"]
    before, after = (
        {key: each[node.name][key].astype(np.float64) for key in batch} for each in given
    )

    def moved(by: float, **batch_instead: np.ndarray) -> dict[str, np.ndarray]:
        return {key: (1 - by) * before[key] + by * {**batch, **batch_instead}[key] for key in batch}

    def fits(supposed: dict[str, np.ndarray]) -> bool:
        return all(
            np.linalg.norm(after[key] - value) <= limit * np.linalg.norm(value)
            for key, value in supposed.items()
        )

    if fits(moved(m)):
        return None
    for words, supposed in (
        ("stay as they were before the call", moved(0)),
        ("take the biased variance", moved(m, variance=batch["variance"] * (count - 1) / count)),
        ("take the batch's in twice", moved(1 - (1 - m) ** 2)),
        (f"have the momentum {1 - m:g}, not {m:g}: the wrong way round", moved(1 - m)),
        ("are the batch's own", moved(1)),
        ("take the deviation, not the variance", moved(m, variance=np.sqrt(batch["variance"]))),
        ("are summed, not averaged", {key: before[key] + m * batch[key] for key in batch}),
    ):
        if fits(supposed):
            return f"the running statistics of {node.name} {words}"
    return None
