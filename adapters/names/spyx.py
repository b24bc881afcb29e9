"""Spyx' neurons and surrogates (1.0)."""

from functools import partial
from math import pi

from .meaning import Meaning, Surrogate, meaning, names_of, surrogate

late = partial(
    meaning, differences=("it fires a step later than this, which its adapter takes back",)
)


@surrogate
def superspike(k: float = 25) -> Surrogate:
    return Surrogate("superspike", k)


@surrogate
def arctan(k: float = 2) -> Surrogate:
    return Surrogate("atan", k, 1 / pi)


@surrogate
def tanh(k: float = 1) -> Surrogate:
    return Surrogate("sigmoid", 2 * k, 2 / k)


@surrogate
def boxcar(width: float = 2, height: float = 0.5) -> Surrogate:
    return Surrogate("rectangle", 1 / width, width * height)


@surrogate
def triangular(k: float = 2) -> Surrogate:
    return Surrogate("triangle", k)


def LIF(beta: float, threshold: float = 1.0, activation: Surrogate = superspike()) -> Meaning:
    """The decay is beta."""
    return late(activation, "soft-undecayed", decay=beta, threshold=threshold)


def IF(threshold: float = 1, activation: Surrogate = superspike()) -> Meaning:
    """There is no decay."""
    return late(activation, "soft", decay=1.0, threshold=threshold)


def PSU_LIF(beta: float, threshold: float = 1.0, activation: Surrogate = superspike()) -> Meaning:
    """The decay is beta."""
    return meaning(activation, "none", decay=beta, threshold=threshold)


def CuBaLIF(
    alpha: float, beta: float, threshold: float = 1, activation: Surrogate = superspike()
) -> Meaning:
    """The decays are beta and, of the synapse, alpha."""
    return late(activation, "soft", decay=beta, threshold=threshold, current_decay=alpha)


def ALIF(
    beta: float, gamma: float, threshold: float = 1, activation: Surrogate = superspike()
) -> Meaning:
    """The decays are beta and, of the threshold, gamma."""
    return late(
        activation,
        "soft-undecayed",
        decay=beta,
        threshold=threshold,
        adaptation=1 - gamma,
        adaptation_decay=gamma,
    )


NAMES = names_of(LIF, IF, PSU_LIF, CuBaLIF, ALIF, superspike, arctan, tanh, boxcar, triangular)
