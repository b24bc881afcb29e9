"""The contract between the harness and an adapter: an Adapter makes a Program from a Case and a
Network."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from math import frexp
from types import MappingProxyType
from typing import Any, Literal, Protocol

from snnbench.kernels.spec import NeuronSpec

from .breakdown import Breakdown
from .case import Case
from .network import Network, Node, Shape
from .result import Array, ReadByHarness, Result
from .training import refused

LEARNING_RATE = 0.5
"""The rate of plain gradient descent, large enough that a gradient can be read from its update.
Parameters that are stored times s have the network's gradient divided by s, and this rate times
s²."""

Parameters = dict[str, dict[str, Array]]
"""float32 arrays by node and name (weight, bias, recurrent), shaped as in `Network.parameters`."""

Statistics = dict[str, dict[str, Array]]
"""Running `mean` and `variance` (C,) of norms in float32, by node."""


class Unsupported(Exception):
    """Raised by an adapter of a framework that cannot compute a case; the text is the reason."""


class BuildFailed(Exception):
    """Raised by a base class if a framework cannot be compiled; the text is the compiler's."""


class OtherNetwork(Exception):
    """Raised by a base class if an adapter built another network; the text is the reason."""


class RankDied(Exception):
    """A rank of a case has died; the text says which, and how."""


class RankAbsent(Exception):
    """A rank of a case is alive but does not answer; the text says which."""


CONTRACT_ERRORS = (Unsupported, BuildFailed, OtherNetwork, RankDied, RankAbsent)
"""Exceptions that keep their class between processes."""


class MemoryProbe(Protocol):
    """Memory of a device in bytes: `in_use()` once everything is computed, `before` at the last
    `reset()`, and `peak()` since then. A probe of other processes also has `returned()`, a context
    in which freed memory leaves them (see `measure.memory`)."""

    meaning: str
    before: int

    def reset(self) -> None: ...
    def in_use(self) -> int: ...

    def peak(self) -> tuple[int, int, int | None]:
        """Returns the bytes in use at the reset, the most in use since, and the most that the
        allocator held, or None."""


@dataclass(frozen=True)
class FixedPoint:
    """Tolerances of a construction that computes in whole multiples of a unit, as its hardware
    does.

    First `exact`, the same construction without rounding, must pass the proof in fp32. Then weights
    are rounded to multiples of `weight_step` between `least_weight` and `most_weight`, for
    framework and oracle alike. Decisions may differ where the potential is within `distance` of a
    threshold, at most the share `decisions` of them, and gradients by a relative L2 error of
    `gradient`. All tolerances are capped at those of bf16."""

    exact: str
    weight_step: float
    least_weight: float
    most_weight: float
    decisions: float
    distance: float
    gradient: float


LEARNABLE = 0.01, 0.99
"""Bounds of the initial value of a decay that is its own parameter: within them, the steps of the
proof do not take it out of (0, 1], where snnTorch clamps it and others do not."""

Trait = Literal[
    "linear",
    "synaptic",
    "adaptive",
    "coupled",
    "learning",
    "rounding",
    "resumable",
    "uncut",
    "recurrent",
    "feedback",
    "chain",
    "container",
    "loader",
]


