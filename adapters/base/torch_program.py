"""The torch `Program`: precision, gradients and memory, the same for every framework on torch."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from snnbench.core.breakdown import Breakdown
from snnbench.core.case import Case
from snnbench.core.contract import (
    LEARNING_RATE,
    MemoryProbe,
    OtherNetwork,
    Parameters,
    Program,
    Statistics,
)
from snnbench.core.network import INPUT, Network, Shape
from snnbench.core.result import Array, Result
from snnbench.core.rolling import rolled
from snnbench.core.variant import COMPILE_MODES

from .time_loop import State, TimeLoop
from .torch_network import TorchNetwork, TorchSpelling
from .torch_training import Trainer

DTYPES = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "amp-bf16": torch.float32,
}


STATE_STEPS = 3
"""Steps that run until the dtype of a state is read. In the first step, from rest, the state may
still have the input's dtype."""


@dataclass(kw_only=True)
class TorchResult(Result):
    """`x` is the input, a leaf of the graph."""

    x: Tensor


class TorchProgram(Program):
    def __init__(self, adapter: TorchSpelling, case: Case, network: Network) -> None:
        self.adapter, self.case = adapter, case
        self.device = torch.device(case.device)
        self.device_clock = "events" if self.device.type == "cuda" else "process"
        self.dtype = DTYPES[case.precision]
        self.network = TorchNetwork(adapter, case, network).to(self.device, self.dtype)
        self.forward_function: Callable[[Tensor, bool], tuple[dict[str, Tensor], Tensor]] = (
            self.network.forward
        )
        for norm in self.network.norms().values():
            norm.float()  # statistics are float32, as under torch's autocast
        norms = self.network.norms().items()
        self.running_stats = {
            name: {"mean": norm.running_mean, "variance": norm.running_var} for name, norm in norms
        }
        self.network.dtype = None if case.precision == "amp-bf16" else self.dtype
        self.parameters = self.network.parameters_by_node()
        self.leaves = [
            parameter for named in self.parameters.values() for parameter in named.values()
        ]
        self.shapes, self.scales = network.parameters, network.scales(self.network.scale)
        on_cpu = self.device.type == "cpu"
        self.trainer = Trainer(
            case.loss,
            case.optimizer,
            self.parameters,
            self.scales,
            LEARNING_RATE,
            capturable=not on_cpu,
            fused=on_cpu and case.mode == "eager",
        )
        self.autocast: AbstractContextManager[Any] = nullcontext()
        if case.precision == "amp-bf16":
            self.autocast = torch.autocast(self.device.type, torch.bfloat16)

    # -- data

    def _put(self, array: Array, dtype: torch.dtype) -> Tensor:
        # Without a copy torch would share the memory of the harness's array on the CPU.
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, dtype, copy=True)

    def _scaled(self, array: Array, name: str) -> Array:
        """Returns `array` times the factor that is folded into node `name`."""
        return array * np.float32(self.scales[name]) if name in self.scales else array

    def load(self, parameters: Parameters) -> None:
        for node, named in self.parameters.items():
            for name, parameter in named.items():
                values = self._put(self._scaled(parameters[node][name], node), parameter.dtype)
                if values.numel() != parameter.numel():
                    raise OtherNetwork(
                        f"the {name} of {node} has shape {(*parameter.shape,)}, not "
                        f"{(*values.shape,)}"
                    )
                with torch.no_grad():
                    parameter.copy_(values.reshape(parameter.shape))
        self.loaded = [leaf.detach().clone() for leaf in self.leaves]
        self.roll_parameters(0)

    def roll_parameters(self, turn: int) -> None:
        self._set_mode(training=True)
        self.turn = turn
        shapes = (shape for shapes in self.shapes.values() for shape in shapes.values())
        with torch.no_grad():
            for leaf, loaded, shape in zip(self.leaves, self.loaded, shapes, strict=True):
                rolled(loaded.reshape(shape), turn, leaf.view(shape))
        for norm in self.network.norms().values():
            norm.reset_running_stats()
        self.trainer.rest()

    def prepare_inference(self, statistics: Statistics | None) -> None:
        self._set_mode(training=False)
        for norm, named in (statistics or {}).items():
            for name, array in named.items():
                self.running_stats[norm][name].copy_(self._put(array, torch.float32))

    def _set_mode(self, training: bool) -> None:
        """Sets the mode of all modules; timed calls find it set."""
        if self.network.training is not training:
            self.network.train(training)

    def put_input(self, array: Array) -> Tensor:
        return self._put(self._scaled(array, INPUT), self.dtype)

    def put_upstream(self, array: Array, result: TorchResult) -> Tensor:
        return self._put(array, result.output.dtype if self.case.loss is None else torch.int64)

    # -- calls

    def call(self, x: Tensor, every_border: bool) -> tuple[dict[str, Tensor], Tensor]:
        return self.forward_function(x, every_border)

    def forward(self, x: Tensor) -> TorchResult:
        self._set_mode(training=True)
        x = x.detach().requires_grad_(self.case.input_grad)
        with self.autocast:
            return self._result(x, *self.call(x, self.holds_borders))

    def features(self, x: Tensor) -> dict[str, Shape]:
        shapes: dict[str, Shape] = {}
        with suppress(Exception), torch.no_grad(), self.autocast, self.unchanged_statistics():
            for count, part in enumerate(self.network.parts, 1):
                shapes[part.nodes[-1]] = tuple(self.network(x, parts=count)[1].shape[2:])
        return shapes

    def backward(self, result: TorchResult, upstream: Tensor) -> TorchResult:
        if self.trainer.loss is None:
            result.output.backward(upstream)
        else:
            result.loss = self.trainer.loss(result.output, upstream)
            result.loss.backward()
        return self.read_gradients(result)

    def read_gradients(self, result: TorchResult) -> TorchResult:
        """Returns the result with the gradients of the last backward."""
        result.gradients = {
            node: {name: parameter.grad for name, parameter in named.items()}
            for node, named in self.parameters.items()
        }
        result.input_gradient = result.x.grad
        if result.loss is not None:
            result.loss = result.loss.detach()
        return result

    def inference(self, x: Tensor) -> TorchResult:
        return self._inferred(x, False)

    def evaluate(self, x: Tensor) -> TorchResult:
        return self._inferred(x, True)

    def _inferred(self, x: Tensor, every_border: bool) -> TorchResult:
        self._set_mode(training=False)
        with torch.no_grad(), self.autocast:
            return self._result(x, *self.call(x, every_border))

    def step(self, x: Tensor, upstream: Tensor) -> TorchResult:
        if not self.leaves:  # a network without parameters has nothing to update
            return self.backward(self.forward(x), upstream)
        for leaf in self.leaves:
            leaf.grad = None
        result = self.backward(self.forward(x), upstream)
        return self.optimize(result)

    def optimize(self, result: TorchResult) -> TorchResult:
        self.trainer.update()
        return replace(result, gradients={}, updated=self.parameters, states=self.trainer.states())

    def release(self) -> None:
        for parameter in self.network.parameters():
            parameter.grad = None

    # -- results

    def _result(self, x: Tensor, borders: dict[str, Tensor], output: Tensor) -> TorchResult:
        """Returns a result. Raises TypeError unless all values are plain tensors: a lazy one could
        be computed after the clock has stopped."""
        for value in (*borders.values(), output):
            if type(value) is not Tensor:
                raise TypeError(
                    "a neuron must return its spikes alone, as a torch.Tensor, not a "
                    f"{type(value).__name__}"
                )
        return TorchResult(x=x, borders=borders, output=output, running=self.running_stats)

    @property
    def parameter_bytes(self) -> int:
        return sum(leaf.nbytes for leaf in self.leaves)

    def argument_bytes(self) -> int:
        return self.parameter_bytes + self.trainer.state_bytes

    def result_bytes(self, result: TorchResult) -> int:
        gradients = [leaf.grad for leaf in [*self.leaves, result.x] if leaf.grad is not None]
        return sum(tensor.nbytes for tensor in [result.output, *gradients])

    def facts(self, result: TorchResult) -> dict[str, Any]:
        leaves = {id(leaf) for leaf in self.leaves}
        extra = [
            name
            for name, p in self.network.layers.named_parameters()
            if p.requires_grad and id(p) not in leaves
        ]
        warnings = (
            [f"also trains {', '.join(extra)}: their gradients are timed, too"] if extra else []
        )
        *_, spikes = result.borders.values()
        dtypes = {
            "output_dtype": str(spikes.dtype).removeprefix("torch."),
            "state_dtype": self.state_dtype(result.x),
        }
        scaled = (
            {"scaled_in_call": self.network.scaled_in_call} if self.network.scaled_in_call else {}
        )
        told = self.adapter.facts(self.case)
        warnings += told.get("warnings", [])
        return {**dtypes, **scaled, **told, "warnings": warnings}

    def state_dtype(self, x: Tensor) -> str | None:
        """Returns the dtype of the first neuron's state, from a few steps where the network takes
        them; None under a compiler, which hides it."""
        if self.case.mode in COMPILE_MODES:
            return None
        first = next(
            index for index, part in enumerate(self.network.parts) if part.neuron is not None
        )
        few = x[: self.network.network.mixed_steps or STATE_STEPS]
        with torch.no_grad(), self.autocast, self.unchanged_statistics():
            return dtypes_of_state(
                self.network.parts[first].module, lambda: self.network(few, parts=first + 1)
            )

    @contextmanager
    def unchanged_statistics(self) -> Iterator[None]:
        """Runs calls inside the block on copies of the running statistics. The buffers themselves
        come back afterwards: a CUDA graph may hold them."""
        buffers = [
            (norm, *named)
            for norm in self.network.norms().values()
            for named in norm.named_buffers()
        ]
        for norm, name, buffer in buffers:
            setattr(norm, name, buffer.clone())
        try:
            yield
        finally:
            for norm, name, buffer in buffers:
                setattr(norm, name, buffer)

    def compile_facts(self) -> dict[str, Any]:
        seconds = self.adapter.compile_seconds()
        return {} if seconds is None else {"compile_s": seconds}

    # -- breakdown, ceilings, clocks, memory

    def breakdown(self, x: Tensor, upstream: Tensor, trace: str | None = None) -> Breakdown:
        from .torch_breakdown import breakdown

        return breakdown(self, x, upstream, trace, staged=self.case.mode == "eager")

    def clock(self) -> Any:
        """Returns a time stamp of the device, for `seconds`."""
        if self.device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, start: Any, end: Any) -> float:
        if self.device.type != "cuda":
            return float(end - start)
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Restores parameters, running statistics and the optimizer's states after the block."""
        with self.unchanged_statistics():
            yield
        self.release()
        self.roll_parameters(self.turn)

    def matmul(self, rows: int, inner: int, columns: int, dtype: str) -> Callable[[], object]:
        left = torch.ones(rows, inner, device=self.device, dtype=DTYPES[dtype])
        right = torch.ones(inner, columns, device=self.device, dtype=DTYPES[dtype])
        out = torch.empty(rows, columns, device=self.device, dtype=DTYPES[dtype])
        return lambda: torch.mm(left, right, out=out)

    def copy(self, count: int) -> Callable[[], object]:
        source = torch.zeros(count, device=self.device)
        target = torch.empty_like(source)
        return lambda: target.copy_(source)

    def memory_probe(self) -> MemoryProbe | None:
        _import_late_modules()
        return CudaMemory(self.device) if self.device.type == "cuda" else None


