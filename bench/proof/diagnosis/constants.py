"""Faults of one number: a wrong constant of the neuron, or a share of something mixed in. NumPy
only."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from snnbench.kernels.spec import SURROGATES

from ..recurrence import Passing, before_synapse, run
from .hypotheses import BackwardFault, Evidence, Hypothesis, currents_for


@dataclass(frozen=True)
class Constant:
    """A fault of one number p between lowest and highest; the neuron is right at p = `right(e)`.
    `text` has the fields p and right. `starts` are further starts of the search."""

    text: str
    right: Callable[[Evidence], float]
    supposed: Callable[[Evidence, float], Hypothesis]
    starts: tuple[float, ...] = ()
    lowest: float = -np.inf
    highest: float = np.inf


def _spec_field(
    text: str, name: str, starts: tuple[float, ...], lowest: float, highest: float
) -> Constant:
    return Constant(
        text,
        lambda e: getattr(e.spec, name),
        lambda e, p: e.respecified(**{name: p}),
        starts,
        lowest,
        highest,
    )


def _mixing(
    text: str, axis: int, matrix: Callable[[int], np.ndarray], remaining: float
) -> Constant:
    """Currents c become c·(1 − p·(1 − remaining)) + p·(matrix c), the matrix acting on time
    (axis 0) or items (axis 1)."""

    def supposed(e: Evidence, p: float) -> Hypothesis:
        m = matrix(e.right.currents.shape[axis])
        m = (1 - p * (1 - remaining)) * np.eye(len(m)) + p * m
        return e.suppose(
            currents=_along(axis, m, e.right.currents),
            pull=lambda gradient: _along(axis, m.T, gradient),
        )

    return Constant(text, lambda e: 0.0, supposed, lowest=0.0, highest=1.0)


def _along(axis: int, matrix: np.ndarray, array: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.tensordot(matrix, array, axes=(1, axis)), 0, axis)


def _scaled(e: Evidence, p: float) -> Hypothesis:
    return e.suppose(currents=p * e.right.currents, pull=lambda gradient: p * gradient)


def _biased(e: Evidence, p: float) -> Hypothesis:
    return (
        e.right
        if e.bias is None
        else e.suppose(currents=e.right.currents + (p - 1) * e.bias.astype(np.float64))
    )


def _comparing(e: Evidence, p: float) -> Hypothesis:
    """Returns a neuron that compares with p and subtracts the right threshold: all its
    potentials are nearer to the threshold by the difference. Other resets do not use the
    threshold elsewhere."""
    if (
        not e.spec.reset.startswith("soft")
        or e.spec.adaptation is not None
        or e.spec.max_spikes > 1
        or e.spec.rounding is not None
    ):
        return e.right
    v, _ = run(e.spec, e.right.currents, e.right.spikes)
    return e.suppose(currents=currents_for(e, v + e.spec.threshold - p))


def _subtracting(e: Evidence, p: float) -> Hypothesis:
    """Returns a soft reset by p; other resets subtract nothing."""
    right = e.spec.subtracted
    if not e.spec.reset.startswith("soft"):
        return e.right
    added = np.zeros_like(e.right.currents)
    added[1:] = e.spec.decay * (right - p) * e.right.spikes[:-1]
    currents = e.right.currents + before_synapse(e.spec, added)
    return e.suppose(currents=currents, backward=BackwardFault(passing=Passing(p / right)))


MIXED: tuple[tuple[str, int, Callable[[int], np.ndarray]], ...] = (
    (
        "looks ahead: about {p} of the next step's current is mixed in",
        0,
        lambda count: np.eye(count, k=1),
    ),
    (
        "looks ahead: about {p} of the mean current of all steps is mixed in",
        0,
        lambda count: np.full((count, count), 1 / count),
    ),
    (
        "batch items mix: about {p} of the mean over the batch is mixed in",
        1,
        lambda count: np.full((count, count), 1 / count),
    ),
    (
        "batch items mix: about {p} of the previous item is mixed in",
        1,
        lambda count: np.roll(np.eye(count), 1, axis=0),
    ),
)
"""Words, axis and matrix of what may be mixed into the currents."""

CONSTANTS = [
    _spec_field(
        "the decay is about {p}, not {right}",
        "decay",
        (0.98, 0.9, 0.8, 0.65, 0.5, 0.3, 0.1),
        1e-3,
        1.0,
    ),
    _spec_field("the threshold is about {p}, not {right}", "threshold", (0.5, 2.0), 1e-3, 1e3),
    Constant(
        "potentials are compared with about {p}, not {right}, which is subtracted",
        lambda e: e.spec.threshold,
        _comparing,
        (0.5, 2.0),
    ),
    Constant("the potential starts at about {p}, not 0", lambda e: 0.0, lambda e, p: e.started(p)),
    Constant(
        "state is carried over from the previous call: about {p} of it",
        lambda e: 0.0,
        lambda e, p: e.started(p * e.previous()),
        lowest=0.0,
    ),
    Constant(
        "currents are multiplied by about {p}", lambda e: 1.0, _scaled, (0.0625, 0.5, 2.0, 16.0)
    ),
    Constant(
        "the reset subtracts about {p}, not {right}",
        lambda e: e.spec.subtracted,
        _subtracting,
        (0.5, 1.5),
    ),
    Constant("the bias is used about {p} times", lambda e: 1.0, _biased),
    *(
        _mixing(text, axis, matrix, remaining)
        for remaining in (1, 0)
        for text, axis, matrix in MIXED
    ),
]

SYNAPTIC = _spec_field(
    "the decay of the synaptic current is about {p}, not {right}",
    "current_decay",
    (0.9, 0.7, 0.5, 0.3, 0.1),
    1e-3,
    0.999,
)


ADAPTIVE = [
    _spec_field(
        "a spike adds about {p} to the threshold, not {right}",
        "adaptation",
        (0.01, 0.1, 1.0),
        1e-4,
        1e3,
    ),
    _spec_field(
        "the adaptation's decay is about {p}, not {right}",
        "adaptation_decay",
        (0.99, 0.9, 0.7, 0.5, 0.1),
        1e-3,
        0.9999,
    ),
]


COUPLED = [
    _spec_field(
        "a spike adds about {p} to the adaptation, not {right}",
        "adaptation",
        (0.01, 0.1, 1.0),
        1e-4,
        1e3,
    ),
    *ADAPTIVE[1:],
    _spec_field(
        "the adaptation follows about {p} of the potential, not {right}",
        "adaptation_coupling",
        (-0.1, 0.01, 0.1, 0.5),
        -1.0,
        1.0,
    ),
]


def constants_of(e: Evidence) -> list[Constant]:
    """Returns the faults of one number that the right neuron may have."""
    adaptive = ADAPTIVE if e.spec.threshold_adapts else []
    if e.spec.adaptation_coupling is not None:
        adaptive = COUPLED
    return [*([] if e.spec.current_decay is None else [SYNAPTIC]), *adaptive, *CONSTANTS]


SLOPES = tuple(float(k) for k in np.geomspace(0.1, 100, 25))


def slopes(e: Evidence) -> Iterator[Constant]:
    """Returns surrogates with their slopes, with the reset detached or attached: forward runs do
    not see them. Of a neuron that rounds there is one, its window's upper end."""
    if e.spec.rounding is not None:
        yield Constant(
            "gradients pass up to about {p} spikes, not {right}",
            lambda e: float(e.spec.max_spikes),
            _up_to,
            (0.5, 1.0, 2.0),
            0.1,
        )
        return
    for detached in (e.spec.detach_reset, not e.spec.detach_reset):
        also = (
            ""
            if detached == e.spec.detach_reset
            else f" and the reset is {'detached' if detached else 'attached'}"
        )
        for surrogate in SURROGATES:
            same = surrogate == e.spec.surrogate
            if same and not also:
                text = "the surrogate's slope is {p}, not {right}"
            else:
                text = (
                    f"the surrogate is {surrogate} with slope {{p}}, "
                    f"not {e.spec.surrogate} with slope {{right}}{also}"
                )
            yield Constant(
                text,
                lambda e: e.spec.slope,
                partial(_sloped, surrogate, detached),
                SLOPES,
                1e-3,
                1e4,
            )


def _sloped(surrogate: str, detached: bool, e: Evidence, p: float) -> Hypothesis:
    return e.respecified(surrogate=surrogate, detach_reset=detached, slope=p)


def _up_to(e: Evidence, p: float) -> Hypothesis:
    threshold = e.spec.threshold

    def slope(v: np.ndarray, s: np.ndarray) -> np.ndarray:
        return ((v >= 0) & (v <= p * threshold)) / threshold

    return e.suppose(backward=BackwardFault(slope=slope))
