"""jaxpike's neuron and surrogates (0.1)."""

from math import exp

from .meaning import Meaning, Surrogate, chosen, meaning, names_of, surrogate
from .spikingjelly import ATan

RESETS = {"subtract": "soft", "zero": "hard"}


@surrogate
def FastSigmoid(slope: float = 25.0) -> Surrogate:
    return Surrogate("superspike", slope)


@surrogate
def Triangular(width: float = 1.0) -> Surrogate:
    return Surrogate("triangle", 1 / width, 1 / width)


@surrogate
def Boxcar(width: float = 1.0) -> Surrogate:
    return Surrogate("rectangle", 1 / width)


def LIF(
    tau: float = 20.0,
    threshold: float = 1.0,
    dt: float = 1.0,
    reset: str = "subtract",
    surrogate: Surrogate = FastSigmoid(),
) -> Meaning:
    """The decay is exp(−dt/tau)."""
    decay, equation = exp(-dt / tau), chosen("reset", reset, RESETS)
    return meaning(surrogate, equation, decay=decay, gain=1 - decay, threshold=threshold)


NAMES = names_of(LIF, FastSigmoid, ATan, Triangular, Boxcar)
