"""The contract between the harness and an adapter: what is asked (Case), who answers (Adapter), what is driven (Program)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from snnbench.kernels.spec import NeuronSpec

from .case import Case
from .network import Network


class Unsupported(Exception):
    """An adapter raises this, with the reason as its text, when its framework cannot do what a case asks."""


class BuildFailed(Exception):
    """A base class raises this, with the compiler's complaint as its text, when a framework cannot be compiled."""


Parameters = dict[str, dict[str, np.ndarray]]
"""float32 arrays by node and name (weight, bias, recurrent), of the shapes that `Network.parameters` has."""


@dataclass
class Gradients:
    """Gradients of one call as float32 arrays: of the parameters by node and name, of the input (T, B, *features).

    What a program should have given and did not is None; so is the input's where the case asks for none.
    """

    parameters: dict[str, dict[str, np.ndarray | None]]
    input: np.ndarray | None


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
    distribution: str | None = None
    """The distribution whose version is reported; default: the top-level name of the last of `requires`."""
    constructions: tuple[str, ...] = ("default",)
    modes: tuple[str, ...] = ("eager",)
    devices: tuple[str, ...] = ("cpu", "cuda")

    def supports(self, case: Case) -> str | None:
        """The reason why this framework cannot run `case`, in words for the user; None if it can."""
        return None

    def fixed_point(self, case: Case) -> FixedPoint | None:
        """For a construction that computes in fixed point on purpose: how far that takes it from the exact network."""
        return None

    def current_scale(self, spec: NeuronSpec) -> float:
        """The factor by which currents must be multiplied because the framework divides its input by it."""
        return 1.0

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
        return 1.0 if case.native else self.current_scale(case.neuron)

    def refuses(self, case: Case, network: Network) -> str | None:
        """`supports` plus what the harness itself can tell from the declarations above."""
        if case.construction not in self.constructions:
            return f"{self.name} has no construction {case.construction!r} (it has {', '.join(self.constructions)})"
        if case.mode not in self.modes:
            return f"{self.name} has no mode {case.mode!r} (it has {', '.join(self.modes)})"
        if case.device.split(":")[0] not in self.devices:
            return f"{self.name} does not run on {case.device}"
        if case.precision == "tf32" and case.device == "cpu":
            return "TF32 exists on CUDA devices only"
        if case.native:
            return self._refuses_native(case)
        reason = self.supports(case)
        if not isinstance(reason, str | None):
            raise TypeError(f"{self.name}.supports must return None, or the reason why not as a text, not {reason!r}")
        if reason is None and not is_power_of_two(scale := self.scale_of(case)):
            reason = f"{self.name} scales its input by 1/{scale:.6g}; only a power of two can be undone exactly"
        return reason

    def _refuses_native(self, case: Case) -> str | None:
        if self.native_description is None:
            return f"{self.name} has no native neuron"
        if case.construction != self.constructions[0]:
            return f"a native neuron stands behind one Linear, as in construction {self.constructions[0]!r}"
        return None

    @abstractmethod
    def prepare(self, case: Case, threads: int) -> None:
        """Set the framework's global switches (threads, TF32, matmul precision) for this case."""

    @abstractmethod
    def program(self, case: Case, network: Network) -> "Program":
        """Build `network` as `case` asks on its device, parameters not yet loaded."""


class Program(ABC):
    """One network on one device, as the worker drives it. Calls may return before the work is done; `wait` waits."""

    device_clock = "process"
    """What `device_timer` measures: `events` (CUDA events) or `process` (CPU time of this process, all threads)."""

    holds_borders = True
    """Whether a forward's result holds the spikes of every layer. False while memory is weighed: who trains a network asks for
    the last ones only, and a framework may not need the others."""

    @abstractmethod
    def load(self, parameters: Parameters) -> None:
        """Set all parameters of the network."""

    @abstractmethod
    def put_input(self, array: np.ndarray) -> Any:
        """Move a float32 (T, B, K) input to the device in the case's precision; currents of `lif` are scaled here."""

    @abstractmethod
    def put_upstream(self, array: np.ndarray, result: Any) -> Any:
        """Move the float32 gradient of the loss by the network's output, of its shape, to the device, in the dtype of `result`'s."""

    @abstractmethod
    def forward(self, x: Any) -> Any:
        """Spikes with everything kept that backward needs. The result goes to `wait`, `spikes` and `backward`."""

    @abstractmethod
    def backward(self, result: Any, upstream: Any) -> Any:
        """Fresh gradients of weights, biases and (if the case says so) input."""

    @abstractmethod
    def inference(self, x: Any) -> Any:
        """Spikes, nothing kept."""

    @abstractmethod
    def step(self, x: Any, upstream: Any) -> Any:
        """Forward, backward and an SGD update with learning rate 0."""

    @abstractmethod
    def wait(self, result: Any) -> None:
        """Return once everything in `result` is computed."""

    @abstractmethod
    def spikes(self, result: Any) -> dict[str, np.ndarray]:
        """Spikes as new float32 arrays (T, B, *features) by neuron: of all for a forward's result, of those that an inference
        hands out, the last at least."""

    @abstractmethod
    def output(self, result: Any) -> np.ndarray:
        """The value of the network's last node as a new float32 array."""

    def statistics(self) -> dict[str, dict[str, np.ndarray]]:
        """Running `mean` and `variance` of every norm, by node."""
        return {}

    @abstractmethod
    def gradients(self, result: Any) -> Gradients:
        """What `backward` gave, as new arrays, scale factors undone."""

    def release(self) -> None:
        """Forget gradients of earlier calls, outside the clock."""
        return

    @abstractmethod
    def argument_bytes(self) -> int:
        """Bytes of weights and biases on the device."""

    @abstractmethod
    def result_bytes(self, result: Any) -> int:
        """Bytes of what a call handed back: spikes of a forward, gradients of a backward."""

    @abstractmethod
    def matmul(self, rows: int, inner: int, columns: int, dtype: str):
        """A function that multiplies (rows, inner) by (inner, columns) once and waits; for measuring ceilings."""

    @abstractmethod
    def copy(self, count: int):
        """A function that copies `count` float32 numbers once and waits; for measuring ceilings."""

    def device_timer(self):
        """A timer with start(), stop() and, after a wait, seconds(); None: the worker uses process CPU time."""
        return None

    def memory_probe(self):
        """A device memory probe with reset() and peak(); None: the worker reads the host's high-water mark."""
        return None

    def facts(self, result: Any) -> dict[str, Any]:
        """What a reader should know of this run: output dtype, providers chosen by the framework, warnings."""
        return {}

    def compile_facts(self) -> dict[str, Any]:
        """Where something is compiled, so far: `compile_s`, and if known `graph_breaks` and `recompiles`."""
        return {}


def is_power_of_two(value: float) -> bool:
    return value > 0 and float(np.frexp(value)[0]) == 0.5
