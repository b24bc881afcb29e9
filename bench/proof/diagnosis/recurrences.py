"""Faults of the time loop: the right currents, and another rule for the potential. NumPy only."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ..recurrence import after_reset, risen, synaptic
from .hypotheses import Evidence, Hypothesis, currents_for

Change = Callable[[np.ndarray], np.ndarray]
"""Changes the potentials (B, N) of one step."""


def recurrences(e: Evidence) -> Iterator[tuple[str, Hypothesis]]:
    currents, spikes, threshold = e.right.currents, e.right.spikes, e.spec.threshold
    steps = len(currents)
    first_twice = currents.copy()
    first_twice[0] += e.spec.decay * currents[0]
    yield "the first step's current is used twice", e.suppose(currents=first_twice)
    without_first = currents.copy()
    without_first[0] = 0
    yield "the first step is left out", e.suppose(currents=without_first)
    yield (
        "the reset comes one step late",
        _traced(e, resets=np.concatenate([np.zeros_like(spikes[:1]), spikes[:-1]])),
    )
    yield "loses the input of the step after a spike: the potential is zero there", _loses_input(e)
    for least, words in ((0.0, "0"), (-threshold, f"{-threshold:g}")):
        yield (
            f"the potential is cut off below {words}",
            _traced(e, before=partial(np.maximum, least)),
        )
        yield (
            f"the potential is cut off below {words} after the reset",
            _traced(e, after=partial(np.maximum, least)),
        )
    if pause := _least_rest(spikes):
        yield (
            f"a neuron rests for {pause} step{'s' if pause > 1 else ''} after a spike (refractory)",
            _rests(e, pause),
        )
    for bits in range(1, 11):
        yield (
            f"the potential is kept in steps of 1/{2**bits}",
            _traced(e, before=partial(_in_steps, 2.0**bits), above=2 * e.limit.distance),
        )
    for every in (2, 3, 4, 5, 8, 10):
        if every < steps // 2:
            words = "second" if every == 2 else "third" if every == 3 else f"{every}th"
            yield (
                f"only every {words} step is computed",
                e.suppose(currents=currents[::every], spikes=spikes[::every]),
            )


def _in_steps(of: float, v: np.ndarray) -> np.ndarray:
    return np.round(v * of) / of


def _same(v: np.ndarray) -> np.ndarray:
    return v


def _traced(
    e: Evidence,
    before: Change = _same,
    after: Change = _same,
    resets: np.ndarray | None = None,
    above: float = 0.0,
) -> Hypothesis:
    """Returns a loop that changes the potential before its spike or after its reset, or resets
    on other spikes. Its potentials are raised by `above`: one on the threshold then fires, and
    is not left out as too near to tell."""
    resets = e.right.spikes if resets is None else resets
    v, rest, a = (
        np.empty_like(e.right.currents),
        np.zeros_like(e.right.currents[0]),
        risen(e.spec, e.right.spikes),
    )
    for t, current in enumerate(synaptic(e.spec, e.right.currents)):
        v[t] = before(e.spec.decay * rest + current) - a[t]
        rest = after(after_reset(e.spec, v[t], resets[t], a[t]))
    return e.suppose(currents=currents_for(e, v + above))


def _loses_input(e: Evidence) -> Hypothesis:
    """Returns a loop that resets to zero a step late, after the charge: v[t] = (decay·v[t−1] +
    x[t])·(1 − s[t−1])."""
    v, before = np.zeros_like(e.right.currents), np.zeros_like(e.right.currents[0])
    spikes, a = e.right.spikes, risen(e.spec, e.right.spikes)
    for t, current in enumerate(synaptic(e.spec, e.right.currents)):
        fired = spikes[t - 1] > 0 if t else np.zeros_like(before, dtype=bool)
        before = np.where(fired, 0.0, e.spec.decay * before + current)
        v[t] = before - a[t]
    return e.suppose(currents=currents_for(e, v))


def _least_rest(spikes: np.ndarray) -> int:
    """Returns the least number of silent steps between two spikes of a neuron, 0 if there are no
    two."""
    fired = spikes > 0
    together = ((fired[by:] & fired[:-by]).any() for by in range(1, len(fired)))
    return next((between for between, found in enumerate(together) if found), 0)


def _rests(e: Evidence, pause: int) -> Hypothesis:
    """Returns a loop with an unchanged potential that does not fire for `pause` steps after a
    spike."""
    v, rest = np.empty_like(e.right.currents), np.zeros_like(e.right.currents[0])
    spikes, shown_potentials, a = (
        e.right.spikes,
        np.empty_like(e.right.currents),
        risen(e.spec, e.right.spikes),
    )
    for t, current in enumerate(e.right.currents):
        v[t] = e.spec.decay * rest + current - a[t]
        resting = (spikes[max(0, t - pause) : t] > 0).any(axis=0)
        shown_potentials[t] = np.where(resting, np.minimum(v[t], 0), v[t])
        rest = after_reset(e.spec, v[t], spikes[t], a[t])
    return e.suppose(currents=currents_for(e, shown_potentials))
