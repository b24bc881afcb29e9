"""Faults that are tested on a rejected network: each is the right neuron with one thing wrong.

Faults are tables of names with their hypotheses; `diagnose` runs the forced recurrence on them.
NumPy only.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from snnbench.kernels.spec import RESETS, NeuronSpec

from ..limits import Limits
from ..recurrence import (
    ONCE,
    Passing,
    adapted,
    after_reset,
    before_synapse,
    risen,
    run,
    synaptic,
)
from ..rounding import round_to

MANY = 2**20
"""More spikes a step than any neuron fires."""


class OtherReset(str):
    """The name of a fault: a reset that is detached and should not be, or the other way round."""


@dataclass(frozen=True)
class BackwardFault:
    """Differences between a backward and its forward; None: as in the forward. `slope` is the
    surrogate's derivative as a function of potentials before the spike and spikes."""

    spec: NeuronSpec | None = None
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    upstream: np.ndarray | None = None
    passing: Passing = ONCE


@dataclass(frozen=True)
class Hypothesis:
    """One neuron with a fault: currents and the framework's spikes, (T, B, N), in the order of
    its computation. `pull` maps the gradient by these currents to the gradient by the right
    ones."""

    spec: NeuronSpec
    currents: np.ndarray
    spikes: np.ndarray
    pull: Callable[[np.ndarray], np.ndarray] | None = None
    backward: BackwardFault = BackwardFault()


@dataclass
class Evidence:
    """The right neuron, cut down to some of its features, and the framework's numbers there.
    `input`, `weight` (N, K) and `bias` are those of the linear before it; without one (None) the
    input is the currents. `gradients` are the framework's by name (weight, bias, input), none
    where they are not judged."""

    right: Hypothesis
    input: np.ndarray
    other_input: np.ndarray
    other_currents: np.ndarray
    upstream: np.ndarray
    limit: Limits
    neurons: np.ndarray
    weight: np.ndarray | None
    bias: np.ndarray | None
    gradients: dict[str, np.ndarray]

    @property
    def spec(self) -> NeuronSpec:
        return self.right.spec

    def suppose(self, **changes: Any) -> Hypothesis:
        """Returns the right neuron with other currents or spikes, by the fields of `Hypothesis`."""
        return replace(self.right, **changes)

    def respecified(self, **changes: Any) -> Hypothesis:
        """Returns the right neuron with other equations, by the fields of `NeuronSpec`."""
        return replace(self.right, spec=replace(self.spec, **changes))

    def started(self, after: np.ndarray | float) -> Hypothesis:
        """Returns the neuron with the potential `after` behind the (missing) step −1."""
        added = np.zeros_like(self.right.currents)
        added[0] = self.spec.decay * after
        return self.suppose(currents=self.right.currents + before_synapse(self.spec, added))

    def previous(self) -> np.ndarray:
        """Returns the potential (B, N) after the last step of a call on the other input."""
        v, spikes = run(self.spec, self.other_currents)
        return after_reset(self.spec, v[-1], spikes[-1], risen(self.spec, spikes)[-1])


