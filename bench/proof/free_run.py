"""The oracle run free on its own spikes: computed once per problem in a process of its own, kept as a file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snnbench.adapters.base.case import Case
from snnbench.adapters.base.network import Network

from ..workloads import workload_of
from . import oracle
from .calibration import calibrate
from .problem import generate

LEAST_RATE, MOST_RATE = 0.01, 0.6


@dataclass
class FreeRun:
    """Gains and firing rates by neuron, and the last neuron's spikes (T, B, *features)."""

    gains: dict[str, float]
    rates: dict[str, float]
    spikes: np.ndarray

    @property
    def unsuitable(self) -> str | None:
        """Why this problem proves nothing, whoever computes it."""
        outside = [rate for rate in self.rates.values() if not LEAST_RATE <= rate <= MOST_RATE]
        if not outside:
            return None
        suitable = f"{LEAST_RATE:.0%} to {MOST_RATE:.0%}"
        return f"unsuitable problem: the oracle fires at {outside[0]:.1%}, outside {suitable}, so a proof would show little"

    def mismatch(self, spikes: np.ndarray) -> float:
        """Share of the last neuron's spikes that differ from the oracle's own run."""
        return float((self.spikes != spikes).mean())

    def facts(self) -> dict[str, list[float]]:
        """For the record: gains and rates from the first neuron to the last."""
        return {"gains": list(self.gains.values()), "oracle_rates": list(self.rates.values())}


def free_run(case: Case, network: Network) -> FreeRun:
    """Calibrate `case` and run its oracle free."""
    gains = calibrate(case, network)
    problem = generate(case, network, gains)
    rates: dict[str, float] = {}

    def seen(result: oracle.Run, neuron: str) -> None:
        rates[neuron] = float(result.spikes[neuron].mean())

    result = oracle.forward(network, problem.parameters, problem.input, seen=seen)
    return FreeRun(gains, rates, result.spikes[problem.last].astype(np.uint8))


def write_free_run(case: Case, path: Path) -> None:
    """Compute and store the free run of `case`."""
    free = free_run(case, workload_of(case).network(case))
    names, gains, rates = list(free.gains), list(free.gains.values()), list(free.rates.values())
    np.savez_compressed(path, allow_pickle=False, neurons=names, gains=gains, rates=rates, spikes=free.spikes)


def read_free_run(path: Path) -> FreeRun:
    """The free run that `write_free_run` stored. Raises OSError, and ValueError for a damaged file."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            names = stored["neurons"].tolist()
            gains, rates = (dict(zip(names, stored[key].tolist(), strict=True)) for key in ("gains", "rates"))
            return FreeRun(gains, rates, stored["spikes"])
    except OSError:
        raise
    except Exception as error:  # of many kinds: what is damaged may be the archive, its compressed bytes or an array
        raise ValueError(f"{path.name} is damaged ({type(error).__name__}); it is made again in the next run") from None


def is_whole(path: Path) -> bool:
    """Whether a free run can be read from `path`."""
    try:
        return path.is_file() and bool(read_free_run(path).gains)
    except (OSError, ValueError):
        return False
