"""Mode `graph`: every phase is recorded once as a CUDA graph and then replayed."""

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
"""Calls before a capture: libraries choose their algorithms and allocate their workspaces, which a
capture may not do."""


class GraphProgram(TorchProgram):
    """Forward and backward are two graphs over one memory pool, a step is one graph, inference one;
    each is captured at its first call.

    A graph reads and writes always the same memory: `fixed_memory`, where a user's batches belong
    too. What is given in other memory is copied there. A result holds until the next call of its
    phase. Gradients are those that the backward graph writes: overwritten at each replay, never
    added to.
    """

    def __init__(self, adapter: TorchSpelling, case: Case, network: Network) -> None:
        super().__init__(adapter, case, network)
        self.graphs: dict[str, Captured] = {}
        self.fixed_memory: dict[str, Tensor] = {}
        self.pool = torch.cuda.graph_pool_handle()
        self.held: Callable[[], TorchResult | None] = lambda: None

    def forward(self, x: Tensor) -> TorchResult:
        self._take(x=x)
        replayed: TorchResult = self._replay(
            "forward", self._run_forward, self._run_forward, self.pool
        )
        # A leaf of its own for each call, so that gradients of earlier calls do not show up in this
        # one.
        result = replace(replayed, x=replayed.x.detach())
        self.held = weakref.ref(result)
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
        work = partial(super().inference, self._own("x"))
        result: TorchResult = self._replay("inference", work, work)
        return result

    def memory_probe(self) -> "GraphMemory":
        super().memory_probe()
        return GraphMemory(self)

    def _run_forward(self) -> TorchResult:
        return super().forward(self._own("x"))

    def _leaves_of(self, result: TorchResult) -> list[Tensor]:
        return [*self.leaves, *([result.x] if self.case.input_grad else [])]

    def _gradients_of(self, result: TorchResult) -> tuple[Tensor | None, ...]:
        """Gradients as new tensors: `Tensor.backward` would add to those of earlier calls."""
        given, upstream = result.output, self._own("upstream")
        if self.trainer.loss is not None:
            result.loss, upstream = self.trainer.loss(given, upstream), None
            given = result.loss
        return tuple(
            torch.autograd.grad(given, self._leaves_of(result), upstream, allow_unused=True)
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

    def _own(self, name: str) -> Tensor:
        """What a graph reads, for autograd another tensor than what is written to: writes come
        between forward and backward."""
        return self.fixed_memory[name].data

    def _replay(
        self, name: str, work: Callable[[], Any], warm_up: Callable[[], Any], pool: Any = None
    ) -> Any:
        """What `work` returns, done by the graph `name`. The first call captures it, after warm-ups
        that leave no trace in running statistics; its memory comes from `pool`, None: one of its
        own."""
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
        return self.graded(result)


class Captured:
    """`work` as a graph: `replay` does it again, on the same memory; `outputs` are what it returned
    while it was captured. `peak_bytes` and `kept_bytes` are what capturing allocated at most, and
    what of it is still allocated afterwards. Raises Unsupported if the work does what cannot be
    captured, like waiting for the device."""

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
    """What a graph allocated while it was captured: replaying allocates nothing, and the memory
    stays taken."""

    meaning = "torch allocated for the graph"

    def __init__(self, program: GraphProgram) -> None:
        self.program = program

    def reset(self) -> None:
        forward_held = self.program.held() is not None
        self.before = self.program.graphs["forward"].kept_bytes if forward_held else 0

    def in_use(self) -> int:
        """Without what the graphs hold, and their input and upstream gradient: that is weighed with
        the phase of each."""
        torch.cuda.synchronize(self.program.device)
        graphs = sum(graph.kept_bytes for graph in self.program.graphs.values())
        given = sum(tensor.nbytes for tensor in self.program.fixed_memory.values())
        return int(torch.cuda.memory_allocated(self.program.device) - graphs - given)

    def peak(self) -> tuple[int, int, int]:
        """(bytes that a forward holds, most bytes in use by the graph replayed last, most bytes
        held by the allocator)."""
        most = self.before + max(self.program.replayed.peak_bytes, 0)
        return self.before, most, torch.cuda.max_memory_reserved(self.program.device)
