"""The faults that a rejected network is tested for: each is the right network with one thing wrong. NumPy only.

Faults are tables of names with the network they stand for; `diagnose` runs the forced oracle on it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from snnbench.kernels.spec import RESETS, SURROGATES, NeuronSpec

from .. import oracle
from ..rounding import round_to

MANY = 2**20
"""More spikes a step than any neuron fires."""


@dataclass(frozen=True)
class Network:
    """One layer under some hypothesis: currents and the framework's spikes, (T, B, N), in the order it computes them.

    `pull` maps the gradient by these currents to the gradient by the right ones.
    """

    spec: NeuronSpec
    currents: np.ndarray
    spikes: np.ndarray
    pull: Callable[[np.ndarray], np.ndarray] | None = None


@dataclass
class Evidence:
    """The right network on a problem of one layer cut down to some neurons, and the gradients the framework gave."""

    problem: object
    right: Network
    other_currents: np.ndarray
    limit: object
    neurons: np.ndarray
    given: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def spec(self) -> NeuronSpec:
        return self.right.spec

    def network(self, currents=None, spikes=None, pull=None, **changes) -> Network:
        """The right network with other currents, spikes or fields of its spec."""
        right = self.right
        currents, spikes = (right.currents if currents is None else currents), (right.spikes if spikes is None else spikes)
        return Network(replace(right.spec, **changes), currents, spikes, pull)

    def started(self, after: np.ndarray | float) -> Network:
        """The network whose potential after the (missing) step −1 is `after`."""
        currents = self.right.currents.copy()
        currents[0] += self.spec.decay * after
        return self.network(currents)

    def previous(self) -> np.ndarray:
        """The potential (B, N) after the last step of a call on the other input."""
        longer = np.concatenate([self.other_currents, np.zeros_like(self.other_currents[:1])])
        return oracle.run(self.spec, longer)[0][-1] / self.spec.decay

    def bias(self) -> np.ndarray | float:
        biases = self.problem.biases
        return 0.0 if not biases or biases[0] is None else biases[0].astype(np.float64)


# -- structure: texts and networks ------------------------------------------------------------------------------


def structures(e: Evidence) -> Iterator[tuple[str, Network]]:
    currents, spikes, spec = e.right.currents, e.right.spikes, e.spec
    steps, items, count = currents.shape
    yield "one step late", e.network(currents[:-1], spikes[1:])
    first = oracle.run(spec, currents[:1])[1]
    yield "one step early: looks ahead", e.network(currents, np.concatenate([first, spikes[:-1]]))
    yield "time is reversed", e.network(currents[::-1], spikes[::-1])
    yield "pointwise: no memory between steps", e.network(*(a.reshape(1, -1, count) for a in (currents, spikes)))
    if items > 1:
        yield "the batch axis is scanned as time", e.network(*(a.transpose(1, 0, 2) for a in (currents, spikes)))
        mixed = (a.reshape(items, steps, count).transpose(1, 0, 2) for a in (currents, spikes))
        yield "time and batch are reshaped where they should be transposed", e.network(*mixed)
    yield "the first answer is returned again: this is the output for the previous input", e.network(e.other_currents)
    for reset in RESETS:
        # `hard-straight` differs from `hard` in the gradient only.
        if reset != "hard-straight" and reset != spec.reset.removesuffix("-straight"):
            yield f"resets like `{reset}`, not `{spec.reset}`", e.network(reset=reset)
    if spec.max_spikes > 1:
        yield "fires at most one spike a step", e.network(max_spikes=1)
        yield f"fires more than {spec.max_spikes} spikes a step", e.network(max_spikes=MANY)
    else:
        yield "fires several spikes a step", e.network(max_spikes=MANY)
        if spec.reset.startswith("soft"):
            yield "fires several spikes a step inside and hands out one (clipped)", _clipped(e)


def _clipped(e: Evidence) -> Network:
    """Counts are hidden in the reset: each is settled once those before it are. Written as currents of a 0/1 network."""
    spec, shown = e.spec, e.right.spikes
    counts = shown
    for _ in shown:
        v = oracle.run(spec, e.right.currents, counts)[0]
        settled = shown * np.maximum(1, np.floor(v / spec.threshold))
        if np.array_equal(settled, counts):
            break
        counts = settled
    return e.network(_currents_for(e, v))


def _currents_for(e: Evidence, v: np.ndarray) -> np.ndarray:
    """The currents with which the right network has the potentials v on the framework's spikes."""
    currents = v.copy()
    currents[1:] -= e.spec.decay * _after(e.spec, v, e.right.spikes)[:-1]
    return currents


