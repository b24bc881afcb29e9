"""Faults of the backward alone: decisions are right. NumPy only."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from snnbench.kernels.surrogates import derivative

from ..recurrence import Passing, after_reset, risen, run
from .constants import Constant
from .fitting import gradients_of, misfit_of, misfits
from .hypotheses import BackwardFault, Evidence, Hypothesis

MOST_LOST = 5
"""Most steps at either end that may lack their gradient."""


def backward_faults(e: Evidence) -> Iterator[tuple[str, Hypothesis]]:
    """Yields faults without a constant in the gradient by the currents, from which all others
    follow."""
    yield from _lost(e)
    for text, upstream in _upstreams(e.upstream.astype(np.float64)):
        yield text, e.suppose(backward=BackwardFault(upstream=upstream))
    surrogate, spec = derivative(e.spec, np), e.spec

    def after(v: np.ndarray, s: np.ndarray) -> np.ndarray:
        return surrogate(after_reset(spec, v, s, risen(spec, s)) - spec.threshold)

    def before(v: np.ndarray, s: np.ndarray) -> np.ndarray:
        return surrogate(np.concatenate([np.zeros_like(v[:1]), v[:-1]]) - spec.threshold)

    yield (
        "the surrogate is taken at the potential after the reset",
        e.suppose(backward=BackwardFault(slope=after)),
    )
    yield (
        "the surrogate is taken at the potential of the step before",
        e.suppose(backward=BackwardFault(slope=before)),
    )
    at_zero = BackwardFault(slope=lambda v, s: surrogate(v))
    yield (
        "the surrogate is taken at the potential itself, not at its distance from the threshold",
        e.suppose(backward=at_zero),
    )
    at_spikes = BackwardFault(slope=lambda v, s: surrogate(v - spec.threshold) * (s > 0))
    yield "the surrogate is used only where a spike was fired", e.suppose(backward=at_spikes)
    if spec.rounding is not None:
        for text, least in (
            ("gradients pass above the highest count", 0.0),
            ("gradients pass at every potential: the surrogate has no window", -np.inf),
        ):
            passing = BackwardFault(slope=partial(_passing_from, least, spec.threshold))
            yield text, e.suppose(backward=passing)


def _passing_from(least: float, threshold: float, v: np.ndarray, s: np.ndarray) -> np.ndarray:
    return (v >= least) / threshold


def _lost(e: Evidence) -> Iterator[tuple[str, Hypothesis]]:
    """Yields faults with missing steps or batch items."""
    steps, items = e.upstream.shape[:2]
    for count in range(1, min(MOST_LOST, steps - 1) + 1):
        many = "step" if count == 1 else f"{count} steps"
        for end, place in (("first", np.s_[:count]), ("last", np.s_[steps - count :])):
            yield (
                f"the gradient of the {end} {many} is lost",
                e.suppose(pull=partial(_without, place)),
            )
            upstream = _without(place, e.upstream)
            yield (
                f"the upstream gradient of the {end} {many} is lost",
                e.suppose(backward=BackwardFault(upstream=upstream)),
            )
    for count in range(1, items):
        many = "batch item" if count == 1 else f"{count} batch items"
        text = f"the gradient is that of the first {many} alone"
        without = partial(_without, np.s_[:, count:])
        yield text, e.suppose(pull=without)
        yield (
            f"{text}, scaled up to all",
            e.suppose(pull=lambda g, w=without, by=items / count: by * w(g)),
        )
    last = np.s_[:-1]
    yield "the gradient is that of the last step alone", e.suppose(pull=partial(_without, last))


def _without(place: Any, array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array[place] = 0
    return array


def _upstreams(upstream: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yields arrays that may replace the upstream gradient (T, B, N)."""
    yield "the upstream gradient is taken for ones", np.ones_like(upstream)
    yield "only the sign of the upstream gradient is used", np.sign(upstream)
    yield "the upstream gradient has the wrong sign", -upstream
    for least in (1e-3, 0.01, 0.05, 0.1, 0.5, 1.0):
        yield (
            f"upstream gradients below {least:g} are taken for zero",
            np.where(np.abs(upstream) < least, 0, upstream),
        )
    words = "the upstream gradient is taken for constant in"
    for axis, name in enumerate(("time", "the batch", "the neurons")):
        mean, first, last = (
            np.broadcast_to(np.asarray(value), upstream.shape)
            for value in (
                upstream.mean(axis=axis, keepdims=True),
                upstream.take([0], axis=axis),
                upstream.take([-1], axis=axis),
            )
        )
        yield f"{words} {name} (its mean)", mean
        yield f"{words} {name} (its first value)", first
        yield f"{words} {name} (its last value)", last
    yield "the upstream gradient is reversed in time", upstream[::-1]
    yield (
        "the upstream gradient comes one step late",
        np.concatenate([0 * upstream[:1], upstream[:-1]]),
    )
    yield (
        "the upstream gradient comes one step early",
        np.concatenate([upstream[1:], 0 * upstream[:1]]),
    )


