"""One point of the grid: the network, its variant, the precision and the device."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from snnbench.kernels.spec import NeuronSpec

from .variant import DEFAULT_CONSTRUCTION, DEFAULT_MODE, VARIANT_FIELDS, Variant

PHASES = ("forward", "backward", "optimizer", "step", "inference")
USUAL_PHASES = ("forward", "backward", "step", "inference")
"""Phases that are measured unless a config says otherwise."""
PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "amp-bf16")
INPUTS = ("spikes", "dense", "images", "rate", "events")
SPIKES = ("spikes", "rate", "events")
"""Inputs that are 0 or 1."""

SPIKE_SHARE = 0.3
"""Share of ones in an input of spikes of a case without `firing`."""

DATA = "data"
"""The workload that delivers recordings as batches of frames. Its cases have no neuron."""

NETWORK = "network"
"""The workload that is a network of the config: a NIR file, or a Python function."""

NO_NETWORK = "none"
"""The value of `behind` if batches train nothing."""

NETWORK_FIELDS = ("neuron", "input", "input_grad")
"""Fields of every network; None in a case that delivers data."""

PARALLEL = ("data", "time")
"""Axes that ranks share: the items of the batch, or the time steps."""

RECIPES = ("steps", "lenz", "li")
"""Ways in which a network trains on delivered batches: neurons of one spike a step, the loss of the
mean over time, and an update for each batch; or as Lenz's comparison: neurons that fire many
spikes, the loss of the sum over time, and gradients without an update; or as Li et al.'s temporal
fusion: a spiking ResNet-18 on a camera's frames, with Adam."""

READOUTS = ("max_time", "softmax_sum")
"""Kinds of nodes that a case may name as the last one: the losses of papers on sounds."""

ABSENT: Any = None
"""Value of a field that the case's workload does not have."""

SIZES = {
    "neurons": "N",
    "time_steps": "T",
    "batch": "B",
    "layers": "L",
    "width": "W",
    "image": "I",
    "classes": "K",
    "samples": "S",
    "inputs": "in",
    "outputs": "out",
}
"""Axes along which a case gets bigger, each with its letter."""


@dataclass(frozen=True)
class Native:
    """The neuron of a framework's tutorial, in place of a NeuronSpec. It differs between
    frameworks, so natives are not ranked."""

    native: bool = True

    def label(self) -> str:
        return "native"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


NATIVE = Native()


def _of_some(default: Any = ABSENT, **facts: Any) -> Any:
    """Returns an axis of some workloads, None in cases of the others. `usual` is its usual value if
    that is not the default."""
    return field(default=default, metadata={"of_some": True, **facts})


