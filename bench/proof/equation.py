"""Names the equation of a neuron of which only spikes and gradients can be seen, and holds it
against the oracle.

The neuron is driven alone. The smallest pulse that makes it fire gives threshold / gain; what it
still needs some steps after a pulse that does not, gives its decays; the gradient of a single step
gives its surrogate. Resets are tried, and the oracle decides on random currents. A neuron is proved
if `judge` finds its decisions right and the oracle's gradients are those seen.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

import numpy as np

from snnbench.kernels.spec import RESETS, SURROGATES, NeuronSpec
from snnbench.kernels.surrogates import derivative

from ..common.units import counted, share
from ..core.network import INPUT, Network, Node
from ..core.result import Gradients
from .diagnosis.diagnose import name_fault
from .diagnosis.fitting import shortest
from .judge import JudgedCall, judge
from .limits import limits
from .problem import Problem
from .recurrence import lowest_threshold, run, run_backward, slope_of

STEPS, REACH = 64, 16
"""Steps of the random currents; steps within which a strong pulse makes a neuron fire."""
LEAST_DRIVEN, MOST_DRIVEN = 2**11, 2**19
"""Values of random currents: small neurons get up to four times STEPS, large ones fewer."""
LEAST_PULSE, LARGEST_PULSE = 2.0**-40, 2.0**20
HALVINGS = 26
"""Halvings of the interval around the smallest pulse: float32 tells no more."""
EXACT = 3e-7
"""Relative error of numbers that were read off; the shortest number within is taken."""
MANY = 1 << 16
"""Most spikes of a step where no limit was seen."""
LEAST_NAMED = 1e-3
"""Relative error of a gradient from which on the diagnosis looks for a fault."""
ALIKE = 0.2
"""Largest share of wrong decisions of an equation that is called the nearest."""


ONE, EQUAL, TWO = np.ones((1, 1)), np.ones((2, 1)), np.eye(2)
"""Decays by free constants."""
LOOKED_AT = (1, 2, 3, 4, 6, 8, 11, 15)
"""Steps behind a pulse after which the potential is read."""
NO_GRADIENT = "its spikes have no gradient"
NO_SURROGATE = "its surrogate is none of those here"
MISFIT = 0.02
"""Relative misfit from which on a surrogate is another one."""
DIFFER, NO_MEMORY = "decays", "it has no memory between steps"
AGAIN, MOST_AGAIN = (1, 4, 12), 16
"""Steps after a spike in which a neuron is made to fire again, with so many thresholds at most."""
MOST_SAMPLED = 8
"""Most neurons that are looked at one by one where they differ."""


class Driven(Protocol):
    """A neuron alone. `drive` returns spikes for currents (T, B, *features) from rest, and the
    gradient of Σ spikes·upstream by the currents, None without one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, *features)."""

    def drive(
        self, currents: np.ndarray, upstream: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]: ...


@dataclass
class Equation:
    """What a neuron computes. `verdict`: proved, nearest, or none of the equations here. `gain` is
    its factor on currents, `height` that of its surrogate, `late` the steps by which spikes come
    later. `differs` says in words what is not that of `spec`. Of neurons that differ, `by_neuron`
    has those of a sample; the others are the first one's."""

    verdict: str
    spec: NeuronSpec | None = None
    gain: float = 1.0
    height: float = 1.0
    late: int = 0
    differs: str = ""
    by_neuron: tuple["Equation", ...] = ()

    def words(self) -> str:
        """Returns the equation in a line."""
        spec = self.spec
        if spec is None:
            return "not one of the equations here"
        has_surrogate = not any(each in self.differs for each in (NO_GRADIENT, NO_SURROGATE))
        parts = [spec.reset if spec.reset != "none" else "no reset"]
        if spec.reset != "none" and has_surrogate:
            parts.append("detached" if spec.detach_reset else "attached")
        parts.append(f"decay {self._span('decay')}")
        if spec.current_decay is not None:
            parts.append(f"synapse {spec.current_decay:g}")
        parts.append(f"threshold {self._span('threshold')}")
        if spec.rounding is not None:
            parts.append(f"0 to {spec.max_spikes} spikes a step, rounded")
        elif spec.max_spikes > 1:
            parts.append("many spikes a step")
        times = f"{self.height:g} times " if self.height != 1 else ""
        slope = f" of slope {spec.slope:g}" if spec.surrogate != "straight-through" else ""
        if spec.rounding is not None:
            parts.append("surrogate a window")
        elif has_surrogate:
            parts.append(f"surrogate {times}{spec.surrogate}{slope}")
        if self.gain != 1:
            parts.append(f"currents times {self.gain:.5g}")
        if self.late:
            parts.append(f"spikes {self.late} step{'s' * (self.late > 1)} late")
        return ", ".join(parts)

    def _span(self, name: str) -> str:
        """Returns a number of the spec, or its range over neurons."""
        numbers = [float(getattr(each.spec, name)) for each in self.by_neuron or (self,)]
        low, high = (f"{end:.6g}" for end in (min(numbers), max(numbers)))
        return low if low == high else f"{low} to {high} by neuron"