def structures(e: Evidence) -> Iterator[tuple[str, Hypothesis]]:
    currents, spikes, spec = e.right.currents, e.right.spikes, e.spec
    steps, items, count = currents.shape
    yield "one step late", e.suppose(currents=currents[:-1], spikes=spikes[1:])
    first = run(spec, currents[:1])[1]
    yield "one step early: looks ahead", e.suppose(spikes=np.concatenate([first, spikes[:-1]]))
    yield "time is reversed", e.suppose(currents=currents[::-1], spikes=spikes[::-1])
    rows = [a.reshape(1, -1, count) for a in (currents, spikes)]
    yield "pointwise: no memory between steps", e.suppose(currents=rows[0], spikes=rows[1])
    if items > 1:
        scanned = [a.transpose(1, 0, 2) for a in (currents, spikes)]
        yield "the batch axis is scanned as time", e.suppose(currents=scanned[0], spikes=scanned[1])
        mixed = [a.reshape(items, steps, count).transpose(1, 0, 2) for a in (currents, spikes)]
        yield (
            "time and batch are reshaped where they should be transposed",
            e.suppose(currents=mixed[0], spikes=mixed[1]),
        )
    yield (
        "the first answer is returned again: this is the output for the previous input",
        e.suppose(currents=e.other_currents),
    )
    for reset in RESETS:
        if reset in _other_resets(spec):
            yield f"resets like `{reset}`, not `{spec.reset}`", e.respecified(reset=reset)
    if spec.current_decay is not None:
        yield (
            "has no synaptic current: currents act for one step",
            e.respecified(current_decay=None),
        )
        yield "a spike clears the synaptic current too", e.suppose(currents=_cleared(e))
        if spec.decay < 1:
            swapped = e.respecified(decay=spec.current_decay, current_decay=spec.decay)
            yield "the decays of potential and synaptic current are swapped", swapped
    if spec.adaptation_coupling is not None:
        yield "its adaptation is missing", e.respecified(**FIXED)
        yield "its adaptation comes one step late", _following(e, late=True)
        yield (
            "its adaptation follows the potential after the reset",
            _following(e, after=True),
        )
        yield "its threshold adapts, not its current", e.respecified(adaptation_coupling=None)
        yield (
            "its adaptation does not follow the potential",
            e.respecified(adaptation_coupling=0.0),
        )
    if spec.threshold_adapts:
        yield "its threshold does not adapt", e.respecified(**FIXED)
        a = risen(spec, spikes)
        late = np.concatenate([np.zeros_like(a[:1]), a[:-1]])
        yield "its threshold adapts one step late", _adapting(e, late, late)
        if spec.reset.startswith("soft"):
            yield (
                "the reset subtracts the threshold at rest, not the adapted one",
                _adapting(e, a, np.zeros_like(a)),
            )
    if spec.max_spikes > 1:
        yield "fires at most one spike a step", e.respecified(max_spikes=1)
        yield f"fires more than {spec.max_spikes} spikes a step", e.respecified(max_spikes=MANY)
        if spec.reset.startswith("soft"):
            v = run(spec, currents, np.minimum(spikes, 1))[0]
            yield (
                "the reset subtracts one spike, not their count",
                e.suppose(currents=currents_for(e, v)),
            )
    elif spec.adaptation is None and spec.rounding is None:
        yield "fires several spikes a step", e.respecified(max_spikes=MANY)
        if spec.reset.startswith("soft"):
            yield "fires several spikes a step inside and hands out one (clipped)", _clipped(e)

    if spec.rounding is not None:
        plain = spec.reset if spec.decay else "none"
        yield (
            "counts are rounded down, not to the nearest",
            e.respecified(rounding=None, reset=plain),
        )


def _other_resets(spec: NeuronSpec) -> set[str]:
    """Returns the resets that a neuron may have in place of its own; `hard-straight` differs from
    `hard` in the gradient only."""
    if spec.decay == 0:
        return set()
    resets = {*RESETS} if spec.rounding is None else {"soft", "none"}
    return resets - {"hard-straight", spec.reset.removesuffix("-straight")}


FIXED: dict[str, Any] = dict.fromkeys(("adaptation", "adaptation_decay", "adaptation_coupling"))
"""Fields of a neuron that does not adapt."""


def _following(e: Evidence, late: bool = False, after: bool = False) -> Hypothesis:
    """Returns a neuron with an adaptation current that comes one step late, or follows the
    potential after the reset."""
    spec, spikes, v = e.spec, e.right.spikes, np.zeros_like(e.right.currents)
    rests, a = np.zeros_like(v), np.zeros_like(v)
    for t, current in enumerate(e.right.currents):
        if t:
            a[t] = (spec.adaptation_decay or 0.0) * a[t - 1] + (spec.adaptation or 0.0) * spikes[
                t - 1
            ]
            a[t] += (spec.adaptation_coupling or 0.0) * (rests if after else v)[t - 1]
        v[t] = spec.decay * (rests[t - 1] if t else 0.0) + current
        v[t] -= a[t] if not late else a[t - 1] if t else 0.0
        rests[t] = after_reset(spec, v[t], spikes[t], np.zeros_like(v[t]))
    return e.suppose(currents=currents_for(e, v))


