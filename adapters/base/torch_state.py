"""The format in which a neuron carries its state from step to step, seen on a short call outside
the clock.

A framework whose surrogate hands out float32 computes in float32 whatever it is given; this is
where it shows.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from .time_loop import State, TimeLoop

STEPS = 3
"""The first step starts from rest and its format may still be the input's."""


def state_dtype(module: torch.nn.Module, run: Callable[[], object]) -> str | None:
    """Formats of the floating-point states of the neuron in `module` after `run()` called it; None
    if it does not show them. A `TimeLoop` hands its state out. Another module may show that of its
    last call as an attribute `state`."""
    loop = next((part for part in module.modules() if isinstance(part, TimeLoop)), None)
    states: list[State] = []
    if loop is None:
        run()
        states = [part.state for part in module.modules() if hasattr(part, "state")]
    else:
        scan = loop.scan

        def watched(currents: Tensor, state: State) -> tuple[Tensor, State]:
            spikes, after = scan(currents, state)
            states.append(after)
            return spikes, after

        loop.scan = watched  # type: ignore[method-assign]
        try:
            run()
        finally:
            del loop.scan
    tensors = [
        leaf
        for leaf in tree_leaves(states)
        if isinstance(leaf, Tensor) and leaf.is_floating_point()
    ]
    names = {str(tensor.dtype).removeprefix("torch.") for tensor in tensors}
    return ", ".join(sorted(names)) or None
