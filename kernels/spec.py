"""Specification of the neurons of this benchmark, independent of any implementation.

All neurons are one recurrence over time steps t, with p[-1] = 0 and currents x. Times are in steps;
x, v, p and the threshold share one arbitrary unit.

    v[t] = decay · p[t-1] + x[t]          membrane potential before the spike
    s[t] = 1 if v[t] ≥ threshold else 0   (or the count floor(v/threshold), clipped to max_spikes)
    p[t] = reset(v[t], s[t])              membrane potential after the spike

A neuron with a synaptic current (current-based, "CUBA") replaces x[t] by i[t] = current_decay ·
i[t-1] + x[t], i[-1] = 0.

A neuron with an adaptive threshold (ALIF, Bellec et al. 2018) replaces the threshold by threshold +
a[t], in its resets too: a[t] = adaptation_decay · a[t-1] + adaptation · s[t-1], a[-1] = 0. The
gradient flows through a even if the reset is detached. With an adaptation_coupling the adaptation
is a current, which follows the potential too (adLIF, Bittar & Garner 2022), and the threshold
stays: v[t] = decay · p[t-1] + x[t] − a[t], a[t] = adaptation_decay · a[t-1] + adaptation · s[t-1] +
adaptation_coupling · v[t-1].

A neuron with a learned decay has one parameter w for all its features, and `decay` is the initial
value:

    direct               decay = w
    sigmoid              decay = 1 − 1/(1 + exp(−w))           Fang et al. 2021 (PLIF: 1/τ = σ(w))
    time-constant        decay = exp(−1/w)                     w in steps

A neuron with rounding "nearest" fires whole numbers, s[t] = round(clip(v/threshold, 0,
max_spikes)), halves to the even number (I-LIF, Luo et al. 2024). Its surrogate straight-through
takes the rounding for the identity: σ' = 1/threshold where 0 ≤ v ≤ max_spikes·threshold, else 0.

A neuron of decay 0 has no memory. It rounds, or never resets.

    reset                p[t]                                  gradient
    soft                 v − threshold·s                       through s unless detach_reset
    hard                 v·(s = 0)                             s is a constant if detach_reset
    none                 v                                     –
    soft-undecayed       v − (threshold/decay)·s               as soft, not decayed (Spyx)
    hard-straight        v·(s = 0)                             ∂p/∂v = 1 (lava-dl: detached);
                                                               ∂p/∂s = −v unless detach_reset

The derivative of the spike is replaced by a surrogate σ'(u), u = v − threshold, with slope k:

    superspike           1 / (1 + k|u|)²                       Zenke & Ganguli 2018
    atan                 1 / (1 + (πku)²)                      Fang et al. 2021 (of their α = 2)
    sigmoid              k·σ(ku)·(1 − σ(ku))
    triangle             max(0, 1 − k|u|)
    rectangle            k if |u| < 1/(2k) else 0              Wu et al. 2018
    exponential          k/2 · exp(−k|u|)                      Shrestha & Orchard 2018
    straight-through     1
"""

from dataclasses import asdict, dataclass, fields, replace
from math import log
from types import NoneType
from typing import Any, ClassVar

RESETS = ("soft", "hard", "none", "soft-undecayed", "hard-straight")
SURROGATES = (
    "superspike",
    "atan",
    "sigmoid",
    "triangle",
    "rectangle",
    "exponential",
    "straight-through",
)

LEARNED = ("direct", "sigmoid", "time-constant")

ROUNDINGS = ("nearest",)

OPTIONAL = ("current_decay", "adaptation", "adaptation_decay", "adaptation_coupling")
"""Numbers that are None for a neuron without them."""

LARGEST = 3.4e38
"""Upper bound of thresholds and slopes: float32 has no larger finite number."""


SMALLEST = 1.2e-38
"""Lower bound of decays that are learned: float32 has no smaller number of full precision."""