def _adapting(e: Evidence, a: np.ndarray, in_reset: np.ndarray) -> Hypothesis:
    """Returns a neuron with a threshold that has risen by a (T, B, N), and by `in_reset` where a
    reset subtracts it."""
    v, rest, s = np.empty_like(a), np.zeros_like(a[0]), e.right.spikes
    for t, current in enumerate(e.right.currents):
        v[t] = e.spec.decay * rest + current
        rest = after_reset(e.spec, v[t] - in_reset[t], s[t], in_reset[t])
    return e.suppose(currents=currents_for(e, v - a))


def _cleared(e: Evidence) -> np.ndarray:
    """Returns the currents that give the right neuron a synaptic current that restarts after
    every spike."""
    i, current_decay = e.right.currents.copy(), e.spec.current_decay or 0.0
    for t in range(1, len(i)):
        i[t] += current_decay * np.where(e.right.spikes[t - 1] > 0, 0.0, i[t - 1])
    return before_synapse(e.spec, i)


def _clipped(e: Evidence) -> Hypothesis:
    """Returns a neuron that hides counts in its reset, as currents of a 0/1 neuron. Each count
    is determined once those before it are."""
    spec, spikes = e.spec, e.right.spikes
    counts = spikes
    for _ in spikes:
        v = run(spec, e.right.currents, counts)[0]
        settled = spikes * np.maximum(1, np.floor(v / spec.threshold))
        if np.array_equal(settled, counts):
            break
        counts = settled
    return e.suppose(currents=currents_for(e, v))


def currents_for(e: Evidence, v: np.ndarray) -> np.ndarray:
    """Returns the currents that give the right neuron the potentials v on the framework's
    spikes."""
    a = risen(e.spec, e.right.spikes)
    currents = v + adapted(e.spec, e.right.spikes, v)
    currents[1:] -= e.spec.decay * after_reset(e.spec, v, e.right.spikes, a)[:-1]
    return before_synapse(e.spec, currents)


def other_items(e: Evidence) -> Iterator[tuple[str, Hypothesis]]:
    """Yields the batch items with the nearest free spikes, if they are other items."""
    free = run(e.spec, e.right.currents)[1]
    apart = (e.right.spikes[:, :, None] != free[:, None]).sum(axis=(0, 3))
    order = apart.argmin(axis=1)
    moved = np.flatnonzero(order != np.arange(len(order)))
    if len(moved):
        text = f"batch items are in another order: {moved[0]} gives what {order[moved[0]]} should"
        yield text, e.suppose(currents=e.right.currents[:, order])


def reordered(e: Evidence, wrong: np.ndarray) -> Iterator[tuple[str, Hypothesis]]:
    """Yields the neurons with the nearest free spikes for those with wrong decisions (a mask),
    if they are other neurons."""
    free = run(e.spec, e.right.currents)[1].reshape(-1, len(wrong))
    seen_spikes = e.right.spikes.reshape(-1, len(wrong))[:, wrong]
    apart = (seen_spikes**2).sum(0)[:, None] + (free**2).sum(0) - 2 * seen_spikes.T @ free
    apart[:, ~wrong] += 0.5  # among silent neurons rather one that is missing elsewhere
    order = np.arange(len(wrong))
    order[wrong] = apart.argmin(axis=1)
    moved = np.flatnonzero(order != np.arange(len(order)))
    # A neuron that hardly fires resembles every silent one.
    if len(moved) and free[:, order[moved]].any(axis=0).mean() >= 0.5:
        first, other = e.neurons[moved[0]], e.neurons[order[moved[0]]]
        swapped = len(moved) == 2 and order[order[moved[0]]] == moved[0]
        text = f"neurons are in another order: {first} gives what {other} should"
        yield (
            f"neurons {first} and {other} are swapped" if swapped else text,
            e.suppose(currents=e.right.currents[:, :, order]),
        )


