"""Mode `graph`: every phase is captured once as a CUDA graph and then replayed."""

import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from snnbench.core.case import Case
from snnbench.core.contract import Unsupported
from snnbench.core.network import Network

from .torch_network import TorchSpelling
from .torch_program import TorchProgram, TorchResult

WARM_UPS = 3
"""Calls before a capture, in which libraries choose algorithms and allocate workspaces: a capture
may do neither."""


class GraphProgram(TorchProgram):
    """Forward and backward are two graphs over one memory pool, a step is one graph, inference one;
    each is captured at its first call.

    A graph always reads and writes the same memory, `fixed_memory`; other input is copied there. A
    result is valid until the next call of its phase. Gradients are those that the backward graph
    writes: overwritten at each replay, never added to.
    """

    def __init__(self, adapter: TorchSpelling, case: Case, network: Network) -> None:
        super().__init__(adapter, case, network)
        self.graphs: dict[str, Captured] = {}
        self.fixed_memory: dict[str, Tensor] = {}
        self.pool = torch.cuda.graph_pool_handle()
        self.last_result: Callable[[], TorchResult | None] = lambda: None

    def forward(self, x: Tensor) -> TorchResult:
        self._take(x=x)
        replayed: TorchResult = self._replay(
            "forward", self._run_forward, self._run_forward, self.pool
        )
        # A new leaf per call: gradients of earlier calls must not appear in this one.
        result = replace(replayed, x=replayed.x.detach())
        self.last_result = weakref.ref(result)
        return result

    def backward(self, result: TorchResult, upstream: Tensor) -> TorchResult:
        self._take(upstream=upstream)
        gradients = self._replay("backward", self._run_backward, self._run_both, self.pool)
        return self._with_gradients(
            replace(result, loss=self.graphs["forward"].outputs.loss), gradients
        )

    def step(self, x: Tensor, upstream: Tensor) -> TorchResult:
        self._take(x=x, upstream=upstream)
        result, gradients = self._replay("step", self._run_step, self._run_undone_step)
        graded = self._with_gradients(replace(result, x=result.x.detach()), gradients)
        return (
            replace(graded, gradients={}, updated=self.parameters, states=self.trainer.states())
            if self.leaves
            else graded
        )

    def optimize(self, result: TorchResult) -> TorchResult:
        self._replay("optimizer", self.trainer.update, self._undone_update)
        return replace(result, gradients={}, updated=self.parameters, states=self.trainer.states())

    def inference(self, x: Tensor) -> TorchResult:
        self._take(x=x)
        work = partial(super().inference, self._memory("x"))
        result: TorchResult = self._replay("inference", work, work)
        return result

    def evaluate(self, x: Tensor) -> TorchResult:
        """Runs without a graph, which would keep its memory."""
        self._take(x=x)
        return super().evaluate(self._memory("x"))

    def memory_probe(self) -> "GraphMemory":
        super().memory_probe()
        return GraphMemory(self)

    def _run_forward(self) -> TorchResult:
        return super().forward(self._memory("x"))

    def _leaves_of(self, result: TorchResult) -> list[Tensor]:
        return [*self.leaves, *([result.x] if self.case.input_grad else [])]

    def _gradients_of(self, result: TorchResult) -> tuple[Tensor | None, ...]:
        """Returns gradients as new tensors: `Tensor.backward` would add to those of earlier
        calls."""
        output, upstream = result.output, self._memory("upstream")
        if self.trainer.loss is not None:
            result.loss, upstream = self.trainer.loss(output, upstream), None
            output = result.loss
        return tuple(
            torch.autograd.grad(output, self._leaves_of(result), upstream, allow_unused=True)
        )

    def _run_backward(self) -> tuple[Tensor | None, ...]:
        return self._gradients_of(self.graphs["forward"].outputs)

    def _run_both(self) -> tuple[TorchResult, tuple[Tensor | None, ...]]:
        result = self._run_forward()
        return result, self._gradients_of(result)

    def _run_step(self) -> tuple[TorchResult, tuple[Tensor | None, ...]]:
        result, gradients = self._run_both()
        self._with_gradients(result, gradients)
        if self.leaves:
            self.trainer.update()
        return result, gradients

    def _undone_update(self) -> None:
        self.trainer.update()
        self.roll_parameters(self.turn)

    def _run_undone_step(self) -> None:
        self._run_step()
        self.roll_parameters(self.turn)

    def _take(self, **tensors: Tensor) -> None:
        for name, tensor in tensors.items():
            if name not in self.fixed_memory:
                self.fixed_memory[name] = torch.empty_like(tensor)
            if tensor is not self.fixed_memory[name]:
                self.fixed_memory[name].copy_(tensor)

    def _memory(self, name: str) -> Tensor:
        """Returns a graph's input as a tensor apart from the one that is written to: autograd must
        not see writes between forward and backward."""
        return self.fixed_memory[name].data

    def _replay(
        self, name: str, work: Callable[[], Any], warm_up: Callable[[], Any], pool: Any = None
    ) -> Any:
        """Replays the graph `name` and returns the result of `work`. The first call captures it,
        after warm-ups that leave running statistics unchanged; its memory comes from `pool`, None
        for a new one."""
        if name not in self.graphs:
            with torch.cuda.device(self.device):
                self.graphs[name] = Captured(
                    work,
                    self.unchanged_statistics()(warm_up),
                    pool or torch.cuda.graph_pool_handle(),
                )
        self.replayed = self.graphs[name]
        self.replayed.replay()
        return self.replayed.outputs

    def _with_gradients(
        self, result: TorchResult, gradients: tuple[Tensor | None, ...]
    ) -> TorchResult:
        for leaf, gradient in zip(self._leaves_of(result), gradients, strict=True):
            leaf.grad = gradient
        return self.read_gradients(result)