def _after(spec: NeuronSpec, v: np.ndarray, spikes: np.ndarray) -> np.ndarray:
    """Potentials after the reset: one step of the oracle from v, without current, gives them decayed."""
    pairs = np.stack([v, np.zeros_like(v)])
    return oracle.run(spec, pairs, np.stack([spikes, spikes]))[0][1] / spec.decay


def reordered(e: Evidence, wrong: np.ndarray) -> Iterator[tuple[str, Network]]:
    """Neurons with wrong decisions (a mask) may be others: those whose free spikes are nearest to theirs."""
    free = oracle.run(e.spec, e.right.currents)[1].reshape(-1, len(wrong))
    seen = e.right.spikes.reshape(-1, len(wrong))[:, wrong]
    apart = (seen**2).sum(0)[:, None] + (free**2).sum(0) - 2 * seen.T @ free
    apart[:, ~wrong] += 0.5  # among silent neurons rather one that is missing elsewhere
    order = np.arange(len(wrong))
    order[wrong] = apart.argmin(axis=1)
    moved = np.flatnonzero(order != np.arange(len(order)))
    if len(moved) and free[:, order[moved]].any(axis=0).mean() >= 0.5:  # any network that hardly fires is like silent neurons
        first, other = e.neurons[moved[0]], e.neurons[order[moved[0]]]
        swapped = len(moved) == 2 and order[order[moved[0]]] == moved[0]
        text = f"neurons are in another order: {first} gives what {other} should"
        yield f"neurons {first} and {other} are swapped" if swapped else text, e.network(e.right.currents[:, :, order])


def anywhere(e: Evidence) -> tuple[str, Network]:
    """Each item's neurons may start from potentials of their own: from the least that its decisions leave."""
    step = 1e-6
    here, moved = (oracle.run(e.spec, e.started(p).currents, e.right.spikes)[0] for p in (0.0, step))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # where the network overflowed
        bounds = (e.spec.threshold - here) * step / (moved - here)
    low = np.where(e.right.spikes > 0, bounds, -np.inf).max(axis=0)
    high = np.where(e.right.spikes > 0, np.inf, bounds).min(axis=0)
    start = np.where(low > 0, low + 1e-6, np.where(high < 0, high - 1e-6, 0.0))
    return "not started from rest", e.started(np.nan_to_num(start))


# -- rounding: texts and networks -------------------------------------------------------------------------------


