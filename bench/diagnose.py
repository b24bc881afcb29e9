"""Names what a rejected network does instead.

The forced oracle is run on networks with one fault each, and the fault that reproduces the framework's decisions
(or, where those are right, its gradients) is named if the right network does not. A fault with a constant is fitted:
every decision bounds the constant from one side, and gradients are smooth in it.
"""

from dataclasses import dataclass, replace

import numpy as np

from . import oracle
from .faults import CONSTANTS, ROUNDINGS, Constant, Evidence, Network, attachments, reordered, roundings, slopes, structures

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
    Of a stack the first layer is looked at, and only its spikes.
    """
    spikes = borders[0]
    if spikes.shape != problem.upstream.shape or not np.isfinite(spikes).all():
        return None
    if len(borders) > 1:
        problem, gradients = replace(problem, weights=problem.weights[:1], biases=problem.biases[:1]), None
    rows = np.arange(problem.neurons) if problem.rows is None else problem.rows
    whole = _evidence(problem, spikes, gradients, limit, rows)
    wrong = _wrong(whole.right, limit.distance)
    if wrong.any():
        if np.array_equal(spikes, problem.input):
            return "returns its input"
        if spikes.min() == spikes.max():
            return "fires at every step" if spikes.any() else "silent: no neuron ever fires"
    sample = _sampled(rows, wrong)
    part = whole if len(sample) == len(rows) else _evidence(problem, spikes, gradients, limit, sample)
    if wrong.any():
        return _of_decisions(part) or _place(wrong, rows)
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
    return Evidence(part, Network(problem.spec, right, spikes[:, :, rows].astype(np.float64)), other, limit, given)


def _sampled(rows: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    count = max(2, MOST_DECISIONS // (wrong.shape[0] * wrong.shape[1]))
    if len(rows) <= count:
        return rows
    kinds = [kind for kind in (np.flatnonzero(wrong.any(axis=(0, 1))), np.arange(len(rows))) if len(kind)]
    return rows[np.unique([kind[i] for kind in kinds for i in np.linspace(0, len(kind) - 1, count // 2).astype(int)])]


# -- decisions --------------------------------------------------------------------------------------------------


def _margin(network: Network) -> tuple[np.ndarray, np.ndarray]:
    """How far each potential is above the threshold, and the spikes it calls for."""
    v, expected = oracle.run(network.spec, network.currents, network.spikes)
    return v - network.spec.threshold, expected


def _wrong(network: Network, distance: float) -> np.ndarray:
    """Where (T, B, N) a decision is not the network's and `distance` or more away from a threshold."""
    above, expected = _margin(network)
    spec = network.spec
    nearest = np.clip(np.round(above / spec.threshold), 0, spec.max_spikes - 1) * spec.threshold
    return (expected != network.spikes) & (np.abs(above - nearest) >= distance)


def _of_decisions(e: Evidence) -> str | None:
    wrong = _wrong(e.right, e.limit.distance)
    before = wrong.mean()

    def best(faults, distance=e.limit.distance):
        return _first_best([(_wrong(network, distance).mean() / before, text) for *_, text, network in faults])

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
    fits = [(fit, c) for fit, c in fits if _wrong(c.network(e, fit.p), e.limit.distance).mean() <= FAR_BETTER * before]
    if fits:
        fit, constant = min(fits, key=lambda pair: (pair[0].broken, -pair[0].freedom))
        return (perhaps if len(fits) > 1 else "") + _told(e, constant, _shortest(fit.low, fit.p, fit.high))
    return shorter[1] if shorter[0] <= BETTER else None


def _first_best(scores: list[tuple[float, str]]) -> tuple[float, str | None]:
    """The first of the best (misfit, text): later ones must be clearly better, for TF32 and fp16 can look alike."""
    lowest = min((score for score, _ in scores), default=np.inf)
    return next((pair for pair in scores if pair[0] <= 1.1 * lowest), (np.inf, None))


@dataclass(frozen=True)
class Fit:
    """Decisions still wrong at p; any value between low and high does as well; freedom is the logarithm of how far apart."""

    broken: int
    freedom: float
    p: float
    low: float
    high: float


def fit_decisions(e: Evidence, constant: Constant) -> Fit | None:
    """The best p from any start; None if no value is better than the right one.

    Margins are linear in p near enough: each decision then bounds p on one side, and p goes where fewest are broken.
    """
    right, fits = constant.right(e), []
    fired = e.right.spikes.ravel() > 0
    for start in (right, *constant.starts):
        p, fit = start, None
        for _ in range(8):
            step = _step(constant, p)
            here, moved = (_margin(constant.network(e, q))[0].ravel() for q in (p, p + step))
            change = (moved - here) / step
            bounding = np.abs(change) > 1e-9
            if bounding.sum() < 2:
                break
            bounds, lower = p - here[bounding] / change[bounding], fired[bounding] == (change[bounding] > 0)
            broken, low, high = _fewest_broken(bounds, lower)
            low, high = (float(np.clip(q, constant.lowest, constant.highest)) for q in (low, high))
            if low <= right <= high:
                break
            near, far = sorted((abs(low - right), abs(high - right)))
            broken += np.count_nonzero(((here >= 0) != fired) & ~bounding)
            fit = Fit(broken, float(np.log(far / near)), (low + high) / 2, low, high)
            if abs(fit.p - p) <= 1e-9 * max(1, abs(p)):
                break
            p = fit.p
        fits += [fit] if fit else []
    return min(fits, key=lambda fit: (fit.broken, -fit.freedom), default=None)


def _step(constant: Constant, p: float) -> float:
    """A small change of p that stays in its domain."""
    step = 1e-6 * max(abs(p), 1e-2)
    return step if p + step <= constant.highest else -step


