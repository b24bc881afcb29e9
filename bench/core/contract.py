"""The contract between the harness and an adapter: what is asked (Case and Network), who answers (Adapter), what is driven
(Program)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import frexp
from types import MappingProxyType
from typing import Any, Protocol

from snnbench.kernels.spec import NeuronSpec

from .breakdown import Breakdown
from .case import DATA, Case
from .network import Network, Node, Shape
from .result import Array, ReadByHarness, Result
from .training import refused

LEARNING_RATE = 0.5
"""Of the update in `Program.step`: so large that an update shows its gradient in all its digits. Parameters that are scaled by s
have the gradient of the network over s, and this rate times s²."""

Parameters = dict[str, dict[str, Array]]
"""float32 arrays by node and name (weight, bias, recurrent), of the shapes that `Network.parameters` has."""


class Unsupported(Exception):
    """An adapter raises this, with the reason as its text, when its framework cannot do what a case asks."""


class BuildFailed(Exception):
    """A base class raises this, with the compiler's complaint as its text, when a framework cannot be compiled."""


class OtherNetwork(Exception):
    """A base class raises this, with the reason as its text, when what an adapter built is not the network of the case."""


class RankDied(Exception):
    """One of the processes that compute a case together has ended before its time; the text says which, and how."""


class RankAbsent(Exception):
    """One of the processes that compute a case together is alive, and does not come; the text says which."""


ACROSS = (Unsupported, BuildFailed, OtherNetwork, RankDied, RankAbsent)
"""Exceptions that stay what they are on their way from one process to another."""


class MemoryProbe(Protocol):
    """Bytes on a device: `in_use` now, once everything is computed; `before`, in use at the last reset; the peak since."""

    meaning: str
    before: int

    def reset(self) -> None: ...
    def in_use(self) -> int: ...

    def peak(self) -> tuple[int, int, int | None]:
        """(bytes in use at reset, most bytes in use since, most bytes held by the allocator or None)."""


@dataclass(frozen=True)
class FixedPoint:
    """What a construction states of itself that computes in whole multiples of a unit, as its hardware does.

    The proof holds it to this: first the construction `exact`, which must differ from it in nothing else, passes in fp32.
    Then weights are rounded to multiples of `weight_step` between `least_weight` and `most_weight`, for framework and oracle
    alike; decisions may differ where the potential is within `distance` of a threshold, at most the share `decisions` of
    them, and gradients by a relative L2 error of `gradient`. What is more than bf16 is allowed counts as that.
    """

    exact: str
    weight_step: float
    least_weight: float
    most_weight: float
    decisions: float
    distance: float
    gradient: float