@dataclass(frozen=True)
class Case:
    """One point of the grid. Arrays are (time_steps, batch, *features). `width` counts the channels
    of a network's first stage, `image` the pixels of a side; `firing` is the share of ones in an
    input of spikes. Without a `loss` backward takes a given gradient of the output; without an
    `optimizer` a step is plain gradient descent.

    A case of the workload `data` delivers an epoch of `samples` recordings of a `dataset`,
    `time_steps` frames each, in batches: through `loaders` processes of torch's DataLoader, into
    `pinned` memory or not, shifted by some channels with `augment`. The variant `behind` trains a
    network on them by a `recipe`, unless it is `none`.

    A case of the workload `network` names in `network` a network of its config, with a hash of its
    content: `braille@9f1c0a37d2b84e65`.

    A case of several `ranks` is computed by that many processes (of JAX: devices) together, each
    with a part of the batch (`parallel` is `data`) or of the time steps (`time`). Sizes are those
    of the whole. `parallel` and `ranks` are None for one rank.

    Ids rest on `as_dict`, which leaves out fields that are None. A field that is added later with
    the default None leaves every earlier id as it is."""

    framework: str
    construction: str = DEFAULT_CONSTRUCTION
    mode: str = DEFAULT_MODE
    device: str = "cpu"
    workload: str = "linear-lif"
    neuron: NeuronSpec | Native | None = field(default_factory=NeuronSpec)
    layers: int = _of_some(1)
    neurons: int = _of_some(256)
    time_steps: int = 50
    batch: int = 16
    precision: str = "fp32"
    input: str = "spikes"
    bias: bool = _of_some(True)
    input_grad: bool = True
    seed: int = 0
    width: int = _of_some()
    image: int = _of_some()
    classes: int = _of_some()
    norm: bool = _of_some(usual=True)
    firing: float = ABSENT
    loss: str = ABSENT
    optimizer: str = ABSENT
    dataset: str = _of_some()
    samples: int = _of_some()
    loaders: int = _of_some(usual=0)
    pinned: bool = _of_some(usual=False)
    augment: bool = _of_some(usual=False)
    behind: str = _of_some(usual=NO_NETWORK)
    network: str = ABSENT
    parallel: str = ABSENT
    ranks: int = ABSENT
    inputs: int = _of_some()
    outputs: int = _of_some()
    recurrent: bool = _of_some(usual=True)
    readout: str = _of_some(usual=READOUTS[0])
    heads: int = _of_some()
    recipe: str = _of_some(usual=RECIPES[0])

    @property
    def variant(self) -> Variant:
        framework, at, version = self.framework.partition("@")
        return Variant(framework, version if at else None, self.construction, self.mode)

    @property
    def framework_variant(self) -> str:
        """The variant's text: `framework[@version][:construction[+mode]]`."""
        return str(self.variant)

    def computed_by(self, variant: Variant) -> "Case":
        return replace(
            self,
            framework=variant.adapter,
            construction=variant.construction,
            mode=variant.mode,
        )

    @property
    def point(self) -> "Case":
        """The case without its variant: equal for all cases that are compared with each other."""
        return replace(self, framework="", construction="", mode="")

    @property
    def bare(self) -> "Case":
        """The case without its framework's version, as its worker sees it."""
        return replace(self, framework=self.variant.framework)

    @property
    def device_type(self) -> str:
        """`cpu` or `cuda`: the device without its index."""
        return self.device.partition(":")[0]

    @property
    def spec(self) -> NeuronSpec:
        """Returns the neuron. Raises TypeError for a native one, as its equations are unknown, and
        for a case that delivers data."""
        if isinstance(self.neuron, NeuronSpec):
            return self.neuron
        raise TypeError(
            "a native neuron has no spec"
            if self.neuron
            else "a case that delivers data has no neuron"
        )

    @property
    def neuron_label(self) -> str | None:
        """The neuron's name; None for a case that delivers data."""
        return self.neuron.label() if self.neuron else None

    @property
    def delivers_data(self) -> bool:
        """True if it delivers data and computes no network: its step is an epoch."""
        return self.workload == DATA

    @property
    def native(self) -> bool:
        return isinstance(self.neuron, Native)

    @property
    def id(self) -> str:
        """SHA-256 (16 hex digits) of the JSON of the canonical form."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """Returns the canonical form, ready for JSON."""
        values = {name: value for name, value in vars(self).items() if value is not None}
        return values | ({"neuron": self.neuron.as_dict()} if self.neuron else {})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Case":
        """Returns the case of a canonical form. Raises KeyError or TypeError for anything else."""
        absent = dict.fromkeys(
            WORKLOAD_AXES if "dataset" not in values else (*WORKLOAD_AXES, *NETWORK_FIELDS)
        )
        values = {**absent, **values}
        if (neuron := values["neuron"]) is not None:
            values["neuron"] = Native(**neuron) if "native" in neuron else NeuronSpec(**neuron)
        return cls(**values)


CASE_FIELDS = tuple(each.name for each in fields(Case))
WORKLOAD_AXES = tuple(each.name for each in fields(Case) if "of_some" in each.metadata)
"""Axes of some workloads; None in cases of the others."""
USUAL = {
    each.name: each.metadata.get("usual", each.default)
    for each in fields(Case)
    if each.name not in (*VARIANT_FIELDS, *SIZES)
    and each.name not in ("neuron", "workload", "network", "precision", "device")
}
"""Fields that a case's name leaves out where they have this value."""


def ranked_phase(workload: str, phases: Sequence[str], rank_by: str | None = None) -> str:
    """Returns the phase by which cases of a workload are ranked: `rank_by`, else the step, else
    the one of `phases` that is timed alone. Deliveries of data are ranked by their epochs, which
    count as steps."""
    if workload == DATA:
        return "step"
    return rank_by or ("step" if "step" in phases or len({*phases}) != 1 else phases[0])


def sizes(case: Case) -> str:
    """Returns the sizes of a case in short: `N=256 T=50 B=16 L=1`."""
    return " ".join(
        f"{letter}={size}"
        for name, letter in SIZES.items()
        if (size := getattr(case, name)) is not None
    )


def full_name(case: Case) -> str:
    """Returns a unique name, which leaves out fields with their usual value."""
    network = case.neuron_label, case.workload, case.network, sizes(case), unusual(case)
    words = case.framework_variant, *network, case.precision, case.device
    return " ".join(filter(None, words))


def unusual(case: Case) -> str:
    """Returns the other fields with an unusual value: `firing=0.02 input_grad=False`."""
    names = dict.fromkeys(("input", "firing", "norm", *USUAL))  # the order in stored plans
    return " ".join(
        f"{name}={value}"
        for name in names
        if (value := getattr(case, name)) not in (None, USUAL[name])
    )
