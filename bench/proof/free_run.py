"""The oracle run free on its own spikes: computed once per problem in a process of its own, kept as a file."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.case import Case
from ..core.network import Network, Node
from ..workloads import workload_of
from . import oracle
from .calibration import calibrate
from .events import WORK, operations
from .problem import generate

LEAST_RATE, MOST_RATE = 0.01, 0.6
MOST_GAIN = 32
"""By which a network's own weights may be scaled, up or down."""


@dataclass
class FreeRun:
    """Gains and firing rates by neuron, and the last neuron's spikes (T, B, *features). `seeded`: of seeded weights, although the
    network comes with its own. `work`: spikes of all neurons and operations of a forward, see `WORK`."""

    gains: dict[str, float]
    rates: dict[str, float]
    spikes: np.ndarray
    seeded: bool = False
    work: dict[str, int] = field(default_factory=dict)

    def of(self, network: Network) -> Network:
        """The network with the weights that this run had."""
        return network.bare() if self.seeded else network

    @property
    def weights(self) -> str:
        """Whose weights these are, of a network that comes with its own."""
        if self.seeded:
            return "seeded: its own do not make its neurons fire"
        scaled = ", ".join(f"{gain:.3g}" for gain in self.gains.values())
        return (
            "its own"
            if all(gain == 1 for gain in self.gains.values())
            else f"its own times {scaled}"
        )

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

    def facts(self, network: Network) -> dict[str, Any]:
        """For the record: gains and rates from the first neuron to the last, the work, and of a network with weights of its own
        whose they were."""
        weights = {"weights": self.weights} if network.given else {}
        rates = {"gains": list(self.gains.values()), "oracle_rates": list(self.rates.values())}
        return {**rates, **({"work": self.work} if self.work else {}), **weights}


def free_run(case: Case, network: Network) -> FreeRun:
    """Calibrate `case` and run its oracle free. A network's own weights are used as they are, or times a gain, if that makes its
    neurons fire; else seeded ones are."""
    if network.given:
        kept = _free_run(case, network)
        if not kept.unsuitable and all(
            1 / MOST_GAIN < gain < MOST_GAIN for gain in kept.gains.values()
        ):
            return kept
    return replace(_free_run(case, network.bare()), seeded=bool(network.given))


def _free_run(case: Case, network: Network) -> FreeRun:
    gains = calibrate(case, network, keep=True)
    problem = generate(case, network, gains)
    rates: dict[str, float] = {}
    work = dict.fromkeys(WORK, 0.0)

    def computed(result: oracle.Run, node: Node) -> None:
        if node.kind == "neuron":
            spikes = result.spikes[node.name]
            rates[node.name] = float(spikes.mean())
            work["spikes"] += float(spikes.sum())
        for name, count in zip(WORK[1:], operations(network, node, result), strict=True):
            work[name] += count

    result = oracle.forward(network, problem.parameters, problem.input, computed=computed)
    counts = {name: round(count) for name, count in work.items()}
    return FreeRun(gains, rates, result.spikes[problem.last].astype(np.uint8), work=counts)


def write_free_run(case: Case, path: Path) -> None:
    """Compute and store the free run of `case`."""
    free = free_run(case, workload_of(case).network(case))
    names, gains, rates = list(free.gains), list(free.gains.values()), list(free.rates.values())
    arrays: dict[str, Any] = {
        "neurons": names,
        "gains": gains,
        "rates": rates,
        "spikes": free.spikes,
        "seeded": free.seeded,
    }
    np.savez_compressed(path, allow_pickle=False, **arrays, work=[free.work[name] for name in WORK])


def read_free_run(path: Path) -> FreeRun:
    """The free run that `write_free_run` stored. Raises OSError, and ValueError for a damaged file."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            names = stored["neurons"].tolist()
            gains, rates = (
                dict(zip(names, stored[key].tolist(), strict=True)) for key in ("gains", "rates")
            )
            if "work" not in stored:  # of an earlier version
                return FreeRun(gains, rates, stored["spikes"])
            work = dict(zip(WORK, stored["work"].tolist(), strict=True))
            return FreeRun(gains, rates, stored["spikes"], bool(stored["seeded"]), work)
    except OSError:
        raise
    except Exception as error:  # of many kinds: what is damaged may be the archive, its compressed bytes or an array
        raise ValueError(
            f"{path.name} is damaged ({type(error).__name__}); it is made again in the next run"
        ) from None


def is_whole(path: Path) -> bool:
    """Whether a free run can be read from `path`."""
    try:
        return path.is_file() and bool(read_free_run(path).gains)
    except (OSError, ValueError):
        return False
