"""Columns of results.csv that stand beside times: what the network asks for, whoever computes it,
and the energy of a step."""

from statistics import median
from typing import Any

from ...records.rows import Row
from .metric import Metric


def _counted(name: str) -> Any:
    """Something that the oracle counted in a forward; unknown of a native neuron, which no oracle
    stands for."""

    def value(row: Row) -> int | None:
        return (
            None
            if row.case.native or not row.first.proof
            else row.first.proof.get("work", {}).get(name)
        )

    return value


def _per_step(row: Row) -> float | None:
    known = [timing.energy_j for timing in row.timings("step") if timing.energy_j is not None]
    return median(known) if known else None


def _source(row: Row) -> str | None:
    return next((timing.energy_of for timing in row.timings("step") if timing.energy_of), None)


WORK = (
    # Of a network that a config brings: whether its own weights were timed, times which gains, or seeded ones.
    Metric("weights", lambda row: row.first.proof.get("weights") if row.first.proof else None),
    Metric(
        "spikes",
        _counted("spikes"),
        "many",
        "spikes",
        "of all neurons in a forward, by the oracle",
        "proof",
        546,
    ),
    Metric(
        "synaptic_operations",
        _counted("synaptic_operations"),
        "many",
        "synaptic operations",
        "in a forward: weights met by a value that is not 0",
        "proof",
        547,
    ),
    Metric(
        "dense_operations",
        _counted("dense_operations"),
        "many",
        "dense operations",
        "with all values",
        "proof",
        548,
    ),
    Metric(
        "step_energy_j",
        _per_step,
        "J",
        "energy",
        "of a step, all that the device used meanwhile, by its own counter",
        "times",
        295,
    ),
    Metric("energy_of", _source),
)
