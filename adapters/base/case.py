"""One point of the grid: which network is computed, by whom, in which precision, on which device."""

from dataclasses import asdict, dataclass, field

from snnbench.kernels.spec import NeuronSpec

PHASES = ("forward", "backward", "step", "inference")


PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "amp-bf16")


WORKLOADS = ("linear-lif", "lif")


INPUTS = ("spikes", "dense")


@dataclass(frozen=True)
class Native:
    """In place of a NeuronSpec: what a framework's own tutorial gives. Another neuron in each, so that nothing ranks them."""

    native: bool = True

    def label(self) -> str:
        return "native"

    def as_dict(self) -> dict:
        return asdict(self)


NATIVE = Native()


@dataclass(frozen=True)
class Case:
    """One point of the grid. Sizes are counts; at every border arrays are (time_steps, batch, neurons)."""

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

    @property
    def framework_variant(self) -> str:
        """`framework:construction+mode`, defaults left out."""
        parts = [part for part, default in ((self.construction, "default"), (self.mode, "eager")) if part != default]
        return ":".join([self.framework, "+".join(parts)] if parts else [self.framework])

    @property
    def native(self) -> bool:
        return isinstance(self.neuron, Native)

    def as_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict) -> "Case":
        neuron = values["neuron"]
        return cls(**{**values, "neuron": Native(**neuron) if "native" in neuron else NeuronSpec(**neuron)})


def sizes(case: Case) -> str:
    return f"N={case.neurons} T={case.time_steps} B={case.batch} L={case.layers}"


def full_name(case: Case) -> str:
    """Enough to tell a case from all others of most grids."""
    return f"{case.framework_variant} {case.neuron.label()} {case.workload} {sizes(case)} {case.precision} {case.device}"