def _shortest(low: float, p: float, high: float) -> float:
    """The number with the fewest digits between low and high: more of them the evidence does not give."""
    if low <= 0 <= high:
        return 0.0
    return next((q for digits in range(1, 8) if low <= (q := float(f"{p:.{digits}g}")) <= high), p)


def _fewest_broken(bounds: np.ndarray, lower: np.ndarray) -> tuple[int, float, float]:
    """How many lower (mask) and upper of at least two bounds are broken at the fewest, and the interval where."""
    order = np.argsort(bounds)
    broken = np.count_nonzero(lower) + np.cumsum(np.where(lower[order], -1, 1))
    index = int(np.argmin(broken[:-1]))
    return int(broken[index]), float(bounds[order[index]]), float(bounds[order[index + 1]])


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
    if (steps[-1] + 1) / len(wrong) < 0.5 and ((steps[-1] + 1) / len(wrong)) ** faulty < BY_CHANCE:
        return f"only the first {steps[-1] + 1} steps are wrong: not started from rest?"
    return None


# -- gradients --------------------------------------------------------------------------------------------------


def _gradients(e: Evidence, network: Network, cut: int = 0, rounded=None) -> dict[str, np.ndarray]:
    """Those gradients of a network that the framework gave too; cut every `cut` steps, products of `rounded` factors."""
    v, _ = oracle.run(network.spec, network.currents, network.spikes)
    cut = cut or len(v)
    pieces = [slice(t, t + cut) for t in range(0, len(v), cut)]
    upstream = e.problem.upstream.astype(np.float64)
    by_current = [oracle.run_backward(network.spec, v[t], network.spikes[t], upstream[t]) for t in pieces]
    gradient = np.concatenate(by_current)
    gradient = gradient if network.pull is None else network.pull(gradient)
    if not e.problem.weights:
        return {"input": gradient}
    short = (lambda array: array) if rounded is None else (lambda array: rounded(array).astype(np.float64))
    found = {
        "weight": lambda: np.tensordot(short(gradient), short(e.problem.input.astype(np.float64)), axes=([0, 1], [0, 1])),
        "bias": lambda: gradient.sum(axis=(0, 1)),
        "input": lambda: short(gradient) @ short(e.problem.weights[0].astype(np.float64)),
    }
    return {name: found[name]() for name in e.given}


def _misfits(e: Evidence, gradients: dict[str, np.ndarray]) -> list[float]:
    """Relative errors of the framework's gradients, in units of what is allowed."""
    allowed = {"bias": e.limit.bias_gradient}
    return [
        float(np.linalg.norm(e.given[name] - right) / max(np.linalg.norm(right), 1e-300) / allowed.get(name, e.limit.gradient))
        for name, right in gradients.items()
    ]


def _misfit(e: Evidence, network: Network, **how) -> float:
    return max(_misfits(e, _gradients(e, network, **how)))


def _of_gradients(e: Evidence) -> str | None:
    right = _gradients(e, e.right)
    if not right or any(e.given[name].shape != g.shape or not np.isfinite(e.given[name]).all() for name, g in right.items()):
        return None
    misfits = _misfits(e, right)
    before, steps = max(misfits), len(e.right.currents)
    enough = max(1.0, FAR_BETTER * before)
    if before <= 1:
        return None
    if min(misfits) > 1:  # a gradient by the currents that is wrong spoils all three
        cuts = [k for k in (*range(1, 65), 100, 128, 200, 250, 256, 500) if k < steps]
        scores = [(_misfit(e, network), text) for text, network in attachments(e)]
        scores += [(_misfit(e, e.right, cut=k), f"the gradient is cut every {k} steps") for k in cuts]
        misfit, text = _first_best(scores)
        if misfit <= enough:
            return text
        fits = [(*fit_gradients(e, constant), constant) for constant in (*slopes(e), *CONSTANTS)]
        misfit, p, constant = min(fits, key=lambda fit: fit[0])
        if misfit <= enough:
            return _told(e, constant, p)
    backward = "multiplies in {} in the backward"
    scores = [(_misfit(e, e.right, rounded=rounded), backward.format(name)) for name, rounded in ROUNDINGS.items()]
    for name, text, network in roundings(e):
        scores += [(_misfit(e, network, rounded=ROUNDINGS[name]), text), (_misfit(e, network), text)]
    misfit, text = _first_best(scores)
    return text if misfit <= BETTER * before else None


def fit_gradients(e: Evidence, constant: Constant) -> tuple[float, float]:
    """(misfit, p) of the best p: Gauss-Newton from the better of the right value and the best of the other starts."""
    tried = [(_misfit(e, constant.network(e, p)), p) for p in (constant.right(e), *constant.starts)]
    best = min(tried)
    for _, p in {tried[0], best}:
        for _ in range(8):
            step = _step(constant, p)
            here, moved = (_gradients(e, constant.network(e, q)) for q in (p, p + step))
            best = min(best, (max(_misfits(e, here)), p))
            up = down = 0.0
            for name, value in here.items():
                weight = 1 / max(np.vdot(value, value), 1e-300)
                change = (moved[name] - value) / step
                up += weight * np.vdot(change, e.given[name] - value)
                down += weight * np.vdot(change, change)
            if not down:
                break
            q = float(np.clip(p + up / down, max(constant.lowest, p - abs(p) / 2 - 1), min(constant.highest, p + abs(p) + 1)))
            if abs(q - p) <= 1e-10 * max(abs(p), 1e-3):
                break
            p = q
    return best


def _told(e: Evidence, constant: Constant, p: float) -> str:
    return constant.text.format(p=f"{p:.6g}", right=f"{constant.right(e):.6g}")
