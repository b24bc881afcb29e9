"""Where torch.compile cannot take a user's torch module as one graph."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .torch_lines import is_torch
from .torch_model import TorchModel

AGAIN_S = 0.5


@dataclass
class Breaks:
    """`graphs` that run in a forward; the `cause` of the first break, in torch's words, at a `line`
    of a `file`, if that is known. The model `compiles` itself, or is compiled here."""

    graphs: int
    cause: str
    file: str
    line: int
    compiles: bool


class TooLong(BaseException):
    """A limit of CPU time has passed. A BaseException, so that a compiler does not catch it."""


def graph_breaks(model: TorchModel, x: np.ndarray, limit_s: float) -> Breaks | None:
    """Returns how torch.compile breaks a forward on x (T, B, *features) up, None if it does not.
    Nothing is compiled: graphs are traced and run as they are. Raises TooLong, ValueError in
    another thread than the main one, and what the model raises."""
    from torch._dynamo import error_on_graph_break, reset
    from torch._dynamo.exc import TorchDynamoException

    graphs, plain = 0, model.module

    def compiler(graph: Any, inputs: Any) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            nonlocal graphs
            graphs += 1
            return graph.forward(*arguments)

        return counted

    def forward(module: Any, whole: bool) -> int:
        nonlocal graphs
        reset()
        model.restore()
        graphs, model.module = 0, module
        try:
            with (
                torch.compiler.set_stance("default", force_backend=compiler),
                error_on_graph_break(whole),
            ):
                model(model.put(x))
        finally:
            model.module = plain
        return graphs

    plain.train()
    try:
        with _within(limit_s):
            compiles = forward(plain, False) > 0
            compiled = plain if compiles else torch.compile(plain, backend=compiler)
            try:
                forward(compiled, True)
                return None
            except TorchDynamoException as error:
                file, line = _place(error)
                cause = str(error).strip().partition("\n")[0]
            return Breaks(forward(compiled, False), cause, file, line, compiles)
    finally:
        reset()


def _place(error: Any) -> tuple[str, int]:
    """Returns the innermost line that is not torch's; 0 if there is none."""
    for frame in reversed(getattr(error, "real_stack", None) or []):
        if not is_torch(frame.filename):
            return frame.filename, frame.lineno or 0
    return "", 0


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raises TooLong in the block after some seconds of CPU time."""

    def stop(*_: object) -> None:
        raise TooLong

    handler = signal.signal(signal.SIGPROF, stop)
    # Python drops what is raised in some callbacks: it is raised again.
    timer = signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, *timer)
        signal.signal(signal.SIGPROF, handler)
