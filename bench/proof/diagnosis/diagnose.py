"""Names what a rejected network does instead.

The forced oracle is run on networks with one fault each, and the fault that reproduces the framework's decisions
(or, where those are right, its gradients) is named if the right network does not. A fault with a constant is fitted:
every decision bounds the constant from one side, and gradients are smooth in it.
"""

from dataclasses import replace

import numpy as np

from .. import oracle
from .fitting import fit_decisions, fit_gradients, gradients_of, misfit_of, misfits, shortest, wrong_decisions
from .hypotheses import (
    CONSTANTS,
    ROUNDINGS,
    Constant,
    Evidence,
    Network,
    anywhere,
    attachments,
    reordered,
    roundings,
    slopes,
    structures,
)

FAR_BETTER, BETTER = 0.02, 0.3
"""Share of the right network's misfit that a fault may leave: computed exactly, and where rounding is only emulated."""
MOST_DECISIONS = 400_000
"""Larger problems are diagnosed on a part of their neurons, half of it wrong ones."""
FEW_DECISIONS = 6
"""Fewer wrong decisions than this are often explained by several constants."""
BY_CHANCE = 1e-4
"""Probability below which the places of wrong decisions are no accident."""


def diagnose(problem, borders, gradients, limit) -> str | None:
    """One sentence that names the fault in a rejected call, None if the evidence does not identify it.

    `borders` are the spikes (T, B, N) of every layer; `gradients` are None if the forward was already wrong.
    Of a stack the first layer with wrong decisions is looked at, and only its spikes.
    """
    if any(border.shape != problem.upstream.shape or not np.isfinite(border).all() for border in borders):
        return None
    if len(borders) > 1:
        return _of_stack(problem, borders, limit)
    return _of_layer(problem, borders[0], gradients, limit)


def _of_stack(problem, borders, limit) -> str | None:
    """Each layer is a network of its own, on the spikes that the framework's layer below gave it."""
    x, other = problem.input, problem.other_input
    for index, spikes in enumerate(borders):
        own = {"weights": problem.weights[index : index + 1], "biases": problem.biases[index : index + 1]}
        alone = replace(problem, input=x, other_input=other, **own)
        right = _misfit(alone, spikes, limit)
        if right:
            for j in range(len(borders)):
                exchanged = replace(alone, weights=problem.weights[j : j + 1], biases=problem.biases[j : j + 1])
                if j != index and _misfit(exchanged, spikes, limit) <= FAR_BETTER * right:
                    return f"layer {index + 1} has the weights of layer {j + 1}"
            named = _of_layer(alone, spikes, None, limit)
            return f"in layer {index + 1}: {named}" if named and index else named
        x, other = spikes, oracle.forward(alone, other)[0].expected
    return None


def _misfit(alone, spikes, limit) -> float:
    """Share of the decisions of a layer that are wrong."""
    rows = slice(None) if alone.rows is None else alone.rows
    network = Network(alone.spec, oracle.currents_of(alone, 0, alone.input)[:, :, rows], spikes[:, :, rows].astype(np.float64))
    return float(wrong_decisions(network, limit.distance).mean())


def _of_layer(problem, spikes, gradients, limit) -> str | None:
    rows = np.arange(problem.neurons) if problem.rows is None else problem.rows
    whole = _evidence(problem, spikes, gradients, limit, rows)
    wrong = wrong_decisions(whole.right, limit.distance)
    if wrong.any():
        if np.array_equal(spikes, problem.input):
            return "returns its input"
        if spikes.min() == spikes.max():
            return "fires at every step" if spikes.any() else "silent: no neuron ever fires"
    sample = _sampled(rows, wrong)
    part = whole if len(sample) == len(rows) else _evidence(problem, spikes, gradients, limit, sample)
    if wrong.any():
        return _of_decisions(part) or _place(wrong, rows) or _of_start(part)
    return None if gradients is None else _of_gradients(part)


def _evidence(problem, spikes, gradients, limit, rows) -> Evidence:
    """`problem` cut down to the neurons `rows`."""
    biases = [None if b is None else b[rows] for b in problem.biases]
    part = replace(problem, weights=[w[rows] for w in problem.weights], biases=biases, upstream=problem.upstream[:, :, rows])
    if not problem.weights:
        part = replace(part, input=problem.input[:, :, rows], other_input=problem.other_input[:, :, rows])
    right, other = (oracle.currents_of(part, 0, x) for x in (part.input, part.other_input))
    given = {}
    if gradients is not None:
        for name, arrays in (("weight", gradients.weights), ("bias", gradients.biases)):
            if arrays and arrays[0] is not None:
                given[name] = arrays[0][rows]
        if gradients.input is not None and not problem.weights:
            given["input"] = gradients.input[:, :, rows]
        elif gradients.input is not None and len(rows) == (problem.neurons if problem.rows is None else len(problem.rows)):
            given["input"] = gradients.input
    return Evidence(part, Network(problem.spec, right, spikes[:, :, rows].astype(np.float64)), other, limit, rows, given)


