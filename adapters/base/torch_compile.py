"""The `compile` modes: a network under torch.compile, and the cost of compiling it."""

import re
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._dynamo.callback import callback_handler
from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException
from torch._dynamo.utils import counters

from snnbench.core.case import Case
from snnbench.core.contract import BuildFailed
from snnbench.core.network import Network
from snnbench.core.variant import COMPILE_MODES

from .time_loop import State, TimeLoop
from .torch_network import TorchNetwork, TorchSpelling
from .torch_program import TorchProgram, TorchResult

if TYPE_CHECKING:
    from torch.optim import Optimizer

LONGEST_WHOLE, CHUNK = 50, 20
"""Time steps up to which a network is compiled as a whole, and the length of the chunks above.
Loops are unrolled: hundreds of steps in one piece take minutes."""

MOST_VARIANTS = 64
"""Variants of one function above which compiling counts as failed."""

COMPILE_ID = re.compile(r"(\d+)/(\d+)")
"""`frame/attempt`: an attempt above 0 is a recompilation."""


class CompiledProgram(TorchProgram):
    """A network compiled as a whole up to T = 50. Above, time loops that can be cut are compiled in
    chunks of 20 steps, and the modules between them one by one; linear layers before a loop are not
    compiled. A network without such a loop is always compiled as a whole. The loss and the
    optimizer's step are compiled too."""

    def __init__(self, adapter: TorchSpelling, case: Case, network: Network) -> None:
        super().__init__(adapter, case, network)
        # By default torch runs the ninth variant of a function eagerly, without a word.
        torch._dynamo.config.recompile_limit = MOST_VARIANTS
        torch._dynamo.config.fail_on_recompile_limit_hit = True
        set_up(self.device)
        self.compiling = DynamoClock()
        mode = COMPILE_MODES[case.mode]
        self.compiled = compiled(self.network, case.time_steps, mode)
        if (loss := self.trainer.loss) is not None:
            self.trainer.loss = torch.compile(
                lambda output, labels: loss(output, labels), dynamic=False, mode=mode
            )
        if (optimizer := self.trainer.optimizer) is not None:
            self.trainer.update = compiled_step(optimizer, mode)

    def call(self, x: Tensor, every_border: bool) -> tuple[dict[str, Tensor], Tensor]:
        """Returns spikes by neuron and the output. A forward always computes all borders, and so
        does an evaluation: another set would need another compilation."""
        only_one = len(self.network.network.neurons) == 1
        every = torch.is_grad_enabled() or every_border or only_one
        if self.case.mode != "compile":
            # torch's CUDA graphs may now overwrite the results of the last call.
            torch.compiler.cudagraph_mark_step_begin()
        with self.compiling:
            borders, output = self.compiled(x, every)
        last = next(reversed(borders))
        return borders if every_border else {last: borders[last]}, output

    def evaluate(self, x: Tensor) -> TorchResult:
        """Is not counted: only the judge needs it compiled."""
        counted = vars(self.compiling).copy()
        result = super().evaluate(x)
        vars(self.compiling).update(counted)
        return result

    def backward(self, result: TorchResult, upstream: Tensor) -> TorchResult:
        with self.compiling:
            return super().backward(result, upstream)

    def optimize(self, result: TorchResult) -> TorchResult:
        with self.compiling:
            return super().optimize(result)

    def compile_facts(self) -> dict[str, Any]:
        seconds = self.compiling.seconds + (self.adapter.compile_seconds() or 0.0)
        return {
            "compile_s": seconds,
            "graph_breaks": self.compiling.graph_breaks,
            "recompiles": self.compiling.recompiles,
        }


@cache
def set_up(device: torch.device) -> None:
    """Compiles a trivial function, so that torch's first look at the machine and its compiler, tens
    of seconds on a CPU, is not counted as the network's own time."""
    with DynamoClock():
        torch.compile(torch.neg, dynamic=False)(torch.zeros(8, device=device))


def compiled(
    network: TorchNetwork, time_steps: int, mode: str
) -> Callable[..., tuple[dict[str, Tensor], Tensor]]:
    """Returns the function to call in place of `network.forward`; it compiles at its first call.
    `mode` is torch.compile's."""
    if time_steps <= LONGEST_WHOLE or not time_loops(network):
        return Pieces(network.forward, mode)
    for part in network.layers:
        for loop in (loops := time_loops(part)):
            loop.forward = in_chunks(loop.scan, mode)  # type: ignore[assignment, method-assign]
        if not loops:
            part.forward = Pieces(part.forward, mode)
    return network.forward


