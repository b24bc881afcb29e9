"""Columns beside times: operations of the network, energy of a step, and prediction for ranks."""

from statistics import median

from ...measure.pipeline import Prediction
from ...records.rows import Row
from .metric import Metric


def _counted(name: str, hint: str, place: int) -> Metric:
    """Returns the metric of a count of the oracle in a forward; None for a native neuron, which has
    no oracle."""

    def value(row: Row) -> int | None:
        if row.case.native or not row.first.proof:
            return None
        return row.first.proof.get("work", {}).get(name)

    return Metric(name, value, "many", name.replace("_", " "), hint, "proof", place)


def _energy(phase: str, call: str, place: int) -> Metric:
    """Returns the metric of the energy of a phase's `call`."""

    def value(row: Row) -> float | None:
        known = [timing.energy_j for timing in row.timings(phase) if timing.energy_j is not None]
        return median(known) if known else None

    hint = f"of {call}, all that the device used meanwhile, by its own counter"
    return Metric(f"{phase}_energy_j", value, "J", "energy", hint, "times", place)


def _source(row: Row) -> str | None:
    timings = row.timings(row.ranked)
    return next((timing.energy_of for timing in timings if timing.energy_of), None)


WORK = (
    # Weights of a user's network: its own, times which gains, or seeded ones.
    Metric("weights", lambda row: row.first.proof.get("weights") if row.first.proof else None),
    _counted("spikes", "of all neurons in a forward, by the oracle", 546),
    _counted("synaptic_operations", "in a forward: weights met by a value that is not 0", 547),
    _counted("dense_operations", "with all values", 548),
    _energy("step", "a step", 295),
    Metric("energy_of", _source),
)


def predicted_of(row: Row) -> Prediction | None:
    """Returns the prediction from terms measured on one device, None without terms."""
    terms = row.first.distributed.get("terms") if row.first.distributed else None
    if terms is None:
        return None
    quartiles = {name: terms[name] for name in ("whole", "neurons", "handover", "reduction")}
    return Prediction.of(quartiles, terms["layers"])


def _rank_wait(row: Row) -> float | None:
    ranks = row.first.distributed["ranks"] if row.first.distributed else []
    waits = [rank["wait_s"] for rank in ranks if rank["wait_s"] is not None]
    return sum(waits) / len(waits) if waits else None


def _best_ranks(row: Row) -> float | None:
    prediction = predicted_of(row)
    return prediction.optimum[0] if prediction else None


INFERENCE_ENERGY = _energy("inference", "an inference", 296)
RANKS = (Metric("rank_wait_s", _rank_wait, "s"), Metric("best_ranks", _best_ranks, "count"))
"""Mean seconds of a step that a rank waits for states, and the predicted best number of ranks."""
