"""Columns on single calls with a batch of 1: how long the answer to one sample takes."""

from typing import Any

import numpy as np

from ...common import units
from ...records.pairing import counts
from ...records.rows import Row
from .metric import SUMMARY, Entry, Metric


def _least(share: float) -> int:
    """Returns the fewest calls of which one is beyond the quantile."""
    return round(1 / (1 - share))


LEAST_OF_P99 = _least(0.99)


def single_calls(row: Row) -> list[float]:
    """Returns the seconds of the recorded calls with a batch of 1, of the phase that ranks, in
    undisturbed slots of the blocks that its time is of; none where a row shows the time that
    belongs to its ratio."""
    if row.case.batch != 1 or row.case.delivers_data or row.paired_s is not None:
        return []
    return [
        seconds
        for record in row.records
        if (timing := record.timing(row.ranked)) and counts(record, row.ranked)
        for slot in timing.slots
        if not slot.disturbed
        for seconds in slot.samples
    ]


def _latency(share: float) -> Metric:
    """Returns the metric of a quantile of the single calls; None if there are too few."""
    name = f"p{round(100 * share)}"

    def value(row: Row) -> float | None:
        calls = single_calls(row)
        return float(np.quantile(calls, share)) if len(calls) >= _least(share) else None

    def text(entry: Entry) -> str:
        seconds: Any = entry.values[metric.name]
        shown = seconds is not None and entry.shows(entry.row.ranked)
        return units.seconds(seconds) if shown else ""

    hint = f"{100 * share:g} % of the recorded single calls with a batch of 1 took at most this"
    views = f"times {SUMMARY}"
    place = 203 if share < 0.9 else 204
    metric = Metric(f"latency_{name}_s", value, "s", name, hint, views, place, text)
    return metric


LATENCY = _latency(0.5), _latency(0.99)
