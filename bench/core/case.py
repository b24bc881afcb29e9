"""One point of the grid: which network is computed, by whom, in which precision, on which device."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
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

DATA = "data"
"""The workload that delivers recordings as batches of frames. Its cases have no neuron."""

NETWORK = "network"
"""The workload that is a network which the config brings: a NIR file, or a Python function."""

NO_NETWORK = "none"
"""In a case's `behind`: its batches train nothing."""

DATA_AXES = ("dataset", "samples", "loaders", "pinned", "augment", "behind")
WORKLOAD_AXES = ("layers", "neurons", "bias", "width", "image", "classes", "norm", *DATA_AXES)
"""Fields that are axes of some workloads. A case of a workload that does not declare one has None there."""
NETWORK_FIELDS = ("neuron", "input", "input_grad")
"""Fields that every network has, and that are None where a case delivers data."""

PARALLEL = ("data", "time")
"""What is dealt out to the ranks of a case: the items of its batch, or its time steps."""

ABSENT: Any = None
"""In a field that the case's workload does not have."""

SIZES = {
    "neurons": "N",
    "time_steps": "T",
    "batch": "B",
    "layers": "L",
    "width": "W",
    "image": "I",
    "classes": "K",
}
SIZES |= {"samples": "S"}
"""Fields that are counts, each with its letter: along them a case only gets bigger."""

USUAL = {
    "input": "spikes",
    "firing": None,
    "norm": True,
    "bias": True,
    "input_grad": True,
    "seed": 0,
}
USUAL |= {
    "loss": None,
    "optimizer": None,
    "dataset": None,
    "loaders": 0,
    "pinned": False,
    "augment": False,
    "behind": NO_NETWORK,
}
USUAL |= {"parallel": None, "ranks": None}
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

    A case of the workload `data` delivers an epoch of `samples` recordings of a `dataset`, `time_steps` frames each, in batches,
    through so many `loaders` (processes of torch's DataLoader), into `pinned` memory or not, and shifted by some channels with
    `augment`; the framework's variant `behind` trains a network on them, or `none` does.

    A case of the workload `network` has in `network` the name of a network that its config brings, and a hash of all that this
    is: `braille@9f1c0a37d2b84e65`.

    A case of several `ranks` is computed by so many processes (of JAX: devices) together, each with a part of the batch
    (`parallel` is `data`) or of the time steps (`time`). Sizes are those of the whole. One rank is no rank: both are None.

    `as_dict` is the canonical form, on which ids rest: all fields but those that are None, as axes are that the workload does
    not have. So a field that is added here later, with the default None, leaves every earlier id as it is."""

    framework: str
    construction: str = "default"
    mode: str = "eager"
    device: str = "cpu"
    workload: str = "linear-lif"
    neuron: NeuronSpec | Native | None = field(default_factory=NeuronSpec)
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
    dataset: str = ABSENT
    samples: int = ABSENT
    loaders: int = ABSENT
    pinned: bool = ABSENT
    augment: bool = ABSENT
    behind: str = ABSENT
    network: str = ABSENT
    parallel: str = ABSENT
    ranks: int = ABSENT

    @property
    def framework_variant(self) -> str:
        """`framework:construction+mode`, defaults left out."""
        parts = [
            part
            for part, default in ((self.construction, "default"), (self.mode, "eager"))
            if part != default
        ]
        return ":".join([self.framework, "+".join(parts)] if parts else [self.framework])

    @property
    def bare(self) -> "Case":
        """The case as its worker knows it: without the version or environment behind the framework's name, `snntorch@0.9.4`."""
        return replace(self, framework=self.framework.partition("@")[0])

    @property
    def spec(self) -> NeuronSpec:
        """The neuron. Raises TypeError where there is none, and for a native one, which has no equations here."""
        if isinstance(self.neuron, NeuronSpec):
            return self.neuron
        raise TypeError(
            "a native neuron has no spec"
            if self.neuron
            else "a case that delivers data has no neuron"
        )

    @property
    def neuron_label(self) -> str | None:
        """What the neuron is called; None where there is none."""
        return self.neuron.label() if self.neuron else None

    @property
    def native(self) -> bool:
        return isinstance(self.neuron, Native)

    @property
    def id(self) -> str:
        """SHA-256 (16 hex digits) of the JSON of the canonical form."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """The canonical form, ready for JSON."""
        values = {name: value for name, value in vars(self).items() if value is not None}
        return values | ({"neuron": self.neuron.as_dict()} if self.neuron else {})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Case":
        """The case of a canonical form. Raises KeyError or TypeError for what is none."""
        absent = dict.fromkeys(
            WORKLOAD_AXES if "dataset" not in values else (*WORKLOAD_AXES, *NETWORK_FIELDS)
        )
        given = {**absent, **values}
        if neuron := given["neuron"]:
            given["neuron"] = Native(**neuron) if "native" in neuron else NeuronSpec(**neuron)
        return cls(**given)


def variants_of(
    words: str, constructions: Sequence[str], modes: Sequence[str]
) -> list[tuple[str, str]]:
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


def missing_variant(
    name: str, case: Case, constructions: Sequence[str], modes: Sequence[str]
) -> str | None:
    """Which part of the case's variant the framework `name` with these constructions and modes does not have."""
    if case.construction not in constructions:
        return (
            f"{name} has no construction {case.construction!r} (it has {', '.join(constructions)})"
        )
    if case.mode not in modes:
        return f"{name} has no mode {case.mode!r} (it has {', '.join(modes)})"
    return None


def sizes(case: Case) -> str:
    """The sizes that a case has, in short: `N=256 T=50 B=16 L=1`."""
    return " ".join(
        f"{letter}={size}"
        for name, letter in SIZES.items()
        if (size := getattr(case, name)) is not None
    )


def full_name(case: Case) -> str:
    """Tells a case from all others: what its grid may vary, left out where it is as usual."""
    network = (case.neuron_label, case.workload, case.network)
    return " ".join(
        filter(
            None,
            (
                case.framework_variant,
                *network,
                sizes(case),
                unusual(case),
                case.precision,
                case.device,
            ),
        )
    )


def unusual(case: Case) -> str:
    """What its grid may vary beside, where it is not as usual: `firing=0.02 input_grad=False`."""
    return " ".join(
        f"{name}={value}"
        for name, usual in USUAL.items()
        if (value := getattr(case, name)) not in (None, usual)
    )