def equation_of(neuron: Driven, threshold: float | None = None) -> Equation:
    """Returns the equation of a neuron that holds the number `threshold`: the unit of its
    potentials, without which only threshold / gain is known, and the gain is taken for 1."""
    pulse, late, most, rounds = _smallest_pulse(neuron)
    if pulse is None:
        return Equation("none", differs=f"no current up to {LARGEST_PULSE:g} makes it fire")
    center = float(np.median(pulse))
    if center < 1e-12:
        return Equation("none", differs="it fires without a current")
    if np.ptp(pulse) > 1e-4 * center:
        return _by_neuron(neuron, None, "thresholds")
    center = _short(center)
    per_spike = 2 * center if rounds else center
    theta = threshold or per_spike
    gain = _short(theta / per_spike)
    center *= theta / gain / per_spike
    decays, why = _decays(neuron, center, late)
    if why == DIFFER:
        return _by_neuron(neuron, threshold, why)
    if rounds and why == NO_MEMORY:
        decays, why = [0.0], ""
    if not decays:
        return Equation("none", differs=why)
    surrogates = (
        [("straight-through", 1.0, 1.0)]
        if rounds
        else list(_surrogates(neuron, center, gain, late, most))
    )
    return _best(neuron, theta, gain, late, most, decays, why, surrogates, rounds)