class Adapter(ABC):
    """What every adapter declares. Subclass TorchAdapter or JaxAdapter, not this."""

    name: str
    requires: tuple[str, ...] = ()
    """Modules to import; one that is missing is reported as not installed."""
    distribution: str | None = None
    """The distribution whose version is reported, such as "my-framework"; default: the top-level name of the last of `requires`.
    An adapter from outside that names none and requires only torch or JAX has no version that is known."""
    constructions: tuple[str, ...] = ("default",)
    """Ways to spell the network; the first is the default."""
    linear_constructions: tuple[str, ...] = ()
    """Those of `constructions` that are about the linear layer in front of a neuron; refused for networks without one."""
    synaptic_constructions: tuple[str, ...] = ()
    """Those of `constructions` whose neurons can have a synaptic current, `current_decay` in their specification."""
    learned_decays: Mapping[str, str] = MappingProxyType({})
    """The neuron's parameter, as the framework calls it, by the way in which a decay can be learned (`kernels.spec.LEARNED`)."""
    learning_constructions: tuple[str, ...] = ()
    """Those of `constructions` whose neurons can learn their decay."""
    adaptive_constructions: tuple[str, ...] = ()
    """Those of `constructions` whose neurons can have an adaptive threshold, `adaptation` in their specification."""
    handed_constructions: tuple[str, ...] = ()
    """Those of `constructions` whose neurons' states go in and come out, so that ranks can share the time steps."""
    modes: tuple[str, ...] = ("eager",)
    """Ways to run a construction."""
    devices: tuple[str, ...] = ("cpu", "cuda")
    loads_data: bool = False
    """Whether its cases are those of the workload `data`, and no others."""
    refusal: str | None = None
    """Why this framework can compute no case at all, in words for the user; None if it can compute some."""

    def supports(self, case: Case) -> str | None:
        """The reason why this framework cannot run `case`, in words for the user; None if it can."""
        return None

    def fixed_point(self, case: Case) -> FixedPoint | None:
        """For a construction that computes in fixed point on purpose: how far that takes it from the exact network."""
        return None

    def current_scale(self, spec: NeuronSpec) -> float:
        """The factor by which currents must be multiplied because the framework divides its input by it: a power of two. It is
        folded into the parameters in front of the neuron and taken out of their gradients again."""
        return 1.0

    def neuron(self, spec: NeuronSpec, features: tuple[int, ...]) -> Any:
        """A torch module or a pure JAX function from currents (T, B, *features) to spikes of that shape, from rest."""
        raise NotImplementedError(f"{type(self).__name__} does not define neuron(spec, features)")

    def lif(self, spec: NeuronSpec, features: tuple[int, ...], construction: str) -> Any:
        """The neuron as `construction` spells it, like `neuron`: what stands alone or behind anything but a linear layer."""
        return self.neuron(spec, features)

    def potentials(self, spec: NeuronSpec, features: tuple[int, ...], construction: str) -> Any:
        """Optional: like `lif`, from currents to (spikes, potentials before the spike), both (T, B, *features)."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define potentials(spec, features, construction)"
        )

    def native(self, features: tuple[int, ...]) -> Any:
        """The tutorial's neuron with its defaults, spelled like `neuron`: its own surrogate, reset, scaling and output.

        Optional. The first line of its docstring says what it computes and stands in reports; the rest names the source.
        """
        raise Unsupported(f"{self.name} has no native neuron")

    @property
    def native_description(self) -> str | None:
        """What `native` computes, in one line; None if there is none."""
        if type(self).native is Adapter.native:
            return None
        return (type(self).native.__doc__ or "").strip().partition("\n")[0].removesuffix(".")

    def scale_of(self, case: Case) -> float:
        """`current_scale`, for constructions that scale differently; a native neuron keeps the scaling of its framework."""
        return self.current_scale(case.neuron) if isinstance(case.neuron, NeuronSpec) else 1.0

    def neuron_of(self, case: Case, node: Node, features: tuple[int, ...]) -> Any:
        """The neuron at `node` as `case` asks for it: `native`, `potentials` or `lif`."""
        if case.native:
            return self.native(features)
        spell = self.potentials if node.options["potentials"] else self.lif
        return spell(node.options["neuron"], features, case.construction)

    def refuses(self, case: Case, network: Network) -> str | None:
        """`refusal` and `supports`, plus what the harness itself can tell from the declarations above and from `network`."""
        if case.workload == DATA:
            return f"{self.name} computes networks; it loads no data"
        if reason := self.refusal or self.refuses_variant(case):
            return reason
        if case.device_type not in self.devices:
            return f"{self.name} does not run on {case.device}"
        if case.precision == "tf32" and case.device == "cpu":
            return "TF32 exists on CUDA devices only"
        if case.construction in self.linear_constructions and not network.neurons_behind("linear"):
            return f"{case.construction} is about the linear layer in front of a neuron, and this network has no linear layer"
        if case.native:
            return self._refuses_native(case, network)
        if (wrong := refused(case.loss, network)) or (case.optimizer and not network.parameters):
            return wrong or f"{case.optimizer} moves parameters, and this network has none"
        neurons = [replace(case, neuron=spec) for spec in network.specs or (case.spec,)]
        if len({self.scale_of(each) for each in neurons}) > 1:
            return f"{self.name} scales its input by its decay, and this network's neurons have several"
        return next(
            (reason for each in neurons if (reason := self._refuses_neuron(each, network))), None
        )

    def refuses_variant(self, case: Case) -> str | None:
        """Returns the part of the case's variant that this adapter does not have, in words."""
        for kind, name, names in (
            ("construction", case.construction, self.constructions),
            ("mode", case.mode, self.modes),
        ):
            if name not in names:
                return f"{self.name} has no {kind} {name!r} (it has {', '.join(names)})"
        return None

    def _refuses_neuron(self, case: Case, network: Network) -> str | None:
        """Why this framework cannot compute `network` with neurons that are those of `case`."""
        if (
            case.spec.current_decay is not None
            and case.construction not in self.synaptic_constructions
        ):
            return f"{self.name}'s neurons are offered without a synaptic current in construction {case.construction!r}"
        if (
            case.spec.adaptation is not None
            and case.construction not in self.adaptive_constructions
        ):
            return f"{self.name}'s neurons are offered without an adaptive threshold in construction {case.construction!r}"
        if case.spec.learned_decay and (wrong := self._refuses_learned(case, network)):
            return wrong
        reason = self.supports(case)
        if not isinstance(reason, str | None):
            raise TypeError(
                f"{self.name}.supports must return None, or the reason why not as a text, not {reason!r}"
            )
        if reason is None and case.spec.max_spikes > 1 and case.spec.reset.startswith("hard"):
            reason = "a hard reset after a count of spikes is not defined"
        if reason is None and frexp(scale := self.scale_of(case))[0] != 0.5:
            reason = f"{self.name} scales its input by 1/{scale:.6g}; only a power of two can be undone exactly"
        options = [network.node(name).options for name in network.neurons]
        if (
            reason is None
            and any(o["potentials"] for o in options)
            and type(self).potentials is Adapter.potentials
        ):
            reason = f"{self.name} is not offered here with neurons that hand out potentials"
        if reason is None and any(o["potentials"] and o["recurrent"] for o in options):
            reason = "a recurrent neuron that hands out potentials is not offered"
        if (
            reason is None
            and case.spec.current_decay is not None
            and any(o["recurrent"] for o in options)
        ):
            reason = "a recurrent neuron with a synaptic current is not offered"
        return reason

    def _refuses_learned(self, case: Case, network: Network) -> str | None:
        way = case.spec.learned_decay
        if way not in self.learned_decays or case.construction not in self.learning_constructions:
            place = f"in construction {case.construction!r}"
            return f"{self.name}'s neurons are offered without a decay that is learned as {way!r} {place}"
        if not (case.loss and case.optimizer):
            return "a decay is learned with a loss and an optimizer: plain gradient descent would leave no decay"
        if any(network.node(name).options["recurrent"] for name in network.neurons):
            return "a recurrent neuron that learns its decay is not offered"
        return None

    def _refuses_native(self, case: Case, network: Network) -> str | None:
        if self.native_description is None:
            return f"{self.name} has no native neuron"
        if case.construction != self.constructions[0]:
            return f"a native neuron stands behind one Linear, as in construction {self.constructions[0]!r}"
        if case.loss or case.optimizer:
            return "a native neuron is measured with a given gradient and plain gradient descent"
        if any(
            network.node(name).options[kind]
            for name in network.neurons
            for kind in ("recurrent", "potentials")
        ):
            return "a native neuron has no recurrent linear, and hands out spikes alone"
        return None

    @abstractmethod
    def prepare(self, case: Case, threads: int) -> None:
        """Set the framework's global switches (threads, TF32, matmul precision) for this case."""

    @abstractmethod
    def program(self, case: Case, network: Network) -> "Program":
        """Build `network` as `case` asks on its device, parameters not yet loaded. Its neurons are all `case.neuron`, but of a
        network that the config brings, whose nodes say which they are."""


