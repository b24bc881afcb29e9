"""One point of the grid: which network is computed, by whom, in which precision, on which device."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from snnbench.kernels.spec import NeuronSpec

PHASES = ("forward", "backward", "optimizer", "step", "inference")
USUAL_PHASES = ("forward", "backward", "step", "inference")
"""Those that are measured unless a config says otherwise."""
PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "amp-bf16")
INPUTS = ("spikes", "dense", "images", "rate", "events")
SPIKES = ("spikes", "rate", "events")
"""Inputs that are 0 or 1."""

SPIKE_SHARE = 0.3
"""Of an input of spikes so many are 1, where a case has no `firing`."""

NETWORK_AXES = ("layers", "neurons", "bias", "width", "image", "classes", "norm")
"""Fields that are axes of some workloads. A case of a workload that does not declare one has None there."""

ABSENT: Any = None
"""In a field that the case's workload does not have."""

SIZES = {"neurons": "N", "time_steps": "T", "batch": "B", "layers": "L", "width": "W", "image": "I", "classes": "K"}
"""Fields that are counts, each with its letter: along them a case only gets bigger."""

USUAL = {"input": "spikes", "firing": None, "norm": True, "bias": True, "input_grad": True, "seed": 0}
USUAL |= {"loss": None, "optimizer": None}
"""Fields that a case's name leaves out, each with the value that most cases have."""


@dataclass(frozen=True)
class Native:
    """In place of a NeuronSpec: what a framework's own tutorial gives. Another neuron in each, so that nothing ranks them."""

    native: bool = True

    def label(self) -> str:
        return "native"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


NATIVE = Native()


@dataclass(frozen=True)
class Case:
    """One point of the grid. Sizes are counts; at every border arrays are (time_steps, batch, *features). `width` is the
    channels of a network's first stage, `image` the pixels of a side, `firing` the share of ones in an input of spikes. Without a
    `loss` backward is given a gradient of the output, and without an `optimizer` a step is plain gradient descent.
    `as_dict` is the canonical form, on which ids rest: all fields but those that are None, as axes are that the workload does
    not have. So a field that is added here later, with the default None, leaves every earlier id as it is."""

    framework: str
    construction: str = "default"
    mode: str = "eager"
    device: str = "cpu"
    workload: str = "linear-lif"
    neuron: NeuronSpec | Native = field(default_factory=NeuronSpec)
    layers: int = 1
    neurons: int = 256
    time_steps: int = 50
    batch: int = 16
    precision: str = "fp32"
    input: str = "spikes"
    bias: bool = True
    input_grad: bool = True
    seed: int = 0
    width: int = ABSENT
    image: int = ABSENT
    classes: int = ABSENT
    norm: bool = ABSENT
    firing: float = ABSENT
    loss: str = ABSENT
    optimizer: str = ABSENT

    @property
    def framework_variant(self) -> str:
        """`framework:construction+mode`, defaults left out."""
        parts = [part for part, default in ((self.construction, "default"), (self.mode, "eager")) if part != default]
        return ":".join([self.framework, "+".join(parts)] if parts else [self.framework])

    @property
    def spec(self) -> NeuronSpec:
        """The neuron. Raises TypeError for a native one, which has no equations here."""
        if isinstance(self.neuron, NeuronSpec):
            return self.neuron
        raise TypeError("a native neuron has no spec")

    @property
    def native(self) -> bool:
        return isinstance(self.neuron, Native)

    @property
    def id(self) -> str:
        """SHA-256 (16 hex digits) of the JSON of the canonical form."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """The canonical form, ready for JSON."""
        return {name: value for name, value in vars(self).items() if value is not None} | {"neuron": self.neuron.as_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Case":
        """The case of a canonical form. Raises KeyError or TypeError for what is none."""
        neuron = values["neuron"]
        spec = Native(**neuron) if "native" in neuron else NeuronSpec(**neuron)
        return cls(**{**dict.fromkeys(NETWORK_AXES), **values, "neuron": spec})


def variants_of(words: str, constructions: Sequence[str], modes: Sequence[str]) -> list[tuple[str, str]]:
    """The (construction, mode) pairs that `words`, the part of a framework's name after the colon, stand for. `stepwise+compile`
    is one pair, with what is not named at its default; `*` is every construction in eager mode. Raises KeyError with a word that
    is neither a construction nor a mode."""
    if words == "*":
        return [(construction, "eager") for construction in constructions]
    construction, mode = constructions[0], "eager"
    for word in filter(None, words.split("+")):
        if word in modes:
            mode = word
        elif word in constructions:
            construction = word
        else:
            raise KeyError(word)
    return [(construction, mode)]


def sizes(case: Case) -> str:
    """The sizes that a case has, in short: `N=256 T=50 B=16 L=1`."""
    return " ".join(f"{letter}={size}" for name, letter in SIZES.items() if (size := getattr(case, name)) is not None)


def full_name(case: Case) -> str:
    """Tells a case from all others: what its grid may vary, left out where it is as usual."""
    parts = (case.framework_variant, case.neuron.label(), case.workload, sizes(case), unusual(case), case.precision, case.device)
    return " ".join(filter(None, parts))


def unusual(case: Case) -> str:
    """What its grid may vary beside, where it is not as usual: `firing=0.02 input_grad=False`."""
    return " ".join(f"{name}={value}" for name, usual in USUAL.items() if (value := getattr(case, name)) not in (None, usual))