class _One:
    """One neuron of many, in all items of the batch: (B, 1)."""

    def __init__(self, neuron: Driven, index: int):
        self.neuron, self.index, self.shape = neuron, index, (neuron.shape[0], 1)

    def drive(
        self, currents: np.ndarray, upstream: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        more = None if upstream is None else self._among_others(upstream)
        spikes, gradient = self.neuron.drive(self._among_others(currents), more)
        return self._alone(spikes), None if gradient is None else self._alone(gradient)

    def _among_others(self, values: np.ndarray) -> np.ndarray:
        whole = np.zeros((*values.shape[:2], prod(self.neuron.shape[1:])), np.float32)
        whole[:, :, self.index] = values[:, :, 0]
        return whole.reshape(len(values), *self.neuron.shape)

    def _alone(self, values: np.ndarray) -> np.ndarray:
        return _rows(values)[:, :, self.index : self.index + 1]


def _by_neuron(neuron: Driven, threshold: float | None, what: str) -> Equation:
    """Returns the equation of neurons that differ: proved if each of a sample is, and they have the
    same reset and surrogate."""
    count = prod(neuron.shape[1:])
    differ = f"its {what} differ by neuron"
    if count == 1:
        return Equation("none", differs=f"its {what} differ by batch item")
    sample = np.unique(np.linspace(0, count - 1, MOST_SAMPLED).astype(int))
    each = []
    for index in sample:
        each.append(equation_of(_One(neuron, int(index)), threshold))
        if each[-1].verdict != "proved":  # what differs is looked for once
            break
    first = each[0]
    without = next((one for one in each if one.spec is None), None)
    if without is not None:
        return Equation("none", differs=f"{differ}; of one of them: {without.differs}")
    kinds = {(e.spec.reset, e.spec.detach_reset, e.spec.surrogate) for e in each if e.spec}
    proved = len(kinds) == 1 and all(one.verdict == "proved" for one in each)
    wrong = next((f"{differ}; {one.differs}" for one in each if one.differs), differ)
    return replace(
        first,
        verdict="proved" if proved else "nearest",
        differs="" if proved else wrong,
        by_neuron=tuple(each),
    )


def _least(
    fires: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, halvings: int
) -> np.ndarray:
    """Returns the least numbers between `low` and `high`, by element, for which `fires`."""
    for _ in range(halvings):
        middle = (low + high) / 2
        fired = fires(middle)
        low, high = np.where(fired, low, middle), np.where(fired, middle, high)
    return high


def _pulses(neuron: Driven, steps: int, **sizes: np.ndarray | float) -> np.ndarray:
    """Returns the spikes (T, B, *features) on pulses, each named `at0` for step 0."""
    currents = np.zeros((steps, *neuron.shape), np.float32)
    for name, size in sizes.items():
        currents[int(name[2:])] = size
    return neuron.drive(currents)[0]


def _smallest_pulse(neuron: Driven) -> tuple[np.ndarray | None, int, int, bool]:
    """Returns the smallest pulse in step 0 that makes each element fire, as early as a strong one
    does, None if one never fires; the steps until then; and the most spikes of a step that ten
    such pulses call for, MANY if these are ten; whether it rounds to the nearest: it then fires
    once, not twice, where the pulse is two and a half times as large."""
    high = np.ones(neuron.shape)
    while not (fired := _pulses(neuron, REACH, at0=high).any(axis=0)).all():
        if high.max() >= LARGEST_PULSE:
            return None, 0, 0, False
        high = np.where(fired, high, 4 * high)
    while _pulses(neuron, REACH, at0=high / 4).any(axis=0).all() and high.min() > LEAST_PULSE:
        high /= 4
    strong = _pulses(neuron, REACH, at0=64 * high)
    late = int(np.argmax((strong > 0).reshape(REACH, -1).all(axis=1)))

    def fires(size: np.ndarray) -> np.ndarray:
        return _pulses(neuron, late + 1, at0=size)[late] > 0

    pulse = _least(fires, np.zeros(neuron.shape), 64 * high, HALVINGS + 8)

    def most(thresholds: float) -> int:
        return int(_pulses(neuron, late + 1, at0=thresholds * pulse)[late].max())

    rounds = most(2.5) == 1 < most(3.5)
    ten = most(21 if rounds else 10.5)
    return pulse, late, ten if ten < 10 else MANY, rounds


def _decays(neuron: Driven, pulse: float, late: int) -> tuple[list[float], str]:
    """Returns the decays of the potential behind a pulse: one, or those of potential and synaptic
    current in any order; the nearest one with what differs if these do not describe it; empty with
    the reason if there is none."""
    whole = np.full(neuron.shape, pulse)

    def is_enough(size: np.ndarray) -> np.ndarray:
        return np.asarray(_pulses(neuron, 4 * REACH, at0=size).any(axis=0))

    weak = np.float32(0.95) * _least(is_enough, 0 * whole, 1.001 * whole, 8).min().astype(
        np.float32
    )
    response = []
    for step in LOOKED_AT:

        def fires(size: np.ndarray, step: int = step) -> np.ndarray:
            sizes = {"at0": np.full(neuron.shape, weak), f"at{step}": size}
            return _pulses(neuron, step + late + 1, **sizes)[step + late] > 0

        needed = _least(fires, 0 * whole, 1.5 * whole, HALVINGS)
        response.append((pulse - needed).reshape(-1) / float(weak))
    values = np.array(response)
    if np.abs(values).max() < 1e-4:
        return [], NO_MEMORY
    if np.ptp(values[0]) > 1e-4:
        return [], DIFFER
    seen, steps = np.median(values, axis=1), np.array(LOOKED_AT)
    for sharing in (ONE, EQUAL, TWO):
        decays = _fitted_decays(steps, seen, sharing)
        if decays is not None:
            return decays, ""
    grid = np.linspace(0.005, 1, 200)
    nearest = grid[np.argmin(np.square(grid[:, None] ** steps - seen).sum(axis=1))]
    parts = "{:.2f}, {:.2f} and {:.2f}".format(*seen[[0, 3, -1]])
    return [float(nearest)], (
        f"its potential decays with neither one constant nor two: {steps[0]}, {steps[3]} and "
        f"{steps[-1]} steps behind a pulse it is {parts} times the pulse"
    )


def _response(steps: np.ndarray, decays: np.ndarray) -> np.ndarray:
    """Returns the potential behind a pulse of 1 after `steps`."""
    if len(decays) == 1:
        return np.asarray(decays[0] ** steps)
    return np.array(
        [sum(decays[0] ** i * decays[1] ** (n - i) for i in range(n + 1)) for n in steps]
    )


def _fitted_decays(steps: np.ndarray, seen: np.ndarray, sharing: np.ndarray) -> list[float] | None:
    """Returns one or two decays that give the potentials `seen`, by Gauss-Newton; None if none do.
    `sharing` maps free constants to decays: two that are equal would have equal slopes."""
    middle = seen[0] / len(sharing)
    apart = np.sqrt(max(seen[1] - 3 * middle**2, 1e-6)) if sharing is TWO else 0.0
    free = np.clip([middle + apart, middle - apart][: sharing.shape[1]], 0.05, 1.0)
    for _ in range(50):
        decays = sharing @ free
        here = _response(steps, decays)
        slopes = [(_response(steps, decays + 1e-6 * unit) - here) / 1e-6 for unit in sharing.T]
        change = np.linalg.lstsq(np.array(slopes).T, seen - here, rcond=None)[0]
        free = np.clip(free + change, 1e-6, 1.0)
    decays = sharing @ free
    limit = 2e-6 if sharing is EQUAL else 2e-5
    if np.abs(_response(steps, decays) - seen).max() > limit * max(1.0, seen.max()):
        return None
    within = 1e-5 if sharing is TWO else EXACT if sharing is ONE else 1e-6
    return [min(_neat(float(decay), within), 1.0) for decay in sorted(decays)[::-1]]


def _neat(decay: float, within: float) -> float:
    """Returns the decay with the fewest digits within a relative distance, or that in float32 of a
    time constant in steps, if this has few: exp(-1/20) has as many digits as there are."""
    short = _short(decay, within)
    if not 0 < decay < 1 or len(f"{short:.9g}") < len("0.12345"):
        return short
    steps = -1 / np.log(decay)
    constant = _short(float(steps), float(steps) * within)
    return float(np.float32(np.exp(-1 / constant))) if len(f"{constant:.9g}") <= 4 else short


def _surrogates(
    neuron: Driven, pulse: float, gain: float, late: int, most: int
) -> Iterator[tuple[str, float, float]]:
    """Yields (name, slope, height) of surrogates by how well they describe the gradient of a single
    step, the best first."""
    theta = pulse * gain
    nearest, farthest = np.clip(0.03 / theta, 3e-6, 1e-3), max(1.2, 1.5 / theta)
    far = np.geomspace(
        nearest, farthest if most == 1 else 1.2, 24
    )  # also of a threshold far from 1
    sizes = np.float32(pulse) * (1 + np.sort(np.concatenate([-far, far[far < 0.95]])))
    sizes = sizes.astype(np.float32)
    u = gain * (sizes.astype(np.float64) - pulse)
    count = prod(neuron.shape)
    seen = np.zeros(len(u))
    for start in range(0, len(u), count):
        part = sizes[start : start + count]
        currents = np.zeros((1 + late, *neuron.shape), np.float32)
        currents[0] = np.resize(part, count).reshape(neuron.shape)
        upstream = np.zeros_like(currents)
        upstream[late] = 1
        gradient = neuron.drive(currents, upstream)[1]
        if gradient is None:
            return
        seen[start : start + count] = gradient[0].reshape(-1)[: len(part)] / gain
    fits = sorted(_fitted(name, u, seen) for name in SURROGATES)
    for misfit, name, slope, height in fits[:2]:
        if misfit <= MISFIT:
            yield name, slope, height


def _fitted(name: str, u: np.ndarray, seen: np.ndarray) -> tuple[float, str, float, float]:
    """Returns (relative misfit, name, slope, height) of a surrogate."""

    def misfit(slope: float) -> tuple[float, float]:
        shape = derivative(NeuronSpec(surrogate=name, slope=slope), np)(u)
        size = float(shape @ shape)
        height = float(shape @ seen) / size if size else 0.0
        return float(np.linalg.norm(seen - height * shape) / np.linalg.norm(seen)), height

    if not np.isfinite(seen).all() or not seen.any():
        return np.inf, name, 1.0, 1.0
    if name == "straight-through":
        return misfit(1.0)[0], name, 1.0, _short(misfit(1.0)[1], 1e-4)
    # Of equal slopes the first is taken: rectangles fit in a range of them.
    grid = [float(np.abs(seen).max()), *np.geomspace(0.02, 500, 121)]
    best = min(grid, key=lambda slope: misfit(slope)[0])
    width = 1.1
    while width > 1 + 1e-8:
        near = [best, *(best * np.geomspace(1 / width, width, 9))]
        best = min(near, key=lambda slope: misfit(slope)[0])
        width = 1 + (width - 1) / 2
    best = _short(float(best), 1e-4)
    error, height = misfit(best)
    return error, name, best, _short(height, 1e-4)


def _best(
    neuron: Driven,
    theta: float,
    gain: float,
    late: int,
    most: int,
    decays: list[float],
    other_decay: str,
    surrogates: list[tuple[str, float, float]],
    rounds: bool,
) -> Equation:
    """Returns the equation that the oracle proves, or the nearest one with what differs;
    `other_decay` is what differs of its decays."""
    random = np.random.default_rng(7)
    size = prod(neuron.shape)
    steps = max(REACH, min(max(STEPS, LEAST_DRIVEN // size), MOST_DRIVEN // size, 4 * STEPS))
    noise = random.standard_normal((steps + late, *neuron.shape)).astype(np.float32)
    upstream = random.standard_normal(noise.shape).astype(np.float32)
    upstream[:late] = 0
    sizes = [2.0**k * theta / gain for k in range(-3, 3)]
    rates = [float(neuron.drive(np.float32(each) * noise)[0].mean()) for each in sizes]
    chosen = sizes[int(np.argmin(np.abs(np.array(rates) - 0.2)))]
    currents = np.float32(chosen) * noise
    spikes, gradient = neuron.drive(currents, upstream)
    if (spikes < 0).any():
        return Equation("none", differs="it hands out negative spikes, too")
    x, s, up = (
        _rows(a).astype(np.float64)
        for a in (currents[:steps] * np.float32(gain), spikes[late:], upstream[late:])
    )
    without = gradient is None or not gradient.any()
    g = None if gradient is None or without else _rows(gradient[:steps]) / gain
    pairs: list[tuple[float, float | None]] = (
        [(decays[0], None)]
        if len(decays) == 1
        else [(decays[0], decays[1]), (decays[1], decays[0])]
    )
    specs = [
        spec for decay, current in pairs for spec in _specs(theta, most, decay, current, rounds)
    ]
    wrong = {spec: float((run(spec, x, s)[1] != s).mean()) for spec in specs}
    nearest = [spec for spec in specs if wrong[spec] <= min(wrong.values()) + 1e-4]
    tried = []
    for spec in nearest:
        for name, slope, height in surrogates or [("superspike", 1.0, 1.0)]:
            for detached in (False, True) if spec.reset != "none" else (False,):
                full = replace(spec, surrogate=name, slope=slope, detach_reset=detached)
                tried.append((_gradient_error(full, height, x, s, up, g), full, height))
    error, spec, height = min(tried, key=lambda each: each[0])
    unknown = NO_GRADIENT if g is None else "" if surrogates else NO_SURROGATE
    equation = Equation("nearest", spec, gain, height, late, unknown)
    network = Network((x.shape[2],), (Node("neuron", "neuron", (INPUT,), {"neuron": spec}),))
    problem = Problem(network, {}, x, x[::-1].copy(), up)
    limit = limits("fp32", spec, 1, x.shape[0] * x.shape[1], x.shape[0])
    by_node = {INPUT: limit, "neuron": limit}
    judged = None if g is None else Gradients({}, (g / height).astype(np.float32))
    call = JudgedCall(x, {"neuron": s}, gradients=judged)
    verdict = judge(problem, replace(call, gradients=None), by_node)
    close = verdict.passed and error < LEAST_NAMED  # rounding is explained by any fault
    proved = close and (error <= limit.gradient or judge(problem, call, by_node).passed)
    if proved and not other_decay:
        return replace(equation, verdict="proved", differs="")
    share_wrong = float((run(spec, x, s)[1] != s).mean())
    if share_wrong > ALIKE:
        nearest_one = f"the nearest, {equation.words()}, decides {share(share_wrong)} otherwise"
        reasons = nearest_one, other_decay or _after_a_spike(neuron, equation), unknown
        return Equation("none", differs="; ".join(filter(None, reasons)))
    if other_decay:
        return replace(equation, differs="; ".join(filter(None, [other_decay, unknown])))
    if verdict.passed and unknown:
        return equation
    fault = None if close else name_fault(problem, call, by_node)
    if fault is None and not verdict.passed:
        fault = f"{share(share_wrong)} of its decisions differ"
        if again := _after_a_spike(neuron, equation):
            fault = f"{fault}: {again}"
    elif fault is None:
        fault = f"its gradient differs by {error:.1g} (relative L2 error)"
    return replace(equation, differs=fault)


def _after_a_spike(neuron: Driven, equation: Equation) -> str:
    """Returns when after a spike a neuron needs another current to fire again than its equation;
    empty if never."""
    spec, late = equation.spec, equation.late
    assert spec is not None
    theta = spec.threshold / equation.gain
    currents = np.zeros((1 + AGAIN[-1], 1))
    currents[0] = 1.05 * spec.threshold
    potentials = run(spec, currents)[0][:, 0]
    whole = np.full(neuron.shape, theta)
    for step in AGAIN:

        def fires(size: np.ndarray, step: int = step) -> np.ndarray:
            sizes = {"at0": 1.05 * whole, f"at{step}": size}
            return _pulses(neuron, step + late + 1, **sizes)[step + late] > 0

        needed = np.median(_least(fires, 0 * whole, MOST_AGAIN * whole, HALVINGS // 2)) / theta
        due = max(lowest_threshold(spec) - potentials[step], 0) / spec.threshold
        after = f"{counted(step, 'step')} after a spike it needs"
        if needed > 0.99 * MOST_AGAIN:
            return f"{after} more than {MOST_AGAIN} times its threshold to fire again"
        if abs(needed - due) > 0.01:
            return f"{after} {needed:.2f} of its threshold to fire again, not {due:.2f}"
    return ""


def _specs(
    theta: float, most: int, decay: float, current: float | None, rounds: bool
) -> Iterator[NeuronSpec]:
    if rounds:
        for reset in ("soft", "none"):
            yield NeuronSpec(
                reset,
                decay=decay,
                threshold=theta,
                surrogate="straight-through",
                max_spikes=most,
                current_decay=current,
                rounding="nearest",
            )
        return
    for reset in RESETS:
        if not (reset == "soft-undecayed" and decay == 1):
            yield NeuronSpec(
                reset, decay=decay, threshold=theta, max_spikes=max(most, 1), current_decay=current
            )


def _gradient_error(
    spec: NeuronSpec,
    height: float,
    x: np.ndarray,
    spikes: np.ndarray,
    upstream: np.ndarray,
    gradient: np.ndarray | None,
) -> float:
    """Returns the relative L2 error of a gradient by currents, with a surrogate `height` times as
    high as that of `spec`."""
    if gradient is None or not np.isfinite(gradient).all():
        return np.inf
    v, _ = run(spec, x, spikes)
    right = run_backward(spec, v, spikes, upstream, slope=height * slope_of(spec, v))
    return float(np.linalg.norm(gradient - right) / max(float(np.linalg.norm(right)), 1e-300))


def _rows(values: np.ndarray) -> np.ndarray:
    """Reshapes (T, B, *features) to features in one row."""
    return values.reshape(*values.shape[:2], -1)


def _short(value: float, within: float = EXACT) -> float:
    """Returns the number with the fewest digits within a relative distance."""
    near = sorted((value * (1 - within), value * (1 + within)))
    return float(shortest(near[0], value, near[1]))
