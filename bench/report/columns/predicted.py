"""Figures of ranks, and what is predicted of more of them, from a record's terms."""

from ...measure.pipeline import Prediction
from ...records.rows import Row
from .metric import Metric


def predicted_of(row: Row) -> Prediction | None:
    """From the terms that the case's ranks measured on one device; None where there are none."""
    terms = row.first.distributed.get("terms") if row.first.distributed else None
    if terms is None:
        return None
    quartiles = {name: terms[name] for name in ("whole", "neurons", "handover", "reduction")}
    return Prediction.of(quartiles, terms["layers"])


def _rank_wait(row: Row) -> float | None:
    told = row.first.distributed["ranks"] if row.first.distributed else []
    waits = [each["wait_s"] for each in told if each["wait_s"] is not None]
    return sum(waits) / len(waits) if waits else None


def _best_ranks(row: Row) -> float | None:
    prediction = predicted_of(row)
    return prediction.optimum[0] if prediction else None


OF_THEM = (Metric("rank_wait_s", _rank_wait, "s"), Metric("best_ranks", _best_ranks, "count"))
"""The seconds of a step that a rank waits for states of others, on average; how many ranks are
predicted to be best."""