class Program(ReadByHarness, Protocol):
    """One network on one device, as the worker drives it. Calls may return before the work is done. What they hand out the
    harness waits for and reads by itself, and what is done outside the clock it does itself where it can: the methods of
    `ReadByHarness` are no program's own."""

    holds_borders: bool = True
    """Whether a forward's result holds the spikes of every neuron. False while memory is weighed: who trains a network asks for
    the last ones only, and a framework may not need the others."""

    def load(self, parameters: Parameters) -> None:
        """Set all parameters of the network, and running statistics to mean 0 and variance 1."""

    def put_input(self, array: Array) -> Any:
        """Move a float32 input (T, B, *features) to the device in the case's precision; an input of currents is scaled here."""

    def roll_parameters(self, turn: int) -> None:
        """Set every parameter, of the network's shape, to what was loaded, as `rolling.rolled` does with `turn`, in place where
        that can be done, running statistics to mean 0 and variance 1, and the optimizer's states to 0."""

    def put_upstream(self, array: Array, result: Any) -> Any:
        """Move the float32 gradient of the loss by the network's output, of its shape, to the device, in the dtype of
        `result`'s output. In a case with a loss: move its labels (B,), whole numbers, in their place."""

    def forward(self, x: Any) -> Result:
        """Compute the network, everything kept that backward needs. The result goes to `backward`."""

    def features(self, x: Any) -> dict[str, Shape]:
        """By node, in their order: the features of its value in a forward of x, as far as that comes without raising. Nodes
        within a module of the framework's own are left out."""
        return {}

    def backward(self, result: Any, upstream: Any) -> Result:
        """Fresh gradients of the parameters and (if the case says so) of the input; of the case's loss, which is computed here,
        if it has one."""

    def inference(self, x: Any) -> Result:
        """Compute the same as forward, nothing kept. What it leaves of running statistics is not judged."""

    def step(self, x: Any, upstream: Any) -> Result:
        """Forward, backward and `optimize`."""

    def optimize(self, result: Any) -> Result:
        """Update the parameters with the gradients of `result`, a backward's: by the case's optimizer, or else by gradient
        descent with LEARNING_RATE."""
        raise Unsupported("this program updates its parameters in a whole step only")

    def release(self) -> None:
        """Forget gradients of earlier calls, outside the clock."""
        return

    def argument_bytes(self) -> int:
        """Bytes of the parameters and of the optimizer's states on the device."""

    def result_bytes(self, result: Any) -> int:
        """Bytes of what a call handed back: the output of a forward, gradients of a backward."""

    def matmul(self, rows: int, inner: int, columns: int, dtype: str) -> Callable[[], object]:
        """A function that multiplies (rows, inner) by (inner, columns) once, and hands out what is waited for; for measuring
        ceilings."""

    def copy(self, count: int) -> Callable[[], object]:
        """A function that copies `count` float32 numbers once, always the same, and hands out what is waited for; for measuring
        ceilings."""

    def memory_probe(self) -> MemoryProbe | None:
        """A device memory probe; None: the worker reads the host's high-water mark."""
        return None

    def facts(self, result: Any) -> dict[str, Any]:
        """What a reader should know of this run: output dtype, providers chosen by the framework, warnings. A kernel that chooses
        how to multiply spikes names its `product` (event, table, dense; several with commas between) and, as `product_rate`, the
        share of ones that it counted, on which the choice rested. `scaled_in_call`
        names the neurons whose currents are multiplied by `current_scale` inside the call, because no parameters stand in front
        of them that could take the factor."""
        return {}

    def breakdown(self, x: Any, upstream: Any, trace: str | None = None) -> Breakdown:
        """What a step spends where, outside the clock; leaves parameters and states as they were. `trace` is a file to write a
        trace of a step to, JSON that Perfetto opens."""
        return Breakdown(unknown="this program does not take its steps apart")

    def compile_facts(self) -> dict[str, Any]:
        """Where something is compiled, so far: `compile_s`, and if known `graph_breaks` and `recompiles`."""
        return {}
