"""slax's neuron and surrogates (0.0.1)."""

from math import exp

from .meaning import Meaning, Surrogate, meaning, names_of
from .snntorch import atan, fast_sigmoid


def LIF(
    init_tau: float = 2.0,
    spike_fn: Surrogate = fast_sigmoid(),
    v_threshold: float = 1.0,
    subtraction_reset: bool = True,
) -> Meaning:
    """The decay is σ(init_tau)."""
    return meaning(
        spike_fn,
        "soft" if subtraction_reset else "hard",
        decay=1 / (1 + exp(-init_tau)),
        threshold=v_threshold,
    )


NAMES = names_of(LIF, fast_sigmoid, atan)