class Adapter(ABC):
    """The declarations of every adapter. Subclass TorchAdapter or JaxAdapter, not this."""

    name: str
    requires: tuple[str, ...] = ()
    """Modules to import; a missing one is reported as not installed."""
    distribution: str | None = None
    """The distribution with the reported version, such as "my-framework"; default: the top-level
    name of the last of `requires`. A third-party adapter has no known version if its files import
    none of the distribution's modules, or if it names none and requires only torch or JAX."""
    constructions: Mapping[str, Set[Trait]] = {"default": set()}
    """Ways to write the network, with their traits; the first is the default.

    linear      it is about the linear layer in front of a neuron; refused for networks without one
    synaptic    its neurons can have a synaptic current (`current_decay`)
    adaptive    its neurons can have an adaptive threshold (`adaptation`)
    coupled     its neurons can have an adaptation current (`adaptation_coupling`)
    learning    its neurons can learn their decay
    rounding    its neurons can fire whole numbers that are rounded, or have no memory (decay 0)
    resumable   its neurons take and return their states, so that ranks can share the time steps
    uncut       torch: its neuron is no TimeLoop; refused for recurrent neurons, unless it is
    recurrent   torch: it has a module for a recurrent neuron
    feedback    it is about a recurrent neuron; refused for networks without one
    chain       torch: it is a chain of layers, called once per step: no norms, no shortcuts
    container   torch: its layers stand in one container: no neurons behind other kinds of nodes
    loader      data: it uses torch's DataLoader, with its processes and pinned memory
    """
    learned_decays: Mapping[str, str] = MappingProxyType({})
    """The framework's name of the neuron's parameter by the way in which a decay can be learned
    (`kernels.spec.LEARNED`)."""
    modes: tuple[str, ...] = ("eager",)
    """Ways to run a construction."""
    devices: tuple[str, ...] = ("cpu", "cuda")
    loads_data: bool = False
    """True if its cases are those of the workload `data`, and no others."""
    refusal: str | None = None
    """The reason why this framework can compute no case at all; None if it can compute some."""

    def has_trait(self, trait: Trait, case: Case) -> bool:
        """Returns true if the construction of a case has a trait."""
        return trait in self.constructions[case.construction]

    def supports(self, case: Case) -> str | None:
        """Returns the reason why this framework cannot run `case`, None if it can."""
        return None

    def fixed_point(self, case: Case) -> FixedPoint | None:
        """Returns the tolerances of a construction that computes in fixed point on purpose."""
        return None

    def current_scale(self, spec: NeuronSpec) -> float:
        """Returns the factor by which the framework divides its input. The harness multiplies the
        parameters in front of the neuron by it and corrects their gradients. Except in fp32 it must
        be a power of two, which changes no digit of a weight."""
        return 1.0

    def neuron(self, spec: NeuronSpec, features: tuple[int, ...]) -> Any:
        """Returns a torch module or a pure JAX function from currents (T, B, *features) to spikes
        of that shape, from rest."""
        raise NotImplementedError(f"{type(self).__name__} does not define neuron(spec, features)")

    def lif(self, spec: NeuronSpec, features: tuple[int, ...], construction: str) -> Any:
        """Optional: like `neuron`, for adapters with other neurons in other constructions. Bases
        call it for every neuron, also behind the default linear layer."""
        return self.neuron(spec, features)

    def potentials(self, spec: NeuronSpec, features: tuple[int, ...], construction: str) -> Any:
        """Optional: like `lif`, but from currents to (spikes, potentials before the spike), both
        (T, B, *features)."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define potentials(spec, features, construction)"
        )

    def native(self, features: tuple[int, ...]) -> Any:
        """Optional: like `neuron`, but the neuron of the framework's tutorial with its defaults,
        its surrogate, reset, scaling and output.

        The first paragraph of an override's docstring says what it computes and is shown in
        reports; the rest names the source.
        """
        raise Unsupported(f"{self.name} has no native neuron")

    @property
    def native_description(self) -> str | None:
        """The first paragraph of `native`'s docstring; None without a native neuron."""
        if type(self).native is Adapter.native:
            return None
        return " ".join(
            (type(self).native.__doc__ or "").partition("\n\n")[0].split()
        ).removesuffix(".")

    def scale_of(self, case: Case) -> float:
        """Returns `current_scale` of the case's neuron, and 1 for a native neuron, which keeps the
        scaling of its framework. Optional: override it if constructions scale differently."""
        return self.current_scale(case.neuron) if isinstance(case.neuron, NeuronSpec) else 1.0

    def neuron_of(self, case: Case, node: Node, features: tuple[int, ...]) -> Any:
        """Returns the neuron at `node`: `native`, `potentials` or `lif`."""
        if case.native:
            return self.native(features)
        make_neuron = self.potentials if node.options["potentials"] else self.lif
        return make_neuron(node.options["neuron"], features, case.construction)

    def refuses(self, case: Case, network: Network) -> str | None:
        """Returns the reason why this adapter cannot compute a case, None if it can: `refusal`,
        `supports`, and what follows from the declarations above and from `network`."""
        if case.delivers_data:
            return f"{self.name} computes networks; it loads no data"
        if reason := self.refusal or self.refuses_variant(case):
            return reason
        if case.device_type not in self.devices:
            return f"{self.name} does not run on {case.device}"
        if case.precision == "tf32" and case.device == "cpu":
            return "TF32 exists on CUDA devices only"
        feeds_back = self.has_trait("recurrent", case) and network.has_neuron("recurrent")
        if (
            self.has_trait("linear", case)
            and not network.neurons_behind("linear")
            and not feeds_back
        ):
            return (
                f"{case.construction} is about the linear layer in front of a neuron, "
                "and this network has no linear layer"
            )
        if self.has_trait("feedback", case) and not network.has_neuron("recurrent"):
            return f"{case.construction} is about a recurrent neuron, and this network has none"
        if (steps := network.mixed_steps or case.time_steps) != case.time_steps:
            return f"this network mixes {steps} time steps, not {case.time_steps}"
        if case.native:
            return self._refuses_native(case, network)
        if (wrong := refused(case.loss, network)) or (case.optimizer and not network.parameters):
            return wrong or f"{case.optimizer} moves parameters, and this network has none"
        neurons = [replace(case, neuron=spec) for spec in network.specs or (case.spec,)]
        if len({self.scale_of(each) for each in neurons}) > 1:
            return (
                f"{self.name} scales its input by its decay, "
                "and this network's neurons have several"
            )
        return next(
            (reason for each in neurons if (reason := self._refuses_neuron(each, network))), None
        )

    def refuses_variant(self, case: Case) -> str | None:
        """Returns a sentence if this adapter lacks the construction or mode of a case."""
        for kind, name, names in (
            ("construction", case.construction, self.constructions),
            ("mode", case.mode, self.modes),
        ):
            if name not in names:
                return f"{self.name} has no {kind} {name!r} (it has {', '.join(names)})"
        return None

    def _refuses_neuron(self, case: Case, network: Network) -> str | None:
        """Returns the reason why `network` cannot be computed with the neuron of `case`."""
        if case.spec.current_decay is not None and not self.has_trait("synaptic", case):
            return self._offered_without("a synaptic current", case)
        if case.spec.adaptation is not None and not self.has_trait("adaptive", case):
            return self._offered_without("an adaptive threshold", case)
        if case.spec.adaptation_coupling is not None and not self.has_trait("coupled", case):
            return self._offered_without("an adaptation current", case)
        if not self.has_trait("rounding", case):
            if case.spec.rounding is not None:
                return self._offered_without("spikes that are rounded", case)
            if case.spec.decay == 0:
                return f"{self.name}'s neurons have a memory: decay 0 is not offered"
        if case.spec.learned_decay and (wrong := self._refuses_learned(case, network)):
            return wrong
        reason = self.supports(case)
        if not isinstance(reason, str | None):
            raise TypeError(
                f"{self.name}.supports must return None, or the reason why not as a text, "
                f"not {reason!r}"
            )
        if reason is not None:
            return reason
        if case.spec.max_spikes > 1 and case.spec.reset.startswith("hard"):
            return "a hard reset after a count of spikes is not defined"
        is_power_of_two = frexp(scale := self.scale_of(case))[0] == 0.5
        if case.precision != "fp32" and not is_power_of_two:
            return (
                f"{self.name} scales its input by 1/{scale:.6g}; in {case.precision} only a power "
                "of two can be undone exactly"
            )
        if network.has_neuron("potentials") and type(self).potentials is Adapter.potentials:
            return f"{self.name} is not offered here with neurons that hand out potentials"
        if (
            case.spec.reset == "none"
            and case.spec.learned_decay is None
            and any(
                node.options["potentials"]
                for node in map(network.node, network.neurons)
                if node.options["neuron"] == case.spec
            )
        ):
            return "potentials that are never reset are those of a node integrator: use that kind"
        if network.has_neuron("potentials", "recurrent"):
            return "a recurrent neuron that hands out potentials is not offered"
        return None

    def _offered_without(self, what: str, case: Case) -> str:
        where = f"in construction {case.construction!r}"
        return f"{self.name}'s neurons are offered without {what} {where}"

    def _refuses_learned(self, case: Case, network: Network) -> str | None:
        way = case.spec.learned_decay
        if way not in self.learned_decays or not self.has_trait("learning", case):
            return self._offered_without(f"a decay that is learned as {way!r}", case)
        if not (case.loss and case.optimizer):
            return (
                "a decay is learned with a loss and an optimizer: "
                "plain gradient descent would leave no decay"
            )
        least, most = LEARNABLE
        if way == "direct" and not least <= case.spec.decay <= most:
            return (
                f"a decay that begins at {case.spec.decay:g} can leave (0, 1] while it is learned "
                f"directly, where frameworks differ; it must begin between {least:g} and {most:g}"
            )
        if network.has_neuron("recurrent"):
            return "a recurrent neuron that learns its decay is not offered"
        return None

    def _refuses_native(self, case: Case, network: Network) -> str | None:
        if self.native_description is None:
            return f"{self.name} has no native neuron"
        if case.construction != (default := next(iter(self.constructions))):
            return f"a native neuron stands behind one Linear, as in construction {default!r}"
        if case.loss or case.optimizer:
            return "a native neuron is measured with a given gradient and plain gradient descent"
        if network.has_neuron("recurrent") or network.has_neuron("potentials"):
            return "a native neuron has no recurrent linear, and hands out spikes alone"
        return None

    @abstractmethod
    def prepare(self, case: Case, threads: int) -> None:
        """Sets the framework's global switches (threads, TF32, matmul precision)."""

    @abstractmethod
    def program(self, case: Case, network: Network) -> "Program":
        """Builds `network` on the device of `case`; its parameters are loaded later. All neurons
        are `case.neuron`, except in a network of the config, where the nodes name them."""


