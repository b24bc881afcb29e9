"""Mode `graph`: every phase is recorded once as a CUDA graph and then replayed."""

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .case import Case
from .contract import Unsupported
from .network import Network
from .torch_program import TorchProgram, TorchResult

if TYPE_CHECKING:
    from .torch_adapter import TorchAdapter

WARM_UPS = 3
"""Calls before a capture: libraries choose their algorithms and allocate their workspaces, which a capture may not do."""


class GraphProgram(TorchProgram):
    """Forward and backward are two graphs over one memory pool, a step is one graph, inference one; each is captured at its
    first call.

    A graph reads and writes always the same memory. So the given input is copied into the graph's own, inside the clock, as
    a user would have to, and a result holds until the next call of its phase. Gradients are those that the backward graph
    writes: overwritten at each replay, never added to.
    """

    def __init__(self, adapter: "TorchAdapter", case: Case, network: Network) -> None:
        super().__init__(adapter, case, network)
        self.graphs: dict[str, Captured] = {}
        self.inputs: dict[str, Tensor] = {}
        self.pool = new_pool()
        self.held: Callable[[], TorchResult | None] = lambda: None

    def forward(self, x: Tensor) -> TorchResult:
        self._take(x=x)
        if "forward" not in self.graphs:
            self._capture("forward", self._run_forward, self._run_forward, self.pool)
        result = self._replay("forward")
        # A leaf of its own for each call, so that gradients of earlier calls do not show up in this one.
        result = TorchResult(result.x.detach(), result.borders, result.output)
        self.held = weakref.ref(result)
        return result

    def backward(self, result: TorchResult, upstream: Tensor) -> TorchResult:
        self._take(upstream=upstream)
        if "backward" not in self.graphs:
            captured = self.graphs["forward"].outputs
            self._capture("backward", lambda: self._gradients_of(captured), self._run_both, self.pool)
        return self._with_gradients(result, self._replay("backward"))

    def step(self, x: Tensor, upstream: Tensor) -> TorchResult:
        self._take(x=x, upstream=upstream)
        if "step" not in self.graphs:
            self._capture("step", self._run_step, self._run_step, new_pool())
        result, gradients = self._replay("step")
        return self._with_gradients(TorchResult(result.x.detach(), result.borders, result.output), gradients)

    def inference(self, x: Tensor) -> TorchResult:
        self._take(x=x)
        if "inference" not in self.graphs:
            self._capture("inference", self._run_inference, self._run_inference, new_pool())
        result: TorchResult = self._replay("inference")
        return result

    def memory_probe(self) -> "GraphMemory":
        return GraphMemory(self)

    # -- what is captured ------------------------------------------------------------------------------------

    def _run_forward(self) -> TorchResult:
        return super().forward(self.inputs["x"])

    def _run_inference(self) -> TorchResult:
        return super().inference(self.inputs["x"])

    def _gradients_of(self, result: TorchResult) -> tuple[Tensor | None, ...]:
        """Gradients as new tensors: `Tensor.backward` would add to those of earlier calls."""
        leaves = [*self.leaves, *([result.x] if self.case.input_grad else [])]
        gradients = torch.autograd.grad(result.output, leaves, self.inputs["upstream"], allow_unused=True)
        return tuple(gradients)

    def _run_both(self) -> tuple[TorchResult, tuple[Tensor | None, ...]]:
        result = self._run_forward()
        return result, self._gradients_of(result)

    def _run_step(self) -> tuple[TorchResult, tuple[Tensor | None, ...]]:
        result, gradients = self._run_both()
        self._with_gradients(result, gradients)
        if self.leaves:
            self.optimizer.step()
        return result, gradients

    # -- capture and replay ----------------------------------------------------------------------------------

    def _take(self, **tensors: Tensor) -> None:
        for name, tensor in tensors.items():
            if name not in self.inputs:
                self.inputs[name] = torch.empty_like(tensor)
            self.inputs[name].copy_(tensor)

    def _capture(self, name: str, work: Callable[[], Any], warm_up: Callable[[], Any], pool: Any) -> None:
        with torch.cuda.device(self.device):
            self.graphs[name] = Captured(work, self._untraced(warm_up), pool)

    def _untraced(self, warm_up: Callable[[], Any]) -> Callable[[], None]:
        """`warm_up`, but it leaves no trace in running statistics."""

        def call() -> None:
            with self.unchanged_statistics():
                warm_up()

        return call

    def _replay(self, name: str) -> Any:
        self.replayed = self.graphs[name]
        self.replayed.replay()
        return self.replayed.outputs

    def _with_gradients(self, result: TorchResult, gradients: tuple[Tensor | None, ...]) -> TorchResult:
        leaves = [*self.leaves, *([result.x] if self.case.input_grad else [])]
        for leaf, gradient in zip(leaves, gradients, strict=True):
            leaf.grad = gradient
        return result

    def held_bytes(self) -> int:
        """What the forward whose result somebody holds keeps for its backward."""
        return self.graphs["forward"].kept_bytes if self.held() is not None else 0


def new_pool() -> Any:
    return torch.cuda.graph_pool_handle()


class Captured:
    """`work` as a graph: `replay` does it again, on the same memory; `outputs` are what it returned while it was captured.

    `peak_bytes` and `kept_bytes` are what capturing allocated at most, and what of it is still allocated afterwards.
    Raises Unsupported if the work does what cannot be captured, like waiting for the device.
    """

    def __init__(self, work: Callable[[], Any], warm_up: Callable[[], Any], pool: Any) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                warm_up()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        try:
            with torch.cuda.graph(self.graph, pool=pool):
                self.outputs = work()
        except torch.cuda.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise Unsupported(f"cannot be captured as a CUDA graph: {str(error).splitlines()[0]}") from error
        self.peak_bytes = torch.cuda.max_memory_allocated() - before
        self.kept_bytes = torch.cuda.memory_allocated() - before

    def replay(self) -> None:
        self.graph.replay()


class GraphMemory:
    """What a graph allocated while it was captured: replaying allocates nothing, and the memory stays taken."""

    meaning = "torch allocated for the graph"

    def __init__(self, program: GraphProgram) -> None:
        self.program = program

    def reset(self) -> None:
        self.before = self.program.held_bytes()

    def peak(self) -> tuple[int, int, int]:
        """(bytes that a forward holds, most bytes in use by the graph replayed last, most bytes held by the allocator)."""
        most = self.before + max(self.program.replayed.peak_bytes, 0)
        return self.before, most, torch.cuda.max_memory_reserved(self.program.device)