def truncated(array: np.ndarray) -> np.ndarray:
    """float32 numbers cut, not rounded, to TF32's ten mantissa bits: what its multipliers do with the rest."""
    return (np.ascontiguousarray(array, np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


ROUNDINGS = {
    "TF32": lambda array: round_to(array, "tf32"),
    "TF32 (cut)": truncated,
    "bf16": lambda array: round_to(array, "bf16"),
    "fp16": lambda array: round_to(array, "fp16"),
}


def roundings(e: Evidence) -> Iterator[tuple[str, str, Network]]:
    """Names of the format with the texts and networks."""
    for name, rounded in ROUNDINGS.items():
        currents = e.right.currents
        if e.problem.weights:
            problem = replace(e.problem, weights=[rounded(w) for w in e.problem.weights])
            currents = oracle.currents_of(problem, 0, rounded(e.problem.input))
            yield name, f"multiplies in {name}", e.network(currents)
        if name in ("bf16", "fp16"):
            yield name, f"computes in {name} inside", e.network(_rounded_run(e, currents, rounded))
            yield name, f"keeps its potential in {name}", e.network(_rounded_run(e, e.right.currents, rounded))


def _rounded_run(e: Evidence, currents: np.ndarray, rounded) -> np.ndarray:
    """The currents that give the right network the potentials of a loop that rounds after every operation."""
    v, after = np.empty_like(currents), np.zeros_like(currents[0])
    for t, current in enumerate(currents):
        v[t] = rounded(rounded(e.spec.decay * after) + rounded(current))
        after = rounded(_after(e.spec, v[t], e.right.spikes[t]))
    return _currents_for(e, v)


# -- constants --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant:
    """A fault of one number p between lowest and highest; the network is right at p = `right(e)`.

    `text` has the fields p and right. `starts` are where else to begin looking than at the right value.
    """

    text: str
    right: Callable[[Evidence], float]
    network: Callable[[Evidence, float], Network]
    starts: tuple[float, ...] = ()
    lowest: float = -np.inf
    highest: float = np.inf


def _spec_field(text: str, name: str, starts: tuple, lowest: float, highest: float) -> Constant:
    return Constant(text, lambda e: getattr(e.spec, name), lambda e, p: e.network(**{name: p}), starts, lowest, highest)


def _mixing(text: str, axis: int, matrix: Callable[[int], np.ndarray], kept: float) -> Constant:
    """Currents c become c·(1 − p·(1 − kept)) + p·(matrix c), the matrix acting on time (axis 0) or items (axis 1)."""

    def network(e: Evidence, p: float) -> Network:
        m = matrix(e.right.currents.shape[axis])
        m = (1 - p * (1 - kept)) * np.eye(len(m)) + p * m
        return e.network(_along(axis, m, e.right.currents), pull=lambda gradient: _along(axis, m.T, gradient))

    return Constant(text, lambda e: 0.0, network, lowest=0.0, highest=1.0)


def _along(axis: int, matrix: np.ndarray, array: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.tensordot(matrix, array, axes=(1, axis)), 0, axis)


def _scaled(e: Evidence, p: float) -> Network:
    return e.network(p * e.right.currents, pull=lambda gradient: p * gradient)


def _next(count: int) -> np.ndarray:
    return np.eye(count, k=1)


def _mean(count: int) -> np.ndarray:
    return np.full((count, count), 1 / count)


def _neighbour(count: int) -> np.ndarray:
    return np.roll(np.eye(count), 1, axis=0)


CONSTANTS = [
    _spec_field("the decay is about {p}, not {right}", "decay", (0.98, 0.9, 0.8, 0.65, 0.5, 0.3, 0.1), 1e-3, 1.0),
    _spec_field("the threshold is about {p}, not {right}", "threshold", (0.5, 2.0), 1e-3, 1e3),
    Constant("the potential starts at about {p}, not 0", lambda e: 0.0, lambda e, p: e.started(p)),
    Constant(
        "state is carried over from the previous call: about {p} of it",
        lambda e: 0.0,
        lambda e, p: e.started(p * e.previous()),
        lowest=0.0,
    ),
    Constant("currents are multiplied by about {p}", lambda e: 1.0, _scaled, (0.0625, 0.5, 2.0, 16.0)),
    Constant("the bias is used about {p} times", lambda e: 1.0, lambda e, p: e.network(e.right.currents + (p - 1) * e.bias())),
    *(
        constant
        for kept in (1, 0)
        for constant in (
            _mixing("looks ahead: about {p} of the next step's current is mixed in", 0, _next, kept),
            _mixing("looks ahead: about {p} of the mean current of all steps is mixed in", 0, _mean, kept),
            _mixing("batch items mix: about {p} of the mean over the batch is mixed in", 1, _mean, kept),
            _mixing("batch items mix: about {p} of the previous item is mixed in", 1, _neighbour, kept),
        )
    ),
]

SLOPES = tuple(float(k) for k in np.geomspace(0.1, 100, 25))


def slopes(e: Evidence) -> Iterator[Constant]:
    """Surrogates with their slopes, and with the reset detached or attached: forward runs do not see them."""
    for detached in (e.spec.detach_reset, not e.spec.detach_reset):
        also = "" if detached == e.spec.detach_reset else f" and the reset is {'detached' if detached else 'attached'}"
        for surrogate in SURROGATES:
            same = surrogate == e.spec.surrogate
            if same and not also:
                text = "the surrogate's slope is {p}, not {right}"
            else:
                text = f"the surrogate is {surrogate} with slope {{p}}, not {e.spec.surrogate} with slope {{right}}{also}"
            change = {"surrogate": surrogate, "detach_reset": detached}
            yield Constant(text, _slope, lambda e, p, change=change: e.network(slope=p, **change), SLOPES, 1e-3, 1e4)


def _slope(e: Evidence) -> float:
    return e.spec.slope


def attachments(e: Evidence) -> Iterator[tuple[str, Network]]:
    """Forward runs do not see these either."""
    detached = e.spec.detach_reset
    now, should = ("attached", "detached") if detached else ("detached", "attached")
    yield f"the reset is {now} where it should be {should}", e.network(detach_reset=not detached)
    for reset in ("hard", "hard-straight"):
        if e.spec.reset.startswith("hard") and reset != e.spec.reset:
            yield f"the gradient through the reset is that of `{reset}`, not `{e.spec.reset}`", e.network(reset=reset)
