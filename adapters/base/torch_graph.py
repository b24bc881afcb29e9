"""Mode `graph`: every phase is recorded once as a CUDA graph and then replayed. Untested: no CUDA device has run this yet."""

import weakref

import torch

from .contract import Unsupported
from .torch_program import Result, TorchProgram

WARM_UPS = 3
"""Calls before a capture: libraries choose their algorithms and allocate their workspaces, which a capture may not do."""


class GraphProgram(TorchProgram):
    """Forward and backward are two graphs over one memory pool, a step is one graph, inference one; each is captured at its
    first call.

    A graph reads and writes always the same memory. So the given input is copied into the graph's own, inside the clock, as
    a user would have to, and a result holds until the next call of its phase. Gradients are those that the backward graph
    writes: overwritten at each replay, never added to.
    """

    def __init__(self, adapter, case):
        super().__init__(adapter, case)
        self.graphs: dict[str, Captured] = {}
        self.given: dict[str, torch.Tensor] = {}
        self.pool = new_pool()

    def forward(self, x):
        self._take(x=x)
        if "forward" not in self.graphs:
            self._capture("forward", self._run_forward, self._run_forward, self.pool)
        kept = self._replay("forward")
        # A leaf of its own for each call, so that gradients of earlier calls do not show up in this one.
        return self._hold(Result(kept.x.detach(), kept.borders))

    def backward(self, result, upstream):
        self._take(upstream=upstream)
        if "backward" not in self.graphs:
            kept = self.graphs["forward"].outputs
            self._capture("backward", lambda: self._gradients_of(kept), self._run_both, self.pool)
        return self._with_gradients(result, self._replay("backward"))

    def step(self, x, upstream):
        self._take(x=x, upstream=upstream)
        if "step" not in self.graphs:
            self._capture("step", self._run_step, self._run_step, new_pool())
        kept, gradients = self._replay("step")
        return self._with_gradients(Result(kept.x.detach(), kept.borders), gradients)

    def inference(self, x):
        self._take(x=x)
        if "inference" not in self.graphs:
            self._capture("inference", self._run_inference, self._run_inference, new_pool())
        return self._replay("inference")

    def memory_probe(self):
        return GraphMemory(self)

    # -- what is captured ------------------------------------------------------------------------------------

    def _run_forward(self):
        return super().forward(self.given["x"])

    def _run_inference(self):
        return super().inference(self.given["x"])

    def _gradients_of(self, result):
        """Gradients as new tensors: `Tensor.backward` would add to those of earlier calls."""
        leaves = self.parameters + ([result.x] if self.case.input_grad else [])
        return torch.autograd.grad(result.borders[-1], leaves, self.given["upstream"], allow_unused=True)

    def _run_both(self):
        result = self._run_forward()
        return result, self._gradients_of(result)

    def _run_step(self):
        result, gradients = self._run_both()
        self._with_gradients(result, gradients)
        if self.parameters:
            self.optimizer.step()
        return result, gradients

    # -- capture and replay ----------------------------------------------------------------------------------

    def _take(self, **tensors):
        for name, tensor in tensors.items():
            if name not in self.given:
                self.given[name] = torch.empty_like(tensor)
            self.given[name].copy_(tensor)

    def _capture(self, name, work, warm_up, pool):
        with torch.cuda.device(self.device):
            self.graphs[name] = Captured(work, warm_up, pool)

    def _replay(self, name):
        self.replayed = self.graphs[name]
        self.replayed.replay()
        return self.replayed.outputs

    def _with_gradients(self, result, gradients):
        leaves = self.parameters + ([result.x] if self.case.input_grad else [])
        for leaf, gradient in zip(leaves, gradients, strict=True):
            leaf.grad = gradient
        return result

    def _hold(self, result):
        self.held = weakref.ref(result)
        return result

    def held_bytes(self) -> int:
        """What the forward whose result somebody holds keeps for its backward."""
        return self.graphs["forward"].kept_bytes if getattr(self, "held", lambda: None)() is not None else 0


def new_pool():
    return torch.cuda.graph_pool_handle()


class Captured:
    """`work` as a graph: `replay` does it again, on the same memory; `outputs` are what it returned while it was captured.

    `peak_bytes` and `kept_bytes` are what capturing allocated at most, and what of it is still allocated afterwards.
    Raises Unsupported if the work does what cannot be captured, like waiting for the device.
    """

    def __init__(self, work, warm_up, pool):
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

    def replay(self):
        self.graph.replay()


class GraphMemory:
    """What a graph allocated while it was captured: replaying allocates nothing, and the memory stays taken."""

    meaning = "torch allocated for the graph"

    def __init__(self, program):
        self.program = program

    def reset(self):
        self.before = self.program.held_bytes()

    def peak(self):
        """(bytes that a forward holds, most bytes in use by the graph replayed last, most bytes held by the allocator)."""
        most = self.before + max(self.program.replayed.peak_bytes, 0)
        return self.before, most, torch.cuda.max_memory_reserved(self.program.device)