@dataclass(frozen=True)
class NeuronSpec:
    """One neuron of the family above, for example `NeuronSpec("hard", decay=0.9,
    surrogate="atan")`.

    Raises ValueError, naming the field and its domain, if a value is outside its domain.
    """

    reset: str = "soft"
    detach_reset: bool = False
    decay: float = 0.9375
    threshold: float = 1.0
    surrogate: str = "superspike"
    slope: float = 1.0
    max_spikes: int = 1
    current_decay: float | None = None
    learned_decay: str | None = None
    adaptation: float | None = None
    adaptation_decay: float | None = None
    rounding: str | None = None
    adaptation_coupling: float | None = None
    text: ClassVar[str]
    """All fields of an instance in one line, for operators that take texts; not a field itself."""

    def __post_init__(self) -> None:
        if self.reset not in RESETS:
            raise ValueError(f"reset = {self.reset!r} is not one of {', '.join(RESETS)}")
        if self.surrogate not in SURROGATES:
            raise ValueError(
                f"surrogate = {self.surrogate!r} is not one of {', '.join(SURROGATES)}"
            )
        for name in ("decay", "threshold", "slope", *OPTIONAL):
            if type(value := getattr(self, name)) not in (
                int,
                float,
                NoneType if name in OPTIONAL else float,
            ):
                object.__setattr__(self, name, float(value))  # a NumPy number, for example
        if type(self.max_spikes) is not int:
            raise ValueError(f"max_spikes = {self.max_spikes!r} must be a whole number")
        without_memory = self.decay == 0 and (self.rounding or self.reset == "none")
        if not (0 < self.decay <= 1 or without_memory):
            hint = " (0 only with the reset none or rounding)" * (self.decay == 0)
            raise ValueError(f"decay = {self.decay} must be above 0 and at most 1{hint}")
        if not 0 < self.threshold < LARGEST:
            raise ValueError(f"threshold = {self.threshold} must be a positive number")
        if not 0 < self.slope < LARGEST:
            raise ValueError(f"slope = {self.slope} must be a positive number")
        if self.max_spikes < 1:
            raise ValueError(f"max_spikes = {self.max_spikes} must be at least 1")
        if self.current_decay is not None and not 0 < self.current_decay < 1:
            raise ValueError(f"current_decay = {self.current_decay} must be above 0 and below 1")
        if self.learned_decay is not None:
            self._check_learned()
        if (self.adaptation, self.adaptation_decay, self.adaptation_coupling) != (None,) * 3:
            self._check_adaptation()
        if self.rounding is not None:
            self._check_rounding()
        numbers = (
            f"{float(self.decay)!r} {float(self.threshold)!r} {self.surrogate}"
            f" {float(self.slope)!r} {self.max_spikes}"
        )
        synapse = "" if self.current_decay is None else f" {float(self.current_decay)!r}"
        learned = "" if self.learned_decay is None else f" {self.learned_decay}"
        adapts = (
            ""
            if self.adaptation is None
            else f" adapts {float(self.adaptation)!r} {float(self.adaptation_decay or 0)!r}"
        )
        if self.adaptation_coupling is not None:
            adapts += f" {float(self.adaptation_coupling)!r}"
        rounds = "" if self.rounding is None else f" rounds {self.rounding}"
        object.__setattr__(
            self,
            "text",
            f"{self.reset} {self.detach_reset:d} {numbers}{rounds}{synapse}{learned}{adapts}",
        )

    def _check_learned(self) -> None:
        if self.learned_decay not in LEARNED:
            raise ValueError(
                f"learned_decay = {self.learned_decay!r} is not one of {', '.join(LEARNED)}"
            )
        if self.decay == 1:
            raise ValueError("decay = 1 is no decay to learn from: it must be below 1")
        if self.reset == "soft-undecayed":
            raise ValueError(
                "learned_decay is not offered with the reset soft-undecayed, which divides by the"
                " decay"
            )
        if self.current_decay is not None:
            raise ValueError("learned_decay is not offered with a synaptic current")

    def _check_adaptation(self) -> None:
        if self.adaptation is None or self.adaptation_decay is None:
            raise ValueError(
                "adaptation and adaptation_decay go together: an adaptive threshold needs both, as"
                " does an adaptation current (adaptation_coupling)"
            )
        if not -1 <= (self.adaptation_coupling or 0.0) <= 1:
            raise ValueError(
                f"adaptation_coupling = {self.adaptation_coupling} must be from -1 to 1"
            )
        if not 0 < self.adaptation < LARGEST:
            raise ValueError(f"adaptation = {self.adaptation} must be a positive number")
        if not 0 < self.adaptation_decay < 1:
            raise ValueError(
                f"adaptation_decay = {self.adaptation_decay} must be above 0 and below 1"
            )
        if self.max_spikes > 1 or self.reset == "hard-straight":
            raise ValueError(
                "an adaptive threshold is not offered with several spikes a step or the reset"
                " hard-straight"
            )
        if self.current_decay is not None or self.learned_decay is not None:
            raise ValueError(
                "an adaptive threshold is not offered with a synaptic current or a learned decay"
            )

    def _check_rounding(self) -> None:
        if self.rounding not in ROUNDINGS:
            raise ValueError(f"rounding = {self.rounding!r} is not one of {', '.join(ROUNDINGS)}")
        if (self.surrogate, self.slope) != ("straight-through", 1):
            raise ValueError("rounding needs the surrogate straight-through with slope 1")
        if self.reset not in ("soft", "none"):
            raise ValueError("rounding is offered with the resets soft and none")
        if self.learned_decay is not None or self.adaptation is not None:
            raise ValueError("rounding is not offered with a learned decay or adaptive threshold")

    def __hash__(self) -> int:
        return hash(self.text)  # a string caches its hash; kernels look specs up at every call

    @classmethod
    def of(cls, text: str) -> "NeuronSpec":
        """Returns the specification of `text`."""
        reset, detach, decay, threshold, surrogate, slope, most, *others = text.split()
        numbers = float(decay), float(threshold), surrogate, float(slope), int(most)
        if "rounds" in others:
            synapse = float(others[2]) if others[2:] else None
            return cls(reset, detach == "1", *numbers, current_decay=synapse, rounding=others[1])
        if "adapts" in others:
            return cls(
                reset,
                detach == "1",
                *numbers,
                adaptation=float(others[1]),
                adaptation_decay=float(others[2]),
                adaptation_coupling=float(others[3]) if others[3:] else None,
            )
        learned = others.pop() if others and others[-1] in LEARNED else None
        synapse = float(others[0]) if others else None
        return cls(reset, detach == "1", *numbers, current_decay=synapse, learned_decay=learned)

    @property
    def threshold_adapts(self) -> bool:
        """True if the threshold adapts, not the current."""
        return self.adaptation is not None and self.adaptation_coupling is None

    @property
    def subtracted(self) -> float:
        """Amount by which a spike lowers the potential in the soft resets."""
        return self.threshold / self.decay if self.reset == "soft-undecayed" else self.threshold

    def with_reset(self, reset: str) -> "NeuronSpec":
        return replace(self, reset=reset)

    def label(self) -> str:
        """Returns the name in NEURONS, or the reset with the fields that differ from its named
        neuron."""
        for name, spec in NEURONS.items():
            if spec == self:
                return name
        base = NEURONS[self.reset]
        different = [
            f"{f.name}={getattr(self, f.name)}"
            for f in fields(self)
            if getattr(self, f.name) != getattr(base, f.name)
        ]
        return f"{self.reset}({', '.join(different)})"

    def as_dict(self) -> dict:
        """Returns all fields but those that are None, so that new optional fields change no case
        id."""
        return {name: value for name, value in asdict(self).items() if value is not None}


