"""Surrogate derivatives σ'(u), u = v − threshold (formulas: `spec`), for torch, JAX and NumPy.

To add a surrogate: its name and formula last in `spec.py`, and its function here, in
`lif/lif_step.h`, in `lif/triton/step.py` and, for autograd, in `tests/support/autograd.py`; its
`width`, if `step.py` reads one, in `backward_launch` of `lif/triton/launch.py`; a line in
`docs/proof.md`; and its name in `tests/adapters/expected.toml` under every framework that has it.
`bench/measure/work.py` lists surrogates that are never zero or vary with every potential, and
`bench/proof/recurrence.py` names the one that jumps.
"""

import math
from collections.abc import Callable
from typing import Any

from .spec import NeuronSpec


def derivative(spec: NeuronSpec, xp: Any) -> Callable[[Any], Any]:
    """Returns the function σ'(u) of arrays u of any shape; `xp` is torch, jax.numpy or numpy."""
    k = spec.slope
    if spec.rounding is not None:
        lowest, highest = -spec.threshold, (spec.max_spikes - 1) * spec.threshold
        one = 1 / spec.threshold
        return lambda u: (
            one * xp.where((lowest <= u) & (u <= highest), xp.ones_like(u), xp.zeros_like(u))
        )
    return {
        "superspike": lambda u: 1 / (1 + k * xp.abs(u)) ** 2,
        "atan": lambda u: 1 / (1 + (math.pi * k * u) ** 2),
        "sigmoid": lambda u: k * xp.exp(-k * xp.abs(u)) / (1 + xp.exp(-k * xp.abs(u))) ** 2,
        "triangle": lambda u: (1 - k * xp.abs(u)).clip(0),
        "rectangle": lambda u: k * xp.where(xp.abs(u) < 0.5 / k, xp.ones_like(u), xp.zeros_like(u)),
        "exponential": lambda u: k / 2 * xp.exp(-k * xp.abs(u)),
        "straight-through": lambda u: xp.ones_like(u),
    }[spec.surrogate]