class CudaMemory:
    meaning = "torch allocated"

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def reset(self) -> None:
        torch.cuda.synchronize(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        self.before = torch.cuda.memory_allocated(self.device)

    def in_use(self) -> int:
        torch.cuda.synchronize(self.device)
        return int(torch.cuda.memory_allocated(self.device))

    def peak(self) -> tuple[int, int, int]:
        torch.cuda.synchronize(self.device)
        return (
            self.before,
            torch.cuda.max_memory_allocated(self.device),
            torch.cuda.max_memory_reserved(self.device),
        )


def _import_late_modules() -> None:
    """Runs a backward of one number: in its first one torch imports modules, which are not the
    program's memory."""
    torch.zeros(1, requires_grad=True).backward(torch.ones(1))


def dtypes_of_state(module: torch.nn.Module, run: Callable[[], object]) -> str | None:
    """Returns the dtypes of the floating-point states of the neuron in `module` after `run()`
    called it; None if they are hidden.

    The state of a `TimeLoop` is recorded from `scan`; another module may have that of its last call
    in an attribute `state`. A framework with a surrogate that returns float32 has float32 states
    for any input.
    """
    loop = next((part for part in module.modules() if isinstance(part, TimeLoop)), None)
    states: list[State] = []
    if loop is None:
        run()
        states = [part.state for part in module.modules() if hasattr(part, "state")]
    else:
        scan = loop.scan

        def recording_scan(currents: Tensor, state: State) -> tuple[Tensor, State]:
            spikes, after = scan(currents, state)
            states.append(after)
            return spikes, after

        loop.scan = recording_scan  # type: ignore[method-assign]
        try:
            run()
        finally:
            del loop.scan
    tensors = [
        leaf
        for leaf in tree_leaves(states)
        if isinstance(leaf, Tensor) and leaf.is_floating_point()
    ]
    names = {str(tensor.dtype).removeprefix("torch.") for tensor in tensors}
    return ", ".join(sorted(names)) or None
