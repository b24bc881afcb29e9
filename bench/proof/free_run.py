"""The oracle run free on its own spikes: computed once per problem in a process of its own, kept as a file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snnbench.adapters.base.case import Case

from . import oracle
from .problem import SAMPLED_ABOVE, calibrate, generate

LEAST_RATE, MOST_RATE = 0.01, 0.6


@dataclass
class FreeRun:
    """Gains and firing rates by layer; the last layer's spikes on the judged neurons, None for wide stacks."""

    gains: list[float]
    rates: list[float]
    spikes: np.ndarray | None

    @property
    def unsuitable(self) -> str | None:
        """Why this problem proves nothing, whoever computes it."""
        outside = [rate for rate in self.rates if not LEAST_RATE <= rate <= MOST_RATE]
        if not outside:
            return None
        return (
            f"unsuitable problem: the oracle fires at {outside[0]:.1%}, "
            f"outside {LEAST_RATE:.0%} to {MOST_RATE:.0%}, so a proof would show little"
        )

    def mismatch(self, spikes: np.ndarray, rows: np.ndarray | None) -> float | None:
        """Share of spikes (T, B, N) that differ from the oracle's own run."""
        if self.spikes is None:
            return None
        return float((self.spikes != (spikes if rows is None else spikes[:, :, rows])).mean())

    def facts(self) -> dict:
        return {"gains": self.gains, "oracle_rates": self.rates}


def free_run(case: Case) -> FreeRun:
    """Calibrate `case` and run its oracle free; wide stacks are calibrated only."""
    gains = calibrate(case)
    if case.layers > 1 and case.neurons > SAMPLED_ABOVE:
        return FreeRun(gains, [], None)
    problem = generate(case, gains).judged_part()
    layers = oracle.forward(problem, problem.judged_input(problem.input))
    return FreeRun(gains, [float(layer.expected.mean()) for layer in layers], layers[-1].expected.astype(np.uint8))


def write_free_run(case: Case, path: Path) -> None:
    """Compute and store the free run of `case`; the file appears whole or not at all."""
    free, partial = free_run(case), path.with_suffix(".partial.npz")
    np.savez_compressed(partial, gains=free.gains, rates=free.rates, **({} if free.spikes is None else {"spikes": free.spikes}))
    partial.replace(path)


def read_free_run(path: Path) -> FreeRun:
    with np.load(path) as stored:
        spikes = stored.get("spikes")
        return FreeRun(stored["gains"].tolist(), stored["rates"].tolist(), spikes)