def compiled_step(optimizer: "Optimizer", mode: str) -> Callable[[], object]:
    """Returns an optimizer's step over all parameters, compiled from the second call on: the first
    call makes the states. Torch itself breaks the graph at an optimizer."""
    step = torch.compile(lambda: optimizer.step(), dynamic=False, mode=mode)
    return lambda: step() if optimizer.state else optimizer.step()


def time_loops(module: torch.nn.Module) -> list[TimeLoop]:
    """Returns the outermost time loops in `module`: a loop inside another is cut with it."""
    loops = [part for part in module.modules() if isinstance(part, TimeLoop)]
    inner = {part for loop in loops for part in loop.modules() if part is not loop}
    return [loop for loop in loops if loop not in inner]


def in_chunks(
    scan: Callable[[Tensor, State], tuple[Tensor, State]], mode: str
) -> Callable[[Tensor], Tensor]:
    """Returns `TimeLoop.forward` made of compiled chunks, each starting from the state of the one
    before."""
    chunk_of = Pieces(scan, mode)

    def forward(currents: Tensor) -> Tensor:
        spikes, state = [], None
        for chunk in currents.split(CHUNK):
            chunk_spikes, state = chunk_of(chunk, state)
            spikes.append(chunk_spikes)
        return torch.cat(spikes)

    return forward


class Pieces:
    """A function compiled once for each length, start (rest or a state), switch (True or False) and
    gradient mode. Torch would recompile for these by itself; kept apart, `recompiles` counts
    surprises only."""

    def __init__(self, function: Callable[..., Any], mode: str) -> None:
        self.function, self.mode = function, mode
        self.compiled: dict[tuple[object, ...], Callable[..., Any]] = {}

    def __call__(self, x: Tensor, *more: Any) -> Any:
        known = (value if isinstance(value, bool) else value is None for value in more)
        kind = (len(x), *known, torch.is_grad_enabled())
        if kind not in self.compiled:

            def piece(*arguments: Any) -> Any:
                return self.function(*arguments)

            piece.__code__ = piece.__code__.replace()  # torch caches by code object
            self.compiled[kind] = torch.compile(piece, dynamic=False, mode=self.mode)
        return self.compiled[kind](x, *more)


def first_error(text: str) -> str:
    """Returns the first line that a C++ compiler calls an error, else the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(
        (line for line in lines if re.search(r"\berror: ", line)), lines[0] if lines else ""
    )


class DynamoClock:
    """Seconds, graph breaks and recompilations that torch reports inside `with clock:`; torch's own
    exceptions become BuildFailed. `compile_s` runs from the start of tracing to the end of code
    generation, with the C++ or Triton compiler, without running the code. Other programs of the
    process are not counted."""

    def __init__(self) -> None:
        self.listening, self.seconds, self.graph_breaks, self.recompiles = False, 0.0, 0, 0
        callback_handler.register_start_callback(self._started)
        callback_handler.register_end_callback(self._ended)

    def __enter__(self) -> None:
        self.listening = True

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.listening = False
        if isinstance(error, TorchDynamoException):
            raise BuildFailed(
                f"torch.compile: {first_error(str(error)) or type(error).__name__}"
            ) from error
        if isinstance(error, FailOnRecompileLimitHit):
            raise BuildFailed(
                f"torch.compile: more than {MOST_VARIANTS} variants of one function, and no end"
            ) from error

    def _started(self, event: object = None) -> None:
        self.start, self.breaks_before = time.perf_counter(), counters["graph_break"].total()
        numbers = COMPILE_ID.search(str(getattr(event, "compile_id", "")))
        traced = getattr(getattr(event, "callback_trigger", None), "name", "") == "DYNAMO"
        self.recompiles += bool(self.listening and traced and numbers and int(numbers[2]))

    def _ended(self, *_: object) -> None:
        if self.listening:
            self.seconds += time.perf_counter() - self.start
            self.graph_breaks += counters["graph_break"].total() - self.breaks_before
