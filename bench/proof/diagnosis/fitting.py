"""Measures how well a hypothesis explains a framework's numbers, and fits constants. NumPy only."""

from dataclasses import dataclass

import numpy as np

from snnbench.kernels.surrogates import derivative

from ..recurrence import from_threshold, lowest_threshold, run, run_backward
from .constants import Constant
from .hypotheses import Evidence, Hypothesis, Rounding


def wrong_decisions(h: Hypothesis, distance: float) -> np.ndarray:
    """Mask (T, B, N) of decisions that differ from the hypothesis's and are at least `distance`
    away from a threshold."""
    v, expected = run(h.spec, h.currents, h.spikes)
    return (expected != h.spikes) & (from_threshold(h.spec, v) >= distance)


def by_currents(e: Evidence, h: Hypothesis, cut: int = 0) -> np.ndarray:
    """Returns the gradient by the right currents (T, B, N), cut every `cut` steps."""
    v, _ = run(h.spec, h.currents, h.spikes)
    cut = cut or len(v)
    how, spec = h.backward, h.backward.spec or h.spec
    upstream = (e.upstream if how.upstream is None else how.upstream).astype(np.float64)
    slope = (
        derivative(spec, np)(v - spec.threshold) if how.slope is None else how.slope(v, h.spikes)
    )
    gradient = np.concatenate(
        [
            run_backward(spec, v[t], h.spikes[t], upstream[t], slope=slope[t], passing=how.passing)
            for t in (slice(t, t + cut) for t in range(0, len(v), cut))
        ]
    )
    return gradient if h.pull is None else h.pull(gradient)


def gradients_of(
    e: Evidence, h: Hypothesis, cut: int = 0, rounded: Rounding | None = None
) -> dict[str, np.ndarray]:
    """Returns the same gradients as the framework, cut every `cut` steps, with products of
    `rounded` factors."""
    gradient = by_currents(e, h, cut)
    if e.weight is None:
        return {"input": gradient}

    def short(array: np.ndarray) -> np.ndarray:
        return array if rounded is None else rounded(array).astype(np.float64)

    weight = e.weight.astype(np.float64)
    by_name = {
        "weight": lambda: np.tensordot(
            short(gradient), short(e.input.astype(np.float64)), axes=([0, 1], [0, 1])
        ),
        "bias": lambda: gradient.sum(axis=(0, 1)),
        "input": lambda: short(gradient) @ short(weight),
    }
    return {name: by_name[name]() for name in e.gradients}


def misfits(e: Evidence, gradients: dict[str, np.ndarray]) -> list[float]:
    """Returns relative errors of the framework's gradients, in units of their limits."""
    errors = []
    for name, right in gradients.items():
        allowed = e.limit.bias_gradient if name == "bias" else e.limit.gradient
        size = max(float(np.linalg.norm(right)), 1e-300)
        errors.append(float(np.linalg.norm(e.gradients[name] - right)) / size / allowed)
    return errors


def misfit_of(e: Evidence, h: Hypothesis, cut: int = 0, rounded: Rounding | None = None) -> float:
    """Returns the largest misfit of a hypothesis."""
    return max(misfits(e, gradients_of(e, h, cut, rounded)))


@dataclass(frozen=True)
class Fit:
    """Decisions still wrong at p; any value between low and high is as good; freedom is the
    logarithm of their ratio."""

    broken: int
    freedom: float
    p: float
    low: float
    high: float


def fit_decisions(e: Evidence, constant: Constant) -> Fit | None:
    """Returns the best p from any start; None if no value is better than the right one. Margins
    are almost linear in p: each decision bounds p on one side, and p goes where the fewest
    bounds are broken."""
    right, fits = constant.right(e), []
    fired = e.right.spikes.ravel() > 0
    for start in (right, *constant.starts):
        p, fit = start, None
        for _ in range(8):
            step = _step(constant, p)
            supposed = (constant.supposed(e, q) for q in (p, p + step))
            here, moved = (
                run(h.spec, h.currents, h.spikes)[0].ravel() - lowest_threshold(h.spec)
                for h in supposed
            )
            change = (moved - here) / step
            bounding = np.abs(change) > 1e-9
            if bounding.sum() < 2:
                break
            bounds, lower = (
                p - here[bounding] / change[bounding],
                fired[bounding] == (change[bounding] > 0),
            )
            broken, low, high = _fewest_broken(bounds, lower)
            low, high = (float(np.clip(q, constant.lowest, constant.highest)) for q in (low, high))
            if low <= right <= high:
                break
            near, far = sorted((abs(low - right), abs(high - right)))
            broken += int(np.count_nonzero(((here >= 0) != fired) & ~bounding))
            fit = Fit(broken, float(np.log(far / near)), (low + high) / 2, low, high)
            if abs(fit.p - p) <= 1e-9 * max(1, abs(p)):
                break
            p = fit.p
        fits += [fit] if fit else []
    return min(fits, key=lambda fit: (fit.broken, -fit.freedom), default=None)


def _fewest_broken(bounds: np.ndarray, lower: np.ndarray) -> tuple[int, float, float]:
    """Returns the least number of broken lower (mask) and upper bounds, of at least two, and the
    interval of that number."""
    order = np.argsort(bounds)
    broken = np.count_nonzero(lower) + np.cumsum(np.where(lower[order], -1, 1))
    index = int(np.argmin(broken[:-1]))
    return int(broken[index]), float(bounds[order[index]]), float(bounds[order[index + 1]])


def shortest(low: float, p: float, high: float) -> float:
    """Returns the number with the fewest digits between low and high: the evidence gives no
    more."""
    if low <= 0 <= high:
        return 0.0
    return next((q for digits in range(1, 8) if low <= (q := float(f"{p:.{digits}g}")) <= high), p)


def fit_gradients(e: Evidence, constant: Constant) -> tuple[float, float]:
    """Returns (misfit, p) of the best p by Gauss-Newton from the right value or, if that fails,
    from the best other start."""
    best = _newton(e, constant, constant.right(e))
    if best[0] > 1 and constant.starts:
        _, start = min((misfit_of(e, constant.supposed(e, p)), p) for p in constant.starts)
        best = min(best, _newton(e, constant, start))
    return best


def _newton(e: Evidence, constant: Constant, p: float) -> tuple[float, float]:
    best = (np.inf, p)
    for _ in range(8):
        step = _step(constant, p)
        here, moved = (gradients_of(e, constant.supposed(e, q)) for q in (p, p + step))
        best = min(best, (max(misfits(e, here)), p))
        up = down = 0.0
        for name, value in here.items():
            change = (moved[name] - value) / step / max(np.linalg.norm(value), 1e-300)
            up += np.vdot(change, e.gradients[name] - value) / max(np.linalg.norm(value), 1e-300)
            down += np.vdot(change, change)
        if not down:
            break
        far = abs(p) / 2 + 1
        q = float(
            np.clip(
                p + up / down, max(constant.lowest, p - far), min(constant.highest, p + 2 * far)
            )
        )
        if abs(q - p) <= 1e-10 * max(abs(p), 1e-3):
            break
        p = q
    return best


def _step(constant: Constant, p: float) -> float:
    """Returns a small change of p that stays in its domain."""
    step = 1e-6 * max(abs(p), 1e-2)
    return step if p + step <= constant.highest else -step