def _with(
    backward: Callable[[Evidence, float], BackwardFault], e: Evidence, p: float
) -> Hypothesis:
    return e.suppose(backward=backward(e, p))


def _scaled_surrogate(e: Evidence, p: float) -> BackwardFault:
    surrogate, threshold = derivative(e.spec, np), e.spec.threshold
    return BackwardFault(slope=lambda v, s: p * surrogate(v - threshold))


BACKWARD_CONSTANTS = [
    Constant(
        "the gradient through the reset counts about {p} times",
        lambda e: 1.0,
        partial(_with, lambda e, p: BackwardFault(passing=Passing(p))),
    ),
    Constant(
        "the surrogate is multiplied by about {p}",
        lambda e: 1.0,
        partial(_with, _scaled_surrogate),
        (0.3, 3.0, -1.0),
    ),
    Constant(
        "the backward decays by about {p}, not {right}",
        lambda e: e.spec.decay,
        partial(_with, lambda e, p: BackwardFault(spec=replace(e.spec, decay=p))),
        (0.5, 0.99),
        1e-3,
        1.0,
    ),
    Constant(
        "about {p} is added to the upstream gradient",
        lambda e: 0.0,
        partial(_with, lambda e, p: BackwardFault(upstream=e.upstream.astype(np.float64) + p)),
    ),
    Constant(
        "upstream gradients are clamped to about ±{p}",
        lambda e: float(np.abs(e.upstream).max()),
        partial(
            _with,
            lambda e, p: BackwardFault(upstream=np.clip(e.upstream.astype(np.float64), -p, p)),
        ),
        (0.01, 0.1, 1.0),
        1e-9,
    ),
]
"""Constants of the backward: forward runs do not see them."""


def cut_off(e: Evidence) -> Iterator[tuple[float, str]]:
    """Yields (misfit, text) of a surrogate that is zero, or constant, far from the threshold.
    Gradients are not smooth in the distance, so that it is searched on ever finer grids."""
    surrogate, threshold = derivative(e.spec, np), e.spec.threshold

    def supposed(distance: float, outside: float) -> Hypothesis:
        def slope(v: np.ndarray, s: np.ndarray) -> np.ndarray:
            u = v - threshold
            return np.where(
                np.abs(u) <= distance, surrogate(u), outside * surrogate(np.full_like(u, distance))
            )

        return e.suppose(backward=BackwardFault(slope=slope))

    for outside, words in ((0.0, "zero"), (1.0, "constant")):
        grid, best = np.geomspace(1 / 32, 32, 41) * threshold, (np.inf, threshold)
        for _ in range(4):
            best = min(best, *((misfit_of(e, supposed(c, outside)), float(c)) for c in grid))
            near = grid[1] / grid[0]
            grid = best[1] * np.geomspace(1 / near, near, 13)
        misfit, distance = best
        shorter = (float(f"{distance:.{digits}g}") for digits in range(1, 5))
        distance = next(
            (c for c in shorter if misfit_of(e, supposed(c, outside)) <= max(1.0, misfit)), distance
        )
        yield (
            misfit,
            f"the surrogate is {words} where the potential is further than about {distance:.4g} "
            "from the threshold",
        )


def of_calls(e: Evidence, right: dict[str, np.ndarray]) -> Iterator[tuple[float, str]]:
    """Yields (misfit, text) of gradients that contain those of an earlier call on the other
    input."""
    spikes = run(e.spec, e.other_currents)[1]
    before = replace(
        e, input=e.other_input, right=e.suppose(currents=e.other_currents, spikes=spikes)
    )
    previous = gradients_of(before, before.right)
    yield max(misfits(e, previous)), "the gradients are those of the previous call"
    both = {name: right[name] + previous[name] for name in right}
    yield max(misfits(e, both)), "the gradients of the previous call are added"