NEURONS = {
    "soft": NeuronSpec(reset="soft"),
    "hard": NeuronSpec(reset="hard", detach_reset=True),
    "none": NeuronSpec(reset="none"),
    "soft-undecayed": NeuronSpec(reset="soft-undecayed"),
    "hard-straight": NeuronSpec(reset="hard-straight", detach_reset=True),
}


def decay_of(spec: NeuronSpec, parameter: Any, xp: Any) -> Any:
    """Returns the decay of a learned `parameter`; `xp` is its library: torch, jax.numpy or
    numpy."""
    if spec.learned_decay == "time-constant":
        return xp.exp(-1 / parameter)
    return parameter if spec.learned_decay == "direct" else 1 / (1 + xp.exp(parameter))


def within_domain(decay: float) -> float:
    """Returns a learned decay as the nearest one of a spec, as snnTorch's `Leaky` clamps it."""
    return min(max(decay, SMALLEST), 1.0)


def parameter_of_decay(spec: NeuronSpec) -> float:
    """Returns the initial parameter of a neuron with a learned decay."""
    if spec.learned_decay == "time-constant":
        return -1 / log(spec.decay)
    return spec.decay if spec.learned_decay == "direct" else log(1 / spec.decay - 1)


def decay_by_parameter(spec: NeuronSpec, decay: Any) -> Any:
    """Returns the derivative of a learned decay by its parameter."""
    if spec.learned_decay == "time-constant":
        return decay * log(decay) ** 2
    return 1.0 if spec.learned_decay == "direct" else -decay * (1 - decay)
