"""What torch.compile cannot take as one graph, in sentences."""

from collections.abc import Iterator

import numpy as np

from snnbench.adapters.base.torch_breaks import TooLong, graph_breaks
from snnbench.adapters.base.torch_lines import modules_at, place
from snnbench.adapters.base.torch_model import TorchModel

from ..common.units import counted
from .models import COSTLY, TO_KNOW, Finding

STEPS = 4
"""Time steps that are traced: a compiler unrolls the loop over time."""
LIMIT_S = 10.0


def break_findings(model: TorchModel, x: np.ndarray, limit_s: float = LIMIT_S) -> Iterator[Finding]:
    """Yields the first graph break of a forward on the first steps of x (T, B, *features): costly
    where the model compiles itself, to know elsewhere. Raises what the model raises."""
    x = x[:STEPS]
    try:
        breaks = graph_breaks(model, x, limit_s)
    except TooLong:
        yield Finding(
            TO_KNOW,
            "the model",
            f"takes torch.compile more than {limit_s:g} s of CPU time to trace over "
            f"{counted(len(x), 'step')}",
        )
        return
    if breaks is None:
        return
    where = f" at {place(breaks.file, breaks.line)}" if breaks.file else ""
    names = ", ".join(filter(None, modules_at(model.module, breaks.file, breaks.line)))
    yield Finding(
        COSTLY if breaks.compiles else TO_KNOW,
        names or "the model",
        f"breaks the graph of torch.compile{where}: {breaks.cause}; a forward over "
        f"{counted(len(x), 'step')} runs as {counted(breaks.graphs, 'graph')}",
    )