class Program(ReadByHarness, Protocol):
    """One network on one device, as the worker drives it. Calls may be asynchronous: the harness
    waits for results and reads them by the methods of `ReadByHarness`, which no program may
    define."""

    holds_borders: bool = True
    """True if a forward's result holds the spikes of every neuron. False while memory is measured:
    training needs the last ones only, and a framework may drop the others."""

    def load(self, parameters: Parameters) -> None:
        """Sets all parameters, and running statistics to mean 0 and variance 1."""

    def put_input(self, array: Array) -> Any:
        """Moves a float32 input (T, B, *features) to the device in the case's precision, and scales
        an input of currents."""

    def roll_parameters(self, turn: int) -> None:
        """Sets every parameter to the loaded one, rolled in the network's shape by `rolling.rolled`
        with `turn`, in place where possible; running statistics to mean 0 and variance 1, and the
        optimizer's states to 0."""

    def put_upstream(self, array: Array, result: Any) -> Any:
        """Moves the float32 gradient by the network's output to the device, in the dtype of
        `result`'s output; in a case with a loss instead the labels (B,), whole numbers."""

    def prepare_inference(self, statistics: Statistics | None) -> None:
        """Makes the next call of `inference` or `evaluate` start in eval mode, and sets the running
        statistics unless they are None. Untimed; `roll_parameters` undoes both."""
        return

    def forward(self, x: Any) -> Result:
        """Computes the network in training mode and keeps all that `backward` needs."""

    def features(self, x: Any) -> dict[str, Shape]:
        """Returns the features of each node's value in a forward of x, in order, up to the first
        node that fails. Nodes inside a module of the framework are left out."""
        return {}

    def backward(self, result: Any, upstream: Any) -> Result:
        """Computes the loss, if the case has one, and fresh gradients of the parameters and, if the
        case says so, of the input."""

    def inference(self, x: Any) -> Result:
        """Computes the network in eval mode and keeps nothing: norms use their running statistics
        and leave them as they are. Of spikes the result needs those of the last neuron only."""

    def evaluate(self, x: Any) -> Result:
        """Computes what `inference` computes, with the spikes of every neuron. It is not timed:
        the harness judges an inference by the hidden spikes that this call hands out."""
        return self.inference(x)

    def step(self, x: Any, upstream: Any) -> Result:
        """Computes forward, backward and `optimize`."""

    def optimize(self, result: Any) -> Result:
        """Updates the parameters by the gradients of `result`, with the case's optimizer, or else
        by gradient descent with LEARNING_RATE."""
        raise Unsupported("this program updates its parameters in a whole step only")

    def release(self) -> None:
        """Frees gradients of earlier calls, outside the clock."""
        return

    def argument_bytes(self) -> int:
        """Returns the bytes of parameters and optimizer states on the device."""

    def result_bytes(self, result: Any) -> int:
        """Returns the bytes of a call's result: output of a forward, gradients of a backward."""

    def matmul(self, rows: int, inner: int, columns: int, dtype: str) -> Callable[[], object]:
        """Returns a function that multiplies (rows, inner) by (inner, columns) once and returns an
        object to wait for; it measures ceilings."""

    def copy(self, count: int) -> Callable[[], object]:
        """Returns a function that copies the same `count` float32 numbers once and returns an
        object to wait for; it measures ceilings."""

    def memory_probe(self) -> MemoryProbe | None:
        """Returns a probe of device memory; None: the worker reads the host's peak."""
        return None

    def facts(self, result: Any) -> dict[str, Any]:
        """Returns facts for readers of this run, such as

        output_dtype    the dtype of the spikes
        backend         what the framework chose
        warnings        sentences
        product         how a kernel multiplied spikes: event, table, dense; several with commas
        product_rate    the counted share of ones that decided it
        scaled_in_call  neurons with currents that are multiplied by `current_scale` inside the
                        call, because no parameters in front of them could take the factor
        """
        return {}

    def breakdown(self, x: Any, upstream: Any, trace: str | None = None) -> Breakdown:
        """Profiles a step, outside the clock, and restores parameters and states. A trace of a step
        is written to the file `trace`, as JSON that Perfetto opens."""
        return Breakdown(unknown="this program does not take its steps apart")

    def compile_facts(self) -> dict[str, Any]:
        """Returns `compile_s` so far, and if known `graph_breaks` and `recompiles`."""
        return {}
