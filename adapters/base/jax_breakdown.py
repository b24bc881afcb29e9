"""What a JAX step takes: XLA compiles it into one program, which has no stages, and plans its
memory as one."""

import gzip
import shutil
import tempfile
from pathlib import Path
from typing import Any, Protocol

import jax

from snnbench.core.breakdown import Breakdown


class Stepped(Protocol):
    """What is read and driven of a program."""

    parameters: Any
    states: Any
    running: Any

    def step(self, x: Any, upstream: Any) -> Any: ...
    def allocated(self) -> int: ...


def breakdown(program: Stepped, x: Any, upstream: Any, trace: str | None) -> Breakdown:
    """The bytes of a step by kind, as far as XLA tells them apart. A trace of a step is written to
    the file `trace`, if asked for: JSON that Perfetto opens."""
    before = program.parameters, program.states, program.running
    try:
        jax.block_until_ready(vars(program.step(x, upstream)))
        own = {
            "parameters": bytes_of(program.parameters),
            "optimizer": bytes_of(program.states),
            "feature maps": bytes_of(x),
        }
        told = Breakdown(bytes={**own, "planned together": program.allocated()})
        told.unknown = "XLA compiles a step into one program: it has no stages"
        if trace:
            _trace(program, x, upstream, Path(trace))
    finally:
        program.parameters, program.states, program.running = before
    return told


def bytes_of(tree: Any) -> int:
    """Of all arrays in a tree."""
    return sum(int(leaf.nbytes) for leaf in jax.tree_util.tree_leaves(tree))


def _trace(program: Stepped, x: Any, upstream: Any, path: Path) -> None:
    """JAX writes a folder of files, of which one is for Perfetto."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, create_perfetto_trace=True):
            jax.block_until_ready(vars(program.step(x, upstream)))
        (found,) = Path(folder).rglob("perfetto_trace.json.gz")
        with gzip.open(found) as packed, path.open("wb") as file:
            shutil.copyfileobj(packed, file)
