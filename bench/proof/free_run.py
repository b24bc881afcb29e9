"""The oracle's free run on its own spikes: computed once per problem in a separate process,
stored as a file."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.case import Case
from ..core.contract import Statistics
from ..core.network import Network, Node
from ..workloads import workload_of
from . import oracle
from .calibration import MOST_ITEMS, MOST_STEPS, calibrate, full_count
from .judgeable import unjudgeable
from .problem import Gains, generate
from .recurrence import growth, spec_of

LEAST_RATE, MOST_RATE = 0.01, 0.6
MOST_GAIN = 32
"""Largest factor by which a network's own weights may be scaled, up or down."""
MOST_GROWN = 1e25
"""Most by which the gradient of a recurrent neuron may grow in all: float32 ends at 3e38."""
WORK = ("spikes", "synaptic_operations", "dense_operations")
"""Per forward over all time steps and batch items: spikes of all neurons; products of weights
with nonzero values, one for each spike and each weight that it meets; and products with all
values."""


@dataclass
class FreeRun:
    """Gains, firing rates by neuron (counts that are rounded as a share of a full one), and the
    last neuron's spikes (T, B, *features).
    `seeded`: the weights are seeded, although the network has its own. `work`: spikes of all
    neurons and operations of a forward, see `WORK`. `statistics`: those of norms, which an
    inference takes for their running ones. `growth`: the largest factor by which the gradient of a
    recurrent neuron grows in a step. `unjudgeable`: the reason why no proof can judge its
    gradients, empty without one."""

    gains: Gains
    rates: dict[str, float]
    spikes: np.ndarray
    seeded: bool = False
    work: dict[str, int] = field(default_factory=dict)
    statistics: Statistics = field(default_factory=dict)
    growth: float = 0.0
    unjudgeable: str = ""

    def of(self, network: Network) -> Network:
        """Returns the network with the weights of this run."""
        return network.bare() if self.seeded else network

    @property
    def weights(self) -> str:
        """Describes the origin of the weights, for a network with its own."""
        if self.seeded:
            return "seeded: its own do not make its neurons fire"
        factors = self.gains.factors.values()
        scaled = ", ".join(f"{factor:.3g}" for factor in factors)
        return "its own" if all(factor == 1 for factor in factors) else f"its own times {scaled}"

    @property
    def overflows(self) -> bool:
        """True if float32 cannot hold the gradient of a recurrent neuron."""
        return self.growth > MOST_GROWN ** (1 / len(self.spikes))

    @property
    def unsuitable(self) -> str | None:
        """Reason why this problem proves nothing in any framework, or None."""
        if self.overflows:
            return (
                f"unsuitable problem: the gradient grows by {self.growth:.3f} a step, over "
                f"{len(self.spikes)} steps beyond float32, so no framework can compute it"
            )
        outside = [rate for rate in self.rates.values() if not LEAST_RATE <= rate <= MOST_RATE]
        if not outside:
            return f"unsuitable problem: {self.unjudgeable}" if self.unjudgeable else None
        suitable = f"{LEAST_RATE:.0%} to {MOST_RATE:.0%}"
        return (
            f"unsuitable problem: the oracle fires at {outside[0]:.1%}, outside {suitable}, "
            "so a proof would show little"
        )

    def mismatch(self, spikes: np.ndarray) -> float:
        """Share of the last neuron's spikes that differ from the oracle's own run."""
        return float((self.spikes != spikes).mean())

    def facts(self, network: Network) -> dict[str, Any]:
        """Facts for the record: gains and rates from the first neuron to the last, the work, and
        the origin of a network's own weights."""
        weights = {"weights": self.weights} if network.given else {}
        factors, rates = list(self.gains.factors.values()), list(self.rates.values())
        work = {"work": self.work} if self.work else {}
        return {"gains": factors, "oracle_rates": rates, **work, **weights}


def free_run(case: Case, network: Network) -> FreeRun:
    """Calibrates `case`, runs its oracle free and examines whether its gradients can be judged. A
    network's own weights are used as they are, or times a gain, if that makes its neurons fire;
    else they are replaced by seeded ones."""
    free = _with_weights(case, network)
    if free.unsuitable:
        return free
    reason = unjudgeable(case, workload_of(case), free.of(network), free.gains)
    return replace(free, unjudgeable=reason or "")


def _with_weights(case: Case, network: Network) -> FreeRun:
    if network.given:
        unseeded = _free_run(case, network)
        if unseeded.overflows or (
            not unseeded.unsuitable
            and all(1 / MOST_GAIN < gain < MOST_GAIN for gain in unseeded.gains.factors.values())
        ):
            return unseeded
    return replace(_free_run(case, network.bare()), seeded=bool(network.given))