def anywhere(e: Evidence) -> Hypothesis:
    """Returns a neuron that starts from potentials of its own in each item: from the least that
    its decisions allow."""
    step = 1e-6
    here, moved = (run(e.spec, e.started(p).currents, e.right.spikes)[0] for p in (0.0, step))
    with np.errstate(all="ignore"):  # potentials may overflow
        bounds = (e.spec.threshold - here) * step / (moved - here)
    low = np.where(e.right.spikes > 0, bounds, -np.inf).max(axis=0)
    high = np.where(e.right.spikes > 0, np.inf, bounds).min(axis=0)
    start = np.where(low > 0, low + 1e-6, np.where(high < 0, high - 1e-6, 0.0))
    return e.started(np.nan_to_num(start))


def attachments(e: Evidence) -> Iterator[tuple[str, Hypothesis]]:
    """Yields faults of gradients that forward runs do not see."""
    detached = e.spec.detach_reset
    now, should = ("attached", "detached") if detached else ("detached", "attached")
    yield (
        OtherReset(f"the reset is {now} where it should be {should}"),
        e.respecified(detach_reset=not detached),
    )
    if e.spec.current_decay is not None:
        plain = BackwardFault(spec=replace(e.spec, current_decay=None))
        yield (
            "the gradient does not go back through the synaptic current",
            e.suppose(backward=plain),
        )
    if e.spec.adaptation is not None:
        cut, constant = (
            BackwardFault(passing=Passing(**{way: 0.0}))
            for way in ("to_threshold", "from_threshold")
        )
        yield "the gradient does not go back through the adaptation", e.suppose(backward=cut)
        if e.spec.threshold_adapts:
            yield (
                "the spike's gradient takes the threshold for a constant",
                e.suppose(backward=constant),
            )
    for reset in ("hard", "hard-straight"):
        if e.spec.reset.startswith("hard") and e.spec.adaptation is None and reset != e.spec.reset:
            yield (
                f"the gradient through the reset is that of `{reset}`, not `{e.spec.reset}`",
                e.respecified(reset=reset),
            )


def truncated(array: np.ndarray) -> np.ndarray:
    """Cuts float32 numbers, without rounding, to TF32's ten mantissa bits, as its multipliers
    do."""
    return (np.ascontiguousarray(array, np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(
        np.float32
    )


Rounding = Callable[[np.ndarray], np.ndarray]

ROUNDINGS: dict[str, Rounding] = {
    "TF32": lambda array: round_to(array, "tf32"),
    "TF32 (cut)": truncated,
    "bf16": lambda array: round_to(array, "bf16"),
    "fp16": lambda array: round_to(array, "fp16"),
}


def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """Returns currents (T, B, N) of x (T, B, K) in float64."""
    currents = x.astype(np.float64) @ weight.T.astype(np.float64)
    return currents if bias is None else currents + bias


def roundings(e: Evidence) -> Iterator[tuple[str, str, Hypothesis]]:
    """Yields names of formats with texts and hypotheses."""
    for name, rounded in ROUNDINGS.items():
        currents = e.right.currents
        if e.weight is not None:
            currents = linear(rounded(e.input), rounded(e.weight), e.bias)
            yield name, f"multiplies in {name}", e.suppose(currents=currents)
        if name in ("bf16", "fp16"):
            yield (
                name,
                f"computes in {name} inside",
                e.suppose(currents=_rounded_run(e, currents, rounded)),
            )
            yield (
                name,
                f"keeps its potential in {name}",
                e.suppose(currents=_rounded_run(e, e.right.currents, rounded)),
            )


def _rounded_run(e: Evidence, currents: np.ndarray, rounded: Rounding) -> np.ndarray:
    """Returns the currents that give the right neuron the potentials of a loop that rounds after
    every operation."""
    v, after, a = np.empty_like(currents), np.zeros_like(currents[0]), risen(e.spec, e.right.spikes)
    for t, current in enumerate(synaptic(e.spec, currents)):
        v[t] = rounded(rounded(e.spec.decay * after) + rounded(current)) - a[t]
        after = rounded(after_reset(e.spec, v[t], e.right.spikes[t], a[t]))
    return currents_for(e, v)