class Captured:
    """`work` as a graph: `replay` repeats it on the same memory; `outputs` are its results.
    `peak_bytes` is the most that capturing allocated, `kept_bytes` the part that stays allocated.
    Raises Unsupported if the work cannot be captured, for example because it waits for the
    device."""

    def __init__(self, work: Callable[[], Any], warm_up: Callable[[], Any], pool: Any) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                warm_up()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        self.replay = graph.replay
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        try:
            with torch.cuda.graph(graph, pool=pool):
                self.outputs = work()
        except torch.cuda.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise Unsupported(
                f"cannot be captured as a CUDA graph: {str(error).splitlines()[0]}"
            ) from error
        self.peak_bytes = torch.cuda.max_memory_allocated() - before
        self.kept_bytes = torch.cuda.memory_allocated() - before


class GraphMemory:
    """Memory that a graph allocated while it was captured: replaying allocates nothing, and the
    memory stays allocated."""

    meaning = "torch allocated for the graph"

    def __init__(self, program: GraphProgram) -> None:
        self.program = program

    def reset(self) -> None:
        alive = self.program.last_result() is not None
        self.before = self.program.graphs["forward"].kept_bytes if alive else 0

    def in_use(self) -> int:
        """Bytes in use without the graphs' memory and their inputs, which count with the phase of
        each."""
        torch.cuda.synchronize(self.program.device)
        graphs = sum(graph.kept_bytes for graph in self.program.graphs.values())
        inputs = sum(tensor.nbytes for tensor in self.program.fixed_memory.values())
        return int(torch.cuda.memory_allocated(self.program.device) - graphs - inputs)

    def peak(self) -> tuple[int, int, int]:
        """Returns (bytes that a forward holds, most bytes in use by the last replayed graph, most
        bytes reserved by the allocator)."""
        most = self.before + max(self.program.replayed.peak_bytes, 0)
        return self.before, most, torch.cuda.max_memory_reserved(self.program.device)