def _sampled(rows: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    count = max(2, MOST_DECISIONS // (wrong.shape[0] * wrong.shape[1]))
    if len(rows) <= count:
        return rows
    kinds = [kind for kind in (np.flatnonzero(wrong.any(axis=(0, 1))), np.arange(len(rows))) if len(kind)]
    return rows[np.unique([kind[i] for kind in kinds for i in np.linspace(0, len(kind) - 1, count // 2).astype(int)])]


# -- decisions --------------------------------------------------------------------------------------------------


def _of_decisions(e: Evidence) -> str | None:
    wrong = wrong_decisions(e.right, e.limit.distance)
    before = wrong.mean()

    def best(faults, distance=e.limit.distance):
        return _first_best([(wrong_decisions(network, distance).mean() / before, text) for *_, text, network in faults])

    for faults in (structures(e), reordered(e, wrong.any(axis=(0, 1)))):
        left, text = best(faults)
        if left <= FAR_BETTER:
            return text
    if e.given and (text := _of_gradients(e)):
        return text
    shorter = best(roundings(e), 0.0)  # potentials of a short format often lie exactly on the threshold
    perhaps = "perhaps " if np.count_nonzero(wrong) < FEW_DECISIONS else ""
    if shorter[0] <= FAR_BETTER:
        return perhaps + shorter[1]
    fits = [(fit, constant) for constant in CONSTANTS if (fit := fit_decisions(e, constant)) is not None]
    fits = [(fit, c) for fit, c in fits if wrong_decisions(c.network(e, fit.p), e.limit.distance).mean() <= FAR_BETTER * before]
    if fits:
        fit, constant = min(fits, key=lambda pair: (pair[0].broken, -pair[0].freedom))
        return (perhaps if len(fits) > 1 else "") + _told(e, constant, shortest(fit.low, fit.p, fit.high))
    return shorter[1] if shorter[0] <= BETTER else None


def _first_best(scores: list[tuple[float, str]]) -> tuple[float, str | None]:
    """The first of the best (misfit, text): later ones must be clearly better, for TF32 and fp16 can look alike."""
    lowest = min((score for score, _ in scores), default=np.inf)
    return next((pair for pair in scores if pair[0] <= 1.1 * lowest), (np.inf, None))


def _place(wrong: np.ndarray, rows: np.ndarray) -> str | None:
    """Where the wrong decisions are, if not all over the place."""
    steps, items, neurons = (np.flatnonzero(wrong.any(axis=axes)) for axes in ((1, 2), (0, 2), (0, 1)))
    count, faulty = len(rows), len(neurons)
    tail = count - neurons[0]
    if neurons[0] and faulty >= tail / 2 and (faulty == 1 or (tail / count) ** faulty < BY_CHANCE):
        return f"only the last neurons are wrong, from {rows[neurons[0]]} to {rows[-1]} (the tail of a tile?)"
    decisions = np.count_nonzero(wrong)
    if steps[0] and (1 - steps[0] / len(wrong)) ** min(decisions, faulty) < BY_CHANCE:
        return f"right for the first {steps[0]} steps only"
    if len(items) == 1 and wrong.shape[1] > 2 and wrong.shape[1] ** -float(faulty) < BY_CHANCE:
        return f"only batch item {items[0]} is wrong"
    hit_by_chance = count * (1 - (1 - 1 / count) ** decisions)
    if decisions >= 6 and faulty <= hit_by_chance / 2 and faulty <= count / 4:
        some = ", ".join(str(rows[n]) for n in neurons[:8])
        return f"only some neurons are wrong: {some}{' …' if faulty > 8 else ''}"
    return None


def _of_start(e: Evidence) -> str | None:
    """Last, for a start of its own for every trace explains much."""
    text, network = anywhere(e)
    before, after = (wrong_decisions(n, e.limit.distance).mean() for n in (e.right, network))
    return text if after <= FAR_BETTER * before else None


# -- gradients --------------------------------------------------------------------------------------------------


def _of_gradients(e: Evidence) -> str | None:
    right = gradients_of(e, e.right)
    if not right or any(e.given[name].shape != g.shape or not np.isfinite(e.given[name]).all() for name, g in right.items()):
        return None
    errors = misfits(e, right)
    before, steps, tried = max(errors), len(e.right.currents), []
    if before <= 1:
        return None
    if min(errors) > 1:  # a gradient by the currents that is wrong spoils all three
        cuts = [k for k in (*range(1, 65), 100, 128, 200, 250, 256, 500) if k < steps]
        tried += [(misfit_of(e, network), text) for text, network in attachments(e)]
        tried += [(misfit_of(e, e.right, cut=k), f"the gradient is cut every {k} steps") for k in cuts]
        slope, *others = slopes(e)
        for constants in ((), (slope, *CONSTANTS), others):
            fits = [(*fit_gradients(e, constant), constant) for constant in constants]
            tried += [(misfit, _told(e, constant, p, misfit)) for misfit, p, constant in fits]
            misfit, text = _first_best(tried)
            if misfit <= 1:
                return text
        if misfit <= FAR_BETTER * before:
            return text
    tried = [(misfit_of(e, e.right, rounded=short), f"multiplies in {name} in the backward") for name, short in ROUNDINGS.items()]
    for name, text, network in roundings(e):
        tried += [(misfit_of(e, network, rounded=ROUNDINGS[name]), text), (misfit_of(e, network), text)]
    misfit, text = _first_best(tried)
    return text if misfit <= BETTER * before else None


def _told(e: Evidence, constant: Constant, p: float, misfit: float | None = None) -> str:
    """The text with p, for a misfit of gradients with the fewest digits that are within what is allowed."""
    if misfit is not None and misfit <= 1:
        shorter = (float(f"{p:.{digits}g}") for digits in range(1, 7))
        p = next((q for q in shorter if q > constant.lowest and misfit_of(e, constant.network(e, q)) <= 1), p)
    return constant.text.format(p=f"{p:.6g}", right=f"{constant.right(e):.6g}")
