"""Names the fault of a rejected network.

The first neuron with wrong decisions is examined alone with the linear before it, on the outputs of
the framework's own nodes. The forced oracle runs on it with one fault after the other. A fault is
named if it reproduces the framework's decisions (or, where those are right, its gradients) and the
right neuron does not. A fault with a constant is fitted: every decision bounds the constant from
one side, and gradients are smooth in it.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from snnbench.kernels.spec import decay_of, within_domain

from ...core.network import Network, Node
from ...core.result import Gradients
from .. import oracle
from ..judge import JudgedCall, upstream_of, wrote_over
from ..limits import Limits, LimitsByNode
from ..problem import Problem, alone, is_chain, places
from ..recurrence import from_threshold, run, spec_of
from .arrays import of_arrays
from .constants import constants_of
from .fitting import fit_decisions, misfit_of, shortest, wrong_decisions
from .gradients import BETTER, FAR_BETTER, first_best, of_gradients, reads_wrong, worded
from .hypotheses import (
    Evidence,
    Hypothesis,
    anywhere,
    linear,
    other_items,
    reordered,
    roundings,
    structures,
)
from .networks import MANY_DECISIONS, behind_neurons, of_inputs, of_ties
from .operands import operands
from .recurrences import recurrences
from .shapes import shape_fault
from .training import loss_fault

MOST_DECISIONS = 400_000
"""Most decisions that are diagnosed: larger problems are cut to a part of their neurons, half of
them wrong."""
FEW_DECISIONS = 6
"""Number of wrong decisions below which several constants often explain them."""
FADED = 0.45
"""Largest mean step, as a share of all, of decisions that are wrong because of the start."""
INEXACT = 0.02
"""Distance in thresholds: if all wrong decisions are nearer, the cause is a short format or a
slightly wrong constant."""
BY_CHANCE = 1e-4
"""Probability below which the places of wrong decisions are no accident."""


def name_fault(problem: Problem, call: JudgedCall, limits: LimitsByNode) -> str | None:
    """Returns `diagnose`, or None if a strange output makes it fail or a run is too large: the
    verdict stands without a name."""
    if oracle.is_lean(problem.network, *call.x.shape[:2]) or wrote_over(call.x, call.left):
        return None
    with suppress(ArithmeticError, LookupError, ValueError, TypeError):
        return loss_fault(problem, call, limits) or diagnose(
            _with_constants(_with_upstream(problem, call)), call, limits
        )
    return None


def _with_upstream(problem: Problem, call: JudgedCall) -> Problem:
    """Returns `problem` with the gradient of its loss in place of its labels."""
    if problem.loss is None:
        return problem
    result = oracle.forward(problem.network, problem.parameters, call.x, call.spikes)
    return replace(problem, upstream=upstream_of(problem, result), loss=None)


def _with_constants(problem: Problem) -> Problem:
    """Returns `problem` with the learned decays of its neurons as constants, so that their
    faults are named as for any decay."""
    network, learned = (
        problem.network,
        {name: own["decay"] for name, own in problem.parameters.items() if "decay" in own},
    )
    if not learned:
        return problem

    def settled(node: Node) -> Node:
        spec = node.options["neuron"]
        decay = within_domain(float(decay_of(spec, float(learned[node.name][0]), np)))
        return replace(
            node, options={**node.options, "neuron": replace(spec, decay=decay, learned_decay=None)}
        )

    nodes = tuple(settled(node) if node.name in learned else node for node in network.nodes)
    parameters = {name: own for name, own in problem.parameters.items() if name not in learned}
    return replace(problem, network=Network(network.input, nodes), parameters=parameters)


def diagnose(problem: Problem, call: JudgedCall, limits: LimitsByNode) -> str | None:
    """Names the fault of a rejected call in one sentence; None if the evidence does not identify
    it. In a large chain of layers only neurons are examined."""
    network = problem.network
    for neuron in network.neurons:
        given = call.spikes.get(neuron)
        if given is None or given.shape[:2] != call.x.shape[:2] or not np.isfinite(given).all():
            return None
        if given.shape != problem.shape(neuron):
            return (
                shape_fault(network, neuron, given.shape[2:]) if places(network)[neuron] else None
            )
    if not places(network)[problem.last]:
        return _of_layer(problem, call.spikes[problem.last], call.gradients, limits[problem.last])
    by_node = (
        not is_chain(network)
        or sum(spikes.size for spikes in call.spikes.values()) <= MOST_DECISIONS
    )
    for neuron, layer in zip(network.neurons, _layers(problem, call), strict=True):
        spikes, limit = _flat(call.spikes[neuron]), limits[neuron]
        if _misfit(layer, spikes, limit):
            skipped = np.array_equal(spikes, layer.input)
            if by_node and not skipped and (found := of_inputs(problem, call, neuron, limit)):
                return found
            named = _of_layer(layer, spikes, None, limit)
            return named and f"in {neuron}: {named}"
    if not by_node:
        return None
    return of_ties(problem, call, limits) or behind_neurons(problem, call, limits)


def _layers(problem: Problem, call: JudgedCall) -> list[Problem]:
    """Yields each neuron as a network of its own, on the outputs of the framework's nodes before
    it, features in one row. The other input comes from the oracle, free in the neuron before."""
    network = problem.network
    result = oracle.forward(network, problem.parameters, call.x, call.spikes)
    other = oracle.forward(network, problem.parameters, problem.other_input)
    layers = []
    for neuron in network.neurons:
        node = network.node(neuron)
        source = (network.only_before(neuron, "linear") or node).inputs[0]
        inputs = [_flat(run.values[source]) for run in (result, other)]
        if node.options["recurrent"]:
            recurrent = problem.parameters[neuron]["recurrent"].T.astype(np.float64)
            fed_back = [run.spikes[neuron][:-1] @ recurrent for run in (result, other)]
            inputs = [
                np.concatenate([x[:1], x[1:] + more])
                for x, more in zip(inputs, fed_back, strict=True)
            ]
        layers.append(alone(problem, neuron, *inputs))
    return layers


def _flat(values: np.ndarray) -> np.ndarray:
    """Reshapes (T, B, *features) to features in one row."""
    return values.reshape(*values.shape[:2], -1)


def _misfit(layer: Problem, spikes: np.ndarray, limit: Limits) -> float:
    """Share of the decisions of a layer that are wrong."""
    return float(
        wrong_decisions(_evidence(layer, spikes, None, limit).right, limit.distance).mean()
    )


def _of_layer(
    layer: Problem, spikes: np.ndarray, gradients: Gradients | None, limit: Limits
) -> str | None:
    """Names the fault of one layer, with its gradients if they are set."""
    whole = _evidence(layer, spikes, gradients, limit)
    wrong = wrong_decisions(whole.right, limit.distance)
    if wrong.any():
        if np.array_equal(spikes, layer.input):
            return "returns its input"
        if spikes.min() == spikes.max():
            return "fires at every step" if spikes.any() else "silent: no neuron ever fires"
    sample = _sampled(whole.neurons, wrong)
    part = (
        whole
        if len(sample) == len(whole.neurons)
        else _evidence(layer, spikes, gradients, limit, sample)
    )
    if not wrong.any():
        return (
            (of_gradients(part, forward_right=True) or of_arrays(part)) if part.gradients else None
        )
    if text := _of_decisions(part) or _place(wrong, whole.neurons):
        return text
    # Tried last: free starting potentials explain much. Effects of a start fade with the steps.
    steps = np.argwhere(wrong)[:, 0]
    if len(steps) >= MANY_DECISIONS and steps.mean() < FADED * (len(wrong) - 1):
        before, after = (
            wrong_decisions(h, limit.distance).mean() for h in (part.right, anywhere(part))
        )
        if after <= FAR_BETTER * before:
            return "not started from rest"
    v, expected = run(part.spec, part.right.currents, part.right.spikes)
    worst = float(
        from_threshold(part.spec, v).max(where=expected != part.right.spikes, initial=0.0)
    )
    return (
        f"potentials are inexact, by up to about {worst:.1g}"
        if worst <= INEXACT * part.spec.threshold
        else None
    )


def _evidence(
    layer: Problem,
    spikes: np.ndarray,
    gradients: Gradients | None,
    limit: Limits,
    rows: np.ndarray | None = None,
) -> Evidence:
    """Returns the evidence of a layer, cut down to the neurons `rows`."""
    cut = alone(layer, layer.last, layer.input, layer.other_input, rows)
    rows = np.arange(prod(layer.network.shapes[layer.last])) if rows is None else rows
    parameters = next(iter(cut.parameters.values()), {})
    weight, bias = parameters.get("weight"), parameters.get("bias")
    right, other = (
        x.astype(np.float64) if weight is None else linear(x, weight, bias)
        for x in (cut.input, cut.other_input)
    )
    spec = spec_of(cut.network.node(cut.last).options["neuron"])
    hypothesis = Hypothesis(spec, right, spikes[:, :, rows].astype(np.float64))
    by_name = {} if gradients is None else _gradients(layer, gradients, rows)
    return Evidence(
        hypothesis,
        cut.input,
        cut.other_input,
        other,
        cut.upstream,
        limit,
        rows,
        weight,
        bias,
        by_name,
    )


def _gradients(layer: Problem, gradients: Gradients, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the framework's gradients of a network of one layer, as far as they depend on the
    neurons `rows`."""
    given = (
        (name, array)
        for node in layer.parameters
        for name, array in gradients.parameters[node].items()
    )
    by_name = {name: array[rows] for name, array in given if array is not None}
    if gradients.input is not None and not layer.parameters:
        by_name["input"] = gradients.input[:, :, rows]
    elif gradients.input is not None and len(rows) == layer.network.shapes[layer.last][0]:
        by_name["input"] = gradients.input
    return by_name


