"""The format in which a neuron carries its state from step to step, seen on a short call outside the clock.

A framework whose surrogate hands out float32 computes in float32 whatever it is given; this is where it shows.
"""

import torch

from .time_loop import TimeLoop

STEPS = 3
"""The first step starts from rest and its format may still be the input's."""


def state_dtype(layer: torch.nn.Module, x: torch.Tensor) -> str | None:
    """Formats of the floating-point states of `layer` after `x` (T, B, inputs); None where it does not show them.

    A `TimeLoop` hands its state out. Another module may show that of its last call as an attribute `state`.
    """
    loop = next((module for module in layer.modules() if isinstance(module, TimeLoop)), None)
    states = []
    if loop is None:
        layer(x)
        states = [module.state for module in layer.modules() if hasattr(module, "state")]
    else:
        scan = loop.scan

        def watched(currents, state):
            spikes, after = scan(currents, state)
            states.append(after)
            return spikes, after

        loop.scan = watched
        try:
            layer(x)
        finally:
            del loop.scan
    names = {str(tensor.dtype).removeprefix("torch.") for tensor in _tensors(states) if tensor.is_floating_point()}
    return ", ".join(sorted(names)) or None


def _tensors(state):
    if isinstance(state, torch.Tensor):
        yield state
    elif isinstance(state, dict | list | tuple):
        for part in state.values() if isinstance(state, dict) else state:
            yield from _tensors(part)
