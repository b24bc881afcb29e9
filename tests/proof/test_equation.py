"""The equation of a neuron of which only spikes and gradients can be seen."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from support.slow import representatives

from snnbench.kernels.spec import RESETS, SURROGATES, NeuronSpec
from snnbench.proof.equation import equation_of
from snnbench.proof.recurrence import run, run_backward, slope_of


@dataclass
class Neuron:
    """A right neuron in NumPy; subclasses compute something else."""

    spec: NeuronSpec
    gain: float = 1.0
    height: float = 1.0
    late: int = 0
    decay: np.ndarray | None = None
    shape: tuple[int, ...] = (3, 7)

    def drive(self, currents, upstream=None):
        assert currents.dtype == np.float32
        x = self.gain * currents.astype(np.float64)
        v, spikes = run(self.spec, x, decay=self.decay)
        late = np.concatenate([np.zeros_like(spikes[: self.late]), spikes])[: len(spikes)]
        if upstream is None:
            return late, None
        early = np.concatenate([upstream[self.late :], np.zeros_like(upstream[: self.late])])
        return late, self.gain * self.backward(v, spikes, early).astype(np.float32)

    def backward(self, v, spikes, upstream):
        slope = self.height * slope_of(self.spec, v)
        return run_backward(self.spec, v, spikes, upstream, slope=slope, decay=self.decay)


ROUNDED = {"max_spikes": 4, "surrogate": "straight-through", "rounding": "nearest"}


def spec(reset="soft", **more):
    return NeuronSpec(reset, **{"decay": 0.8, "surrogate": "atan", **more})


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("reset", RESETS)
def test_every_reset_is_named_and_proved(reset, detach):
    right = spec(reset, detach_reset=detach and reset != "none")
    equation = equation_of(Neuron(right), 1.0)
    assert (equation.verdict, equation.differs) == ("proved", "")
    assert equation.spec == right


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_every_surrogate_is_named_with_slope_and_height(surrogate):
    slope = 1.0 if surrogate == "straight-through" else 2.5
    height = 1.0 if surrogate == "rectangle" else 0.5  # its height gives its slope
    right = spec(surrogate=surrogate, slope=slope, detach_reset=True)
    equation = equation_of(Neuron(right, height=height), 1.0)
    assert equation.verdict == "proved", equation
    assert (equation.spec, equation.height) == (right, height)


@pytest.mark.parametrize(
    "right, more",
    [
        (spec(decay=1.0), {}),
        (spec(decay=0.951229), {"gain": 0.048771}),
        (spec(decay=float(np.float32(np.exp(-1 / 20)))), {"gain": 0.05}),  # a time constant of 20
        (spec(threshold=0.3), {"late": 1}),
        (spec(threshold=1e4), {}),
        (spec("hard", threshold=1e-3, surrogate="straight-through"), {"gain": 0.1}),
        (spec(current_decay=0.6), {}),
        (spec(decay=0.95, current_decay=0.95), {"gain": 0.95}),
        (spec("hard", current_decay=0.9), {"gain": 0.1}),
        (spec(max_spikes=1 << 16, surrogate="exponential", slope=2.0), {"height": 2.0}),
        (spec("soft", **ROUNDED), {}),
        (spec("none", **ROUNDED, threshold=0.5), {"gain": 0.1}),
        (spec("soft", **{**ROUNDED, "decay": 0.0, "max_spikes": 8}), {"late": 1}),
        (spec(), {"shape": (1, 1)}),
        (spec(), {"shape": (2, 3, 5, 4)}),
    ],
)
def test_constants_are_read_off(right, more):
    equation = equation_of(Neuron(right, **more), right.threshold)
    assert equation.verdict == "proved", equation
    assert equation.spec == right
    assert equation.gain == more.get("gain", 1.0)
    assert (equation.late, equation.height) == (more.get("late", 0), more.get("height", 1.0))


def test_without_a_known_threshold_the_gain_is_taken_for_1():
    equation = equation_of(Neuron(spec(), gain=0.5))
    assert (equation.spec.threshold, equation.gain) == (2.0, 1.0)


def test_neurons_that_differ_are_proved_one_by_one():
    equation = equation_of(Neuron(spec(), decay=np.linspace(0.6, 0.9, 7)), 1.0)
    assert equation.verdict == "proved", equation
    assert "decay 0.6 to 0.9 by neuron" in equation.words()


@dataclass
class Rounded(Neuron):
    """Its surrogate sees potentials of float32, which moves a steep one more than a flat one. In
    `all_steps` but the first it is so many times as high."""

    all_steps: float = 1.0

    def backward(self, v, spikes, upstream):
        near = v * (1 + np.random.default_rng(1).uniform(-2e-7, 2e-7, v.shape))
        slope = slope_of(self.spec, near)
        slope[1:] *= self.all_steps
        return run_backward(self.spec, v, spikes, upstream, slope=slope)


def test_rounding_in_front_of_a_steep_surrogate_is_allowed_and_another_height_is_not():
    right = spec("soft-undecayed", surrogate="superspike", slope=100.0, detach_reset=True)
    assert equation_of(Rounded(right), 1.0).verdict == "proved"
    higher = equation_of(Rounded(right, all_steps=1.0003), 1.0)
    assert higher.verdict == "nearest" and "gradient differs by" in higher.differs


class Steep(Neuron):
    """Its surrogate is higher between the first and the last step."""

    def backward(self, v, spikes, upstream):
        slope = slope_of(self.spec, v)
        slope[1:-1] *= 1.5
        return run_backward(self.spec, v, spikes, upstream, slope=slope)


class Stepped(Neuron):
    """Its gradient is that of no surrogate here: 1 from half the threshold on, however far."""

    def backward(self, v, spikes, upstream):
        slope = (v >= 0.5 * self.spec.threshold).astype(float)
        return run_backward(self.spec, v, spikes, upstream, slope=slope)


class Cut(Neuron):
    def backward(self, v, spikes, upstream):
        parts = [
            run_backward(self.spec, v[t : t + 20], spikes[t : t + 20], upstream[t : t + 20])
            for t in range(0, len(v), 20)
        ]
        return np.concatenate(parts)


class Refractory(Neuron):
    """Does not fire in the five steps behind a spike."""

    def drive(self, currents, upstream=None):
        spikes, gradient = super().drive(currents, upstream)
        silent = spikes.copy()
        for t in range(1, len(silent)):
            silent[t] *= (silent[max(0, t - 5) : t] == 0).all(axis=0)
        return silent, gradient


class Without(Neuron):
    def drive(self, currents, upstream=None):
        return super().drive(currents)[0], None


class Slowing(Neuron):
    """Its potential decays more slowly the older the pulse."""

    def drive(self, currents, upstream=None):
        x = currents.astype(np.float64)
        slow = run(replace(self.spec, reset="none", decay=0.99), x)[0] / 2
        spikes = run(self.spec, x / 2 + slow - np.concatenate([0 * slow[:1], slow[:-1]]))[1]
        return spikes, None


OTHERS = [
    (Steep(spec()), ""),
    (Stepped(spec()), "its surrogate is none of those here"),
    (Cut(spec()), "the gradient is cut every 20 steps"),
    (Refractory(spec()), "1 step after a spike it needs more than 16 times its threshold"),
    (Slowing(spec()), "neither one constant nor two: 1, 4 and 15 steps behind a pulse it is 0."),
    (Without(spec()), "its spikes have no gradient"),
    (Neuron(replace(spec(), adaptation=0.5, adaptation_decay=0.9)), ""),
    (Neuron(spec(threshold=1e12)), "no current up to 1.04858e+06 makes it fire"),
]


@pytest.mark.parametrize("neuron, words", representatives(OTHERS, {1, 2, 4, 5, 7}))
def test_another_neuron_is_not_proved(neuron, words):
    equation = equation_of(neuron, neuron.spec.threshold)
    assert equation.verdict != "proved"
    assert equation.differs and words in equation.differs


def test_nothing_is_said_of_a_reset_in_backward_that_was_not_seen():
    assert "tached" not in equation_of(Stepped(spec()), 1.0).words()