def _sampled(rows: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    count = max(2, MOST_DECISIONS // (wrong.shape[0] * wrong.shape[1]))
    if len(rows) <= count:
        return rows
    kinds = [
        kind for kind in (np.flatnonzero(wrong.any(axis=(0, 1))), np.arange(len(rows))) if len(kind)
    ]
    return rows[
        np.unique(
            [
                kind[i]
                for kind in kinds
                for i in np.linspace(0, len(kind) - 1, count // 2).astype(int)
            ]
        )
    ]


def _of_decisions(e: Evidence) -> str | None:
    wrong = wrong_decisions(e.right, e.limit.distance)
    before = wrong.mean()

    def best(
        faults: Iterable[tuple[Any, ...]], distance: float = e.limit.distance
    ) -> tuple[float, str]:
        return first_best(
            [(wrong_decisions(h, distance).mean() / before, text) for *_, text, h in faults]
        )

    many = np.count_nonzero(wrong) >= MANY_DECISIONS
    groups = [structures(e), reordered(e, np.any(wrong, axis=(0, 1))), other_items(e)]
    for faults in groups + ([recurrences(e), operands(e)] if many else []):
        remaining_share, text = best(faults)
        if remaining_share * before <= e.limit.decisions:
            return text
    if e.gradients and (name := of_gradients(e, forward_right=False)):
        return name
    if not many and (name := _confirmed(e, best)):
        return name
    # Potentials of a short format often lie exactly on the threshold.
    shorter = best(roundings(e), 0.0)
    perhaps = "perhaps " if np.count_nonzero(wrong) < FEW_DECISIONS else ""
    if shorter[0] <= FAR_BETTER:
        return perhaps + shorter[1]
    # Wrong constants would have shown in the gradients.
    constants = constants_of(e) if many or not e.gradients else []
    fits = [
        (fit, constant) for constant in constants if (fit := fit_decisions(e, constant)) is not None
    ]
    fits = [
        (fit, c)
        for fit, c in fits
        if wrong_decisions(c.supposed(e, fit.p), e.limit.distance).mean() <= FAR_BETTER * before
        and reads_wrong(e, c, fit.p)
    ]
    if fits:
        fit, constant = min(fits, key=lambda pair: (pair[0].broken, -pair[0].freedom))
        return (perhaps if len(fits) > 1 else "") + worded(
            e, constant, shortest(fit.low, fit.p, fit.high)
        )
    return shorter[1] if shorter[0] <= BETTER else None


def _confirmed(
    e: Evidence, best: Callable[[Iterable[tuple[str, Hypothesis]]], tuple[float, str]]
) -> str | None:
    """Names the fault that explains a few wrong decisions, as several do, and the gradients of
    weight and bias too."""
    by_parameter = {name: array for name, array in e.gradients.items() if name != "input"}
    if not by_parameter:
        return None
    only, steps = replace(e, gradients=by_parameter), len(e.upstream)
    most = max(1.0, FAR_BETTER * misfit_of(only, e.right))
    whole = ((text, h) for text, h in (*recurrences(e), *operands(e)) if len(h.currents) == steps)
    remaining_share, text = best((text, h) for text, h in whole if misfit_of(only, h) <= most)
    return text if remaining_share <= FAR_BETTER else None


def _place(wrong: np.ndarray, rows: np.ndarray) -> str | None:
    """Names the places of the wrong decisions, if they are not spread everywhere."""
    steps, items, neurons = (
        np.flatnonzero(wrong.any(axis=axes)) for axes in ((1, 2), (0, 2), (0, 1))
    )
    count, faulty = len(rows), len(neurons)
    tail = count - neurons[0]
    if neurons[0] and faulty >= tail / 2 and (faulty == 1 or (tail / count) ** faulty < BY_CHANCE):
        span = f"from {rows[neurons[0]]} to {rows[-1]}"
        return f"only the last neurons are wrong, {span} (the tail of a tile?)"
    decisions = np.count_nonzero(wrong)
    if steps[0] and (1 - steps[0] / len(wrong)) ** min(decisions, faulty) < BY_CHANCE:
        return f"right for the first {steps[0]} steps only"
    if (
        items[0]
        and len(items) > 1
        and (1 - items[0] / wrong.shape[1]) ** min(decisions, faulty) < BY_CHANCE
    ):
        return f"right for the first {items[0]} batch items only"
    if len(items) == 1 and wrong.shape[1] > 2 and wrong.shape[1] ** -float(faulty) < BY_CHANCE:
        return f"only batch item {items[0]} is wrong"
    hit_by_chance = count * (1 - (1 - 1 / count) ** decisions)
    if decisions >= 6 and faulty <= hit_by_chance / 2 and faulty <= count / 4:
        some = ", ".join(str(rows[n]) for n in neurons[:8])
        return f"only some neurons are wrong: {some}{' …' if faulty > 8 else ''}"
    return None