def _free_run(case: Case, network: Network) -> FreeRun:
    gains = calibrate(case, network, keep=True)
    problem = generate(case, network, gains)
    rates: dict[str, float] = {}
    work, growths = dict.fromkeys(WORK, 0.0), [0.0]

    def on_node(result: oracle.Run, node: Node) -> None:
        if node.kind == "neuron":
            spikes = result.spikes[node.name]
            rates[node.name] = float(spikes.mean()) / full_count(spec_of(node.options["neuron"]))
            work["spikes"] += float(spikes.sum())
            if node.options["recurrent"]:
                currents = result.values[node.inputs[0]][:MOST_STEPS, :MOST_ITEMS]
                recurrent = oracle.exact(problem.parameters, node)["recurrent"]
                growths.append(growth(spec_of(node.options["neuron"]), currents, recurrent))
        for name, count in zip(WORK[1:], operations(network, node, result), strict=True):
            work[name] += count

    result = oracle.forward(network, problem.parameters, problem.input, on_node=on_node)
    counts = {name: round(count) for name, count in work.items()}
    statistics = oracle.in_float32(result.statistics)
    spikes = result.spikes[problem.last].astype(np.uint8)
    return FreeRun(gains, rates, spikes, work=counts, statistics=statistics, growth=max(growths))


def write_free_run(case: Case, path: Path) -> None:
    """Computes and stores the free run of `case`."""
    free = free_run(case, workload_of(case).network(case))
    arrays: dict[str, Any] = {
        "neurons": list(free.rates),
        "gains": list(free.gains.factors.values()),
        "halvings": [free.gains.halvings.get(neuron, 0) for neuron in free.rates],
        "rates": list(free.rates.values()),
        "spikes": free.spikes,
        "seeded": free.seeded,
    }
    for node, named in free.statistics.items():
        arrays |= {f"{name} of {node}": array for name, array in named.items()}
    arrays |= {"work": [free.work[name] for name in WORK], "growth": free.growth}
    arrays["unjudgeable"] = free.unjudgeable
    np.savez_compressed(path, allow_pickle=False, **arrays)


def read_free_run(path: Path) -> FreeRun:
    """Reads a stored free run. Raises OSError, and ValueError for a damaged file."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            names = stored["neurons"].tolist()
            factors, halvings, rates = (
                dict(zip(names, stored[key].tolist(), strict=True)) if key in stored else {}
                for key in ("gains", "halvings", "rates")
            )
            gains = Gains(factors, {neuron: times for neuron, times in halvings.items() if times})
            if "work" not in stored:  # written by an earlier version
                return FreeRun(gains, rates, stored["spikes"])
            work = dict(zip(WORK, stored["work"].tolist(), strict=True))
            statistics: Statistics = {}
            for key in stored.files:
                name, _, node = key.partition(" of ")
                if node:
                    statistics.setdefault(node, {})[name] = stored[key]
            seeded, growth = bool(stored["seeded"]), float(stored.get("growth", 0.0))
            reason = str(stored.get("unjudgeable", ""))
            return FreeRun(gains, rates, stored["spikes"], seeded, work, statistics, growth, reason)
    except OSError:
        raise
    except Exception as error:  # archive, compressed bytes and arrays fail in many ways
        raise ValueError(
            f"{path.name} is damaged ({type(error).__name__}); it is made again in the next run"
        ) from None


def is_whole(path: Path) -> bool:
    """Tells if a free run can be read from `path`."""
    try:
        return path.is_file() and bool(read_free_run(path).gains.factors)
    except (OSError, ValueError):
        return False


def operations(network: Network, node: Node, result: oracle.Run) -> tuple[float, float]:
    """Returns synaptic and dense operations of a node that has just been computed, 0 without
    weights. A weight that meets the padding of a convolution counts in neither."""
    outputs = network.shapes[node.name][0]
    if node.kind not in ("linear", "conv") and not node.options.get("recurrent"):
        return 0.0, 0.0
    if node.kind == "neuron":
        before = result.spikes[node.name][:-1]  # nothing feeds back into the first step
        return float(np.count_nonzero(before)) * outputs, float(before.size) * outputs
    x = result.values[node.inputs[0]]
    if node.kind == "linear":
        return float(np.count_nonzero(x)) * outputs, float(x.size) * outputs
    reads = np.outer(
        *(
            _reads(side, places, node)
            for side, places in zip(x.shape[-2:], network.shapes[node.name][1:], strict=True)
        )
    )
    events = np.count_nonzero(x, axis=(0, 1, 2))
    return float((events * reads).sum()) * outputs, float(reads.sum()) * np.prod(
        x.shape[:3]
    ) * outputs


def _reads(side: int, places: int, node: Node) -> np.ndarray:
    """Returns the number of places of a convolution that read each pixel along one side."""
    kernel, stride, padding = (node.options[name] for name in ("kernel", "stride", "padding"))
    starts = np.arange(places) * stride - padding
    return np.array(
        [np.count_nonzero((starts <= pixel) & (pixel < starts + kernel)) for pixel in range(side)],
        np.float64,
    )
