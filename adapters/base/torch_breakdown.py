"""Takes a torch step apart: seconds by stage from marks between modules, bytes by kind from every
allocation."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from snnbench.core.breakdown import Breakdown, stage_of

from .torch_network import LinearNeuron, Part, TorchNetwork
from .torch_training import Trainer

REPEATS = 9
"""Steps that are taken apart, each after one that is not."""
MARKER = 512 * 1237
"""Bytes of the allocations that mark a moment of a step: torch's allocators do not round this
size."""


class Stepped(Protocol):
    """The part of a program that a breakdown drives. `clock` is a moment on the device's clock;
    `unchanged` restores parameters and states."""

    device: torch.device
    network: TorchNetwork
    trainer: Trainer
    leaves: list[Any]

    @property
    def parameter_bytes(self) -> int: ...

    def forward(self, x: Tensor) -> Any: ...
    def backward(self, result: Any, upstream: Tensor) -> Any: ...
    def optimize(self, result: Any) -> Any: ...
    def step(self, x: Tensor, upstream: Tensor) -> Any: ...
    def release(self) -> None: ...
    def clock(self) -> Any: ...
    def seconds(self, start: Any, end: Any) -> float: ...
    def unchanged(self) -> AbstractContextManager[None]: ...


def breakdown(
    program: Stepped, x: Tensor, upstream: Tensor, trace: str | None, staged: bool
) -> Breakdown:
    """Returns seconds by stage and bytes by kind of a step of `program` on x. Writes a trace of the
    step to the file `trace`, if not None: JSON that Perfetto opens. `staged`: modules are called
    one by one, so that marks can stand between them."""
    result = Breakdown()
    with program.unchanged():
        if staged:
            stages = Stages(program)
            apart, whole = list[dict[str, float]](), list[float]()
            for _ in range(REPEATS):
                start = program.clock()
                program.step(x, upstream)
                whole.append(program.seconds(start, program.clock()))
                apart.append(stages.step(x, upstream))
            result.step_s = median(whole)
            result.seconds = {
                name: median(step.get(name, 0.0) for step in apart) for name in apart[0]
            }
        result.bytes = _bytes(program, x, upstream, trace)
    return result


class Stages:
    """Marks during a step: each closes the stage that has run since the last one. A forward mark
    follows every module. A backward mark is set where the gradient of a module's output is
    complete, which is where autograd begins to compute that module."""

    def __init__(self, program: Stepped) -> None:
        self.program = program
        self.marks: list[tuple[str, Any]] = []
        self.running = ""

    def step(self, x: Tensor, upstream: Tensor) -> dict[str, float]:
        program = self.program
        program.release()
        self.marks = [("", program.clock())]
        with self._hooked():
            result = program.forward(x)
            last = self.marks[-1][0] or "other layers"
            self._close(last)
            self.running = last if program.trainer.loss is None else "loss"
            result = program.backward(result, upstream)
            self._close(self.running)
        if program.leaves:
            program.optimize(result)
            self._close("update" if program.trainer.optimizer is None else "optimizer")
        seconds: dict[str, float] = {}
        for (_, start), (name, end) in zip(self.marks, self.marks[1:], strict=False):
            seconds[name] = seconds.get(name, 0.0) + program.seconds(start, end)
        return seconds

    def _close(self, stage: str) -> None:
        self.marks.append((stage, self.program.clock()))

    @contextmanager
    def _hooked(self) -> Iterator[None]:
        handles = [
            module.register_forward_hook(partial(self._after_forward, stage))
            for part in self.program.network.parts
            for module, stage in modules_of(part, self.program)
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _after_forward(self, stage: str, module: nn.Module, inputs: object, output: Any) -> Any:
        self._close(stage)
        return _marked(output, partial(self._enter, stage))

    def _enter(self, stage: str) -> None:
        self._close(self.running)
        self.running = stage


def modules_of(part: Part, program: Stepped) -> list[tuple[nn.Module, str]]:
    if isinstance(part.module, LinearNeuron):
        return [(part.module.linear, "linear"), (part.module.neuron, "neuron")]
    kinds = (program.network.network.node(name).kind for name in part.nodes)
    return [(part.module, stage_of(tuple(kinds)))]


def _marked(value: Any, enter: Callable[[], None]) -> Any:
    """Returns `value` with a mark on every tensor that gets a gradient."""
    if isinstance(value, Tensor):
        return Mark.apply(value, enter) if value.requires_grad else value
    if isinstance(value, dict):
        return {name: _marked(each, enter) for name, each in value.items()}
    return tuple(_marked(each, enter) for each in value) if isinstance(value, tuple) else value


class Mark(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, enter: Callable[[], None]) -> Tensor:
        ctx.enter = enter
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *gradient: Any) -> Any:
        ctx.enter()
        return gradient[0], None


@dataclass
class Allocation:
    """Bytes in use from event number `start` to `end`."""

    address: int
    bytes: int
    start: int
    end: int


def _bytes(program: Stepped, x: Tensor, upstream: Tensor, trace: str | None) -> dict[str, int]:
    """Returns the bytes by kind at the peak of one step, from the allocations that torch's profiler
    lists. Allocations of a known size mark moments in between."""
    from torch.profiler import ProfilerActivity, profile

    cuda = program.device.type == "cuda"
    marker = partial(torch.empty, MARKER, dtype=torch.uint8, device=program.device)
    program.step(x, upstream)
    program.release()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    with profile(activities=activities, profile_memory=True) as profiled:
        result = program.forward(x)
        marker()
        result = program.backward(result, upstream)
        gradients = {
            leaf.grad.untyped_storage().data_ptr()
            for leaf in [*program.leaves, result.x]
            if leaf.grad is not None
        }
        if program.leaves:
            program.optimize(result)
        marker()
    if trace:
        profiled.export_chrome_trace(trace)
    allocations, marks = _allocations(profiled, cuda)
    known = {"parameters": program.parameter_bytes, "optimizer": program.trainer.state_bytes}
    known |= {"feature maps": x.nbytes + (upstream.nbytes if program.trainer.loss is None else 0)}
    at = at_peak(allocations, marks, gradients)
    return known | {kind: known.get(kind, 0) + size for kind, size in at.items()}


def at_peak(allocations: list[Allocation], marks: list[int], gradients: set[int]) -> dict[str, int]:
    """Returns the bytes by kind when most are in use. Feature maps are alive at the first of the
    `marks`; gradients have the given addresses and are alive at the second."""
    forward_end, step_end = marks
    _, peak = _peak(allocations)
    by_kind = {"feature maps": 0, "gradients": 0, "workspace": 0}
    for a in allocations:
        if a.start <= peak < a.end:
            kind = "workspace"
            if a.start < forward_end < a.end:
                kind = "feature maps"
            elif a.address in gradients and a.start < step_end < a.end:
                kind = "gradients"
            by_kind[kind] += a.bytes
    return by_kind


@dataclass
class Work:
    """Calls of torch's operators, those inside others too, bytes that were allocated in all, and
    the most in use at once."""

    calls: int
    allocated_bytes: int
    peak_bytes: int


def work_of(call: Callable[[], object]) -> Work:
    """Returns the work of a call on the CPU."""
    with _profiled() as profiled:
        call()
    allocations, _ = _allocations(profiled, cuda=False)
    calls = sum(event.tag.name == "TorchOp" for event in _events(profiled))
    return Work(calls, sum(each.bytes for each in allocations), _peak(allocations)[0])


def left_after(call: Callable[[], object], times: int) -> list[int]:
    """Returns the bytes in use after each of several calls, beyond those before the first."""
    with _profiled() as profiled:
        for _ in range(times):
            call()
            torch.empty(MARKER, dtype=torch.uint8)
    allocations, marks = _allocations(profiled, cuda=False)
    return [sum(a.bytes for a in allocations if a.start < mark < a.end) for mark in marks]


def _profiled() -> Any:
    from torch.profiler import ProfilerActivity, profile

    return profile(activities=[ProfilerActivity.CPU], profile_memory=True)


def _events(profiled: Any) -> Iterator[Any]:
    pending = list(profiled.profiler.kineto_results.experimental_event_tree())
    while pending:
        event = pending.pop()
        pending += event.children
        yield event


def _peak(allocations: list[Allocation]) -> tuple[int, int]:
    """Returns the most bytes that are in use at once, and the number of the event from which on."""
    changes = sorted(
        [(a.start, a.bytes) for a in allocations] + [(a.end, -a.bytes) for a in allocations]
    )
    total = most = peak = 0
    for moment, change in changes:
        total += change
        if total > most:
            most, peak = total, moment
    return most, peak


def _allocations(profiled: Any, cuda: bool) -> tuple[list[Allocation], list[int]]:
    """Returns all allocations on the device in order, and the numbers of the events that mark
    moments."""
    from torch._C._profiler import _EventType

    events = [
        event
        for event in _events(profiled)
        if event.tag == _EventType.Allocation and (event.extra_fields.device.type == "cuda") == cuda
    ]
    events.sort(key=lambda event: event.start_time_ns)
    living, done, marks = dict[int, Allocation](), list[Allocation](), list[int]()
    for number, event in enumerate(events):
        size, address = event.extra_fields.alloc_size, event.extra_fields.ptr
        if size == MARKER:
            marks.append(number)
        elif size > 0:
            living[address] = Allocation(address, size, number, len(events))
        elif address in living:
            living[address].end = number
            done.append(living.pop(address))
    return [*done, *living.values()], marks
