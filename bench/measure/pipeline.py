"""Predicts the time of a step that ranks share by its time steps, from terms measured on one
device.

A layer has a spatial part, which depends on no other rank, and neurons, which start with the state
of the rank before. With Ts seconds of a whole step on one rank, F of one layer's neurons over all
time steps, forward and backward, and Tc for handing on one state and returning its gradient, n
ranks take

T(n) = Ts/n + (n − 1)·(F/n + Tc) and, for n > 1, the reduction of the parameters' gradients,

least at n = √((Ts − F)/Tc), near √(Ts/Tc) for many layers (Li et al. 2024). A layer of neurons
alone gains nothing: Ts = F. Norms over all time steps make every layer wait for all ranks; they are
not modelled.
"""

from dataclasses import dataclass, replace
from math import sqrt


@dataclass(frozen=True)
class Terms:
    """Seconds: `whole` Ts, `neurons` F, `handover` Tc, and `reduction` of the parameters'
    gradients; `layers` with neurons.

    >>> terms = Terms(whole=1.0, neurons=0.1, handover=0.001, layers=4)
    >>> terms.seconds(1), round(terms.seconds(4), 3), terms.optimum
    (1.0, 0.328, 30.0)
    """

    whole: float
    neurons: float
    handover: float
    layers: int
    reduction: float = 0.0

    def seconds(self, ranks: int) -> float:
        """Returns the seconds of a step on `ranks` ranks."""
        waiting = (ranks - 1) * (self.neurons / ranks + self.handover)
        return self.whole / ranks + waiting + (self.reduction if ranks > 1 else 0.0)

    @property
    def optimum(self) -> float:
        """Number of ranks with the least time, not rounded: at least 1, infinite if a handover
        takes no time."""
        gain = max(self.whole - self.neurons, 0.0)
        return (
            max(sqrt(gain / self.handover), 1.0) if self.handover else float("inf") if gain else 1.0
        )


@dataclass(frozen=True)
class Prediction:
    """Predictions from the quartiles of the terms: the middle, the unfavourable and the
    favourable ends."""

    low: Terms
    middle: Terms
    high: Terms

    @classmethod
    def of(cls, quartiles: dict[str, list[float]], layers: int) -> "Prediction":
        """Builds a prediction from the quartiles of every term by its name."""
        low, middle, high = (
            Terms(layers=layers, **{name: ends[at] for name, ends in quartiles.items()})
            for at in range(3)
        )
        return cls(low, middle, high)

    def seconds(self, ranks: int) -> tuple[float, float, float]:
        """Returns middle, least and most seconds of a step on `ranks` ranks."""
        return self.middle.seconds(ranks), self.low.seconds(ranks), self.high.seconds(ranks)

    @property
    def optimum(self) -> tuple[float, float, float]:
        """Middle, least and most of the best number of ranks."""
        least = replace(self.low, neurons=self.high.neurons, handover=self.high.handover)
        most = replace(self.high, neurons=self.low.neurons, handover=self.low.handover)
        return self.middle.optimum, least.optimum, most.optimum
