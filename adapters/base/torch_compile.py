"""Mode `compile` and its kin: the layers of a network under torch.compile, and what compiling cost.

`compile-reduce-overhead` and `compile-max-autotune` are untested: no CUDA device has run them yet.
"""

import re
import time
from functools import cache

import torch
from torch._dynamo.callback import callback_handler
from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException
from torch._dynamo.utils import counters

from .contract import BuildFailed
from .modes import COMPILE_MODES
from .time_loop import TimeLoop
from .torch_program import TorchProgram

LONGEST_WHOLE, CHUNK = 50, 20
"""Time steps up to which a layer is compiled whole, and the length of the chunks above: loops are unrolled, and hundreds of
steps in one piece take minutes."""

MOST_VARIANTS = 64
"""How often one function may be compiled before its framework counts as one that cannot be."""

COMPILE_ID = re.compile(r"(\d+)/(\d+)")
"""`frame/attempt`: an attempt above 0 compiles again what was compiled before."""


class CompiledProgram(TorchProgram):
    """Compiled layer by layer. A layer whose time loop can be cut is compiled in chunks of 20 steps above T = 50, the
    linear layer apart; every other one is compiled whole, however long it is."""

    def __init__(self, adapter, case):
        super().__init__(adapter, case)
        # Else the ninth variant of a function, and with a graph break functions are shared, would silently run eagerly.
        torch._dynamo.config.recompile_limit = MOST_VARIANTS
        torch._dynamo.config.fail_on_recompile_limit_hit = True
        set_up(self.device)
        self.compiling = CompileClock()
        self.calls = [compiled(layer, case.time_steps, COMPILE_MODES[case.mode]) for layer in self.layers]

    def forward(self, x):
        self._forget_outputs()
        with self.compiling:
            return super().forward(x)

    def backward(self, result, upstream):
        with self.compiling:
            return super().backward(result, upstream)

    def inference(self, x):
        self._forget_outputs()
        with self.compiling:
            return super().inference(x)

    def _forget_outputs(self):
        """Allow torch's own CUDA graphs to write over what the last call handed out; else it guesses when it may."""
        if self.case.mode != "compile":
            torch.compiler.cudagraph_mark_step_begin()

    def compile_facts(self):
        facts = self.compiling.facts()
        return facts | {"compile_s": facts["compile_s"] + (self.adapter.compile_seconds() or 0.0)}


@cache
def set_up(device) -> None:
    """Compile next to nothing: what torch finds out of a machine and its compiler at first use, tens of seconds on a CPU, is
    no network's own time."""
    with CompileClock():
        torch.compile(torch.neg, dynamic=False)(torch.zeros(8, device=device))


def compiled(layer, time_steps: int, mode: str):
    """What is called instead of `layer`; compiles at its first call. `mode` is torch.compile's."""
    loops = [module for module in layer.modules() if isinstance(module, TimeLoop)]
    if time_steps <= LONGEST_WHOLE or not loops:
        return Pieces(layer, mode)
    for loop in loops:
        loop.forward = in_chunks(loop.scan, mode)
    return layer


def in_chunks(scan, mode):
    """`TimeLoop.forward` made of compiled chunks, each taking over the state of the one before."""
    chunk_of = Pieces(scan, mode)

    def forward(currents):
        spikes, state = [], None
        for chunk in currents.split(CHUNK):
            some, state = chunk_of(chunk, state)
            spikes.append(some)
        return torch.cat(spikes)

    return forward


class Pieces:
    """A function compiled once for each length, from rest or from a state, with gradients or without.

    Torch would find out by itself that these differ, and compile again. Kept apart, `recompiles` counts surprises only.
    """

    def __init__(self, function, mode):
        self.function, self.mode, self.compiled = function, mode, {}

    def __call__(self, x, *state):
        kind = (len(x), *(value is None for value in state), torch.is_grad_enabled())
        if kind not in self.compiled:
            self.compiled[kind] = torch.compile(own_code(self.function), dynamic=False, mode=self.mode)
        return self.compiled[kind](x, *state)


def own_code(function):
    """A function that calls `function` and shares its code object with no other: torch keeps what it compiled by code object."""

    def piece(*arguments):
        return function(*arguments)

    piece.__code__ = piece.__code__.replace()
    return piece


def complaint(text: str) -> str:
    """The first line that a C++ compiler calls an error, else the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if re.search(r"\berror: ", line)), lines[0] if lines else "")


class CompileClock:
    """What torch reports of compiling while `with clock:` holds, and BuildFailed instead of torch's own exceptions.

    `compile_s` is the time from the start of tracing to the end of code generation, the C++ or Triton compiler included,
    the run of the code not. Other programs of the process (those of the proof) are not heard.
    """

    def __init__(self):
        self.listening, self.seconds, self.graph_breaks, self.recompiles = False, 0.0, 0, 0
        callback_handler.register_start_callback(self._started)
        callback_handler.register_end_callback(self._ended)

    def __enter__(self):
        self.listening = True

    def __exit__(self, kind, error, traceback):
        self.listening = False
        if isinstance(error, TorchDynamoException):
            raise BuildFailed(f"torch.compile: {complaint(str(error)) or kind.__name__}") from error
        if isinstance(error, FailOnRecompileLimitHit):
            raise BuildFailed(f"torch.compile: more than {MOST_VARIANTS} variants of one function, and no end") from error

    def _started(self, what=None):
        self.begun, self.breaks_before = time.perf_counter(), breaks()
        found = COMPILE_ID.search(str(getattr(what, "compile_id", "")))
        traced = getattr(getattr(what, "callback_trigger", None), "name", "") == "DYNAMO"
        self.recompiles += bool(self.listening and traced and found and int(found[2]))

    def _ended(self, *_):
        if self.listening:
            self.seconds += time.perf_counter() - self.begun
            self.graph_breaks += breaks() - self.breaks_before

    def facts(self) -> dict:
        return {"compile_s": self.seconds, "graph_breaks": self.graph_breaks, "recompiles": self.recompiles}


def breaks() -> int:
    return sum(counters["graph_break"].values())
